package clemini_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func compile(t testing.TB, raw json.RawMessage) *schema.Schema {
	t.Helper()
	compiled, err := schema.Compile(raw)
	require.NoError(t, err)
	return compiled
}

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

const mainRust = "fn main() {\n    println!(\"Hello\");\n}\n"

func fileCases() []provingCase {
	return []provingCase{
		{"read_file example 1; read_file parameter file_path; read_file result contents; read_file result total_lines",
			func(t *testing.T) {
				b := newBench(t, "src/main.rs", mainRust)
				want := `{"contents":"1: fn main() {\n2:     println!(\"Hello\");\n3: }","total_lines":3}`
				b.gives(want, "read_file", args{"file_path": "src/main.rs"})
				b.gives(want, "read_file", args{"file_path": b.path("src/main.rs")})
				b.gives(want, "read_file", args{"file_path": "src/../src/main.rs"})
			}},
		{"read_file example 2; read_file parameter offset; read_file parameter limit; read_file result truncated",
			func(t *testing.T) {
				b := newBench(t, "src/lib.rs", numbered(200))
				got := b.ok("read_file", args{"file_path": "src/lib.rs", "offset": 50, "limit": 10})
				lines := strings.Split(got["contents"].(string), "\n")
				assert.Len(t, lines, 10)
				assert.Equal(t, "50: line 50", lines[0])
				assert.Equal(t, "59: line 59", lines[9])
				assert.EqualValues(t, 200, got["total_lines"])
				assert.Equal(t, true, got["truncated"])
				assert.Contains(t, got["context"].(map[string]any)["hint"], "offset 60")
				rest := b.ok("read_file", args{"file_path": "src/lib.rs", "offset": 191, "limit": 10})
				assert.NotContains(t, rest, "truncated")
				assert.NotContains(t, rest, "context")
				b.fails("INVALID_ARGUMENT", "", "read_file", args{"file_path": "src/lib.rs", "offset": 201})
				b.fails("INVALID_ARGUMENT", "", "read_file", args{"file_path": "src/lib.rs", "offset": 0})
				b.fails("INVALID_ARGUMENT", "", "read_file", args{"file_path": "src/lib.rs", "limit": 0})
			}},
		{"read_file default offset; read_file default limit", func(t *testing.T) {
			b := newBench(t, "long", numbered(2001), "fits", numbered(2000))
			got := b.ok("read_file", args{"file_path": "long"})
			assert.True(t, strings.HasPrefix(got["contents"].(string), "1: line 1\n"))
			assert.True(t, strings.HasSuffix(got["contents"].(string), "\n2000: line 2000"))
			assert.Equal(t, true, got["truncated"])
			assert.NotContains(t, b.ok("read_file", args{"file_path": "fits"}), "truncated")
		}},
		{"read_file example 3; code NOT_FOUND", func(t *testing.T) {
			newBench(t).fails("NOT_FOUND", "File not found: nonexistent.rs", "read_file",
				args{"file_path": "nonexistent.rs"})
		}},
		{"code BINARY_FILE", func(t *testing.T) {
			b := newBench(t, "a.bin", "a\x00b")
			b.fails("BINARY_FILE", "Binary file: a.bin", "read_file", args{"file_path": "a.bin"})
			b.fails("BINARY_FILE", "Binary file: a.bin", "edit",
				args{"file_path": "a.bin", "old_string": "a", "new_string": "b"})
			assert.Equal(t, "a\x00b", b.read("a.bin"))
		}},
		{"write_file example 1; write_file parameter file_path; write_file parameter content; write_file result " +
			"success; write_file result bytes_written; write_file result created", func(t *testing.T) {
			b := newBench(t)
			b.gives(`{"success":true,"bytes_written":13,"created":true}`, "write_file",
				args{"file_path": "new_file.txt", "content": "Hello, world!"})
			assert.Equal(t, "Hello, world!", b.read("new_file.txt"))
			b.gives(`{"success":true,"bytes_written":3,"created":true}`, "write_file",
				args{"file_path": "a/b/c.txt", "content": "ä\n"})
			b.fails("INVALID_ARGUMENT", "Is a directory: a", "write_file", args{"file_path": "a", "content": ""})
		}},
		{"write_file example 2; write_file parameter backup; write_file result overwritten; " +
			"write_file result backup_created", func(t *testing.T) {
			b := newBench(t, "config.toml", "old")
			require.NoError(t, os.Chmod(b.path("config.toml"), 0o600))
			b.gives(`{"success":true,"bytes_written":24,"overwritten":true,"backup_created":true}`,
				"write_file",
				args{"file_path": "config.toml", "content": "[settings]\nkey = \"value\"", "backup": true})
			assert.Equal(t, "old", b.read("config.toml.bak"))
			info, err := os.Stat(b.path("config.toml.bak"))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			b.gives(`{"success":true,"bytes_written":1,"created":true}`, "write_file",
				args{"file_path": "new", "content": "x", "backup": true})
			assert.NoFileExists(t, b.path("new.bak"))
		}},
		{"write_file default backup", func(t *testing.T) {
			b := newBench(t, "a", "old")
			b.gives(`{"success":true,"bytes_written":3,"overwritten":true}`, "write_file",
				args{"file_path": "a", "content": "new"})
			assert.NoFileExists(t, b.path("a.bak"))
		}},
		{"write_file example 3; code ACCESS_DENIED", func(t *testing.T) {
			b := newBench(t, "f", "x")
			b.fails("ACCESS_DENIED", "Access denied: /etc/passwd is outside allowed paths", "write_file",
				args{"file_path": "/etc/passwd", "content": "malicious"})
			require.NoError(t, os.Symlink("/etc", b.path("link")))
			for tool, params := range map[string]args{
				"read_file":  {"file_path": "../x"},
				"edit":       {"file_path": "link/passwd", "old_string": "root", "new_string": "x"},
				"write_file": {"file_path": "link/new", "content": "x"},
				"glob":       {"pattern": "*", "directory": ".."},
				"grep":       {"pattern": "root", "directory": "/etc"},
				"bash":       {"command": "true", "working_directory": "/etc"},
			} {
				b.fails("ACCESS_DENIED", "", tool, params)
			}
		}},
		{"edit example 1; edit parameter file_path; edit parameter old_string; edit parameter new_string; edit " +
			"result success; edit result replacements; edit result file_size", func(t *testing.T) {
			b := newBench(t, "src/lib.rs", "fn f() {\r\n    let x = 5;\r\n}\r\n")
			b.gives(`{"success":true,"replacements":1,"file_size":30}`, "edit",
				args{"file_path": "src/lib.rs", "old_string": "let x = 5;", "new_string": "let x = 10;"})
			assert.Equal(t, "fn f() {\r\n    let x = 10;\r\n}\r\n", b.read("src/lib.rs"))
			b.ok("edit",
				args{"file_path": "src/lib.rs", "old_string": "{\n    let", "new_string": "{\n    // $1\n    let"})
			assert.Equal(t, "fn f() {\r\n    // $1\r\n    let x = 10;\r\n}\r\n", b.read("src/lib.rs"))
		}},
		{"edit example 2; edit parameter replace_all", func(t *testing.T) {
			b := newBench(t, "src/main.rs", strings.Repeat("println!(1);\n", 5))
			b.gives(`{"success":true,"replacements":5,"file_size":70}`,
				"edit", args{"file_path": "src/main.rs", "old_string": "println!", "new_string": "eprintln!",
					"replace_all": true})
			assert.Equal(t, strings.Repeat("eprintln!(1);\n", 5), b.read("src/main.rs"))
		}},
		{"edit example 3; edit parameter create_if_not_exists", func(t *testing.T) {
			b := newBench(t)
			b.gives(`{"success":true,"replacements":0,"file_size":16,"created":true}`,
				"edit", args{"file_path": "new_module.rs", "new_string": "pub fn init() {}",
					"create_if_not_exists": true})
			b.gives(`{"success":true,"replacements":0,"file_size":1,"created":true}`,
				"edit", args{"file_path": "a/b.rs", "old_string": "ignored", "new_string": "x",
					"create_if_not_exists": true})
			assert.Equal(t, "pub fn init() {}", b.read("new_module.rs"))
			b.fails("INVALID_ARGUMENT", "", "edit",
				args{"file_path": "a/b.rs", "new_string": "y", "create_if_not_exists": true})
			b.gives(`{"success":true,"replacements":1,"file_size":1}`,
				"edit", args{"file_path": "a/b.rs", "old_string": "x", "new_string": "y", "create_if_not_exists": true})
		}},
		{"edit default create_if_not_exists", func(t *testing.T) {
			b := newBench(t)
			b.fails("NOT_FOUND", "File not found: new.rs", "edit",
				args{"file_path": "new.rs", "old_string": "a", "new_string": "b"})
			assert.NoFileExists(t, b.path("new.rs"))
		}},
		{"edit example 4; edit default replace_all; edit result suggestions; code NOT_UNIQUE", func(t *testing.T) {
			text := "    let x = 5;\n  let x = foo();\nlet x: i32\n"
			b := newBench(t, "src/lib.rs", text)
			got := b.fails("NOT_UNIQUE", "String matches 3 locations. Provide more context.",
				"edit", args{"file_path": "src/lib.rs", "old_string": "let x", "new_string": "let y"})
			assert.Equal(t, []any{"let x = 5;", "let x = foo();", "let x: i32"}, got["suggestions"])
			assert.Equal(t, []any{1.0, 2.0, 3.0}, got["context"].(map[string]any)["lines"])
			assert.Equal(t, text, b.read("src/lib.rs"))
		}},
		{"edit example 5", func(t *testing.T) {
			b := newBench(t, "src/lib.rs", mainRust)
			b.fails("NOT_FOUND", "String not found in file", "edit",
				args{"file_path": "src/lib.rs", "old_string": "nonexistent code", "new_string": "replacement"})
			near := b.fails("NOT_FOUND", "String not found in file", "edit",
				args{"file_path": "src/lib.rs", "old_string": "  println!(\"Helo\");", "new_string": "x"})
			assert.Equal(t, []any{`    println!("Hello");`}, near["suggestions"])
			assert.Equal(t, mainRust, b.read("src/lib.rs"))
		}},
		{"code INVALID_ARGUMENT", func(t *testing.T) {
			b := newBench(t, "a", "text")
			b.fails("INVALID_ARGUMENT", "", "edit", args{"file_path": "a", "old_string": "text", "new_string": "text"})
			b.fails("INVALID_ARGUMENT", "", "edit", args{"file_path": "a", "old_string": "", "new_string": "text"})
			b.fails("INVALID_ARGUMENT", "", "edit", args{"file_path": "a"})
			b.fails("INVALID_ARGUMENT", "", "read_file", args{"file_path": "a", "path": "a"})
			b.fails("INVALID_ARGUMENT", "Is a directory: .", "read_file", args{"file_path": "."})
		}},
	}
}

func TestReadFileOfManyKinds(t *testing.T) {
	b := newBench(t, "empty", "", "no newline", "a", "crlf", "a\r\nb\r\n", "utf16", "\xff\xfea\x00\n\x00b\x00", "latin",
		"gr\xfcn\n")
	b.gives(`{"contents":"","total_lines":0}`, "read_file", args{"file_path": "empty"})
	b.gives(`{"contents":"1: a","total_lines":1}`, "read_file", args{"file_path": "no newline"})
	b.gives(`{"contents":"1: a\n2: b","total_lines":2}`, "read_file", args{"file_path": "crlf"})
	b.gives(`{"contents":"1: a\n2: b","total_lines":2}`, "read_file", args{"file_path": "utf16"})
	b.gives(`{"contents":"1: gr�n","total_lines":1}`, "read_file", args{"file_path": "latin"})
}

func TestReadFileOfLongLines(t *testing.T) {
	b := newBench(t, "long", strings.Repeat("x", 3<<20)+"\n"+strings.Repeat(strings.Repeat("y", 1000)+"\n", 1500))
	got := b.ok("read_file", args{"file_path": "long"})
	contents := got["contents"].(string)
	assert.Less(t, len(contents), 2<<20)
	assert.Contains(t, contents, "more bytes in this line]")
	assert.Equal(t, true, got["truncated"], "not all of the 2000 lines fit")
	assert.Contains(t, got["context"].(map[string]any)["hint"], "more lines follow")
}

func TestEditKeepsWhatItDoesNotEdit(t *testing.T) {
	b := newBench(t, "a.sh", "\xef\xbb\xbfecho one\r\necho two")
	require.NoError(t, os.Chmod(b.path("a.sh"), 0o755))
	require.NoError(t, os.Symlink("a.sh", b.path("link")))
	b.ok("edit", args{"file_path": "link", "old_string": "one", "new_string": "1"})
	assert.Equal(t, "\xef\xbb\xbfecho 1\r\necho two", b.read("a.sh"))
	info, err := os.Lstat(b.path("link"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(filepath.Join(b.root, "a.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

// A model reads the error: of thousands of places it names the first.
func TestEditOfATextThatIsThereVeryOften(t *testing.T) {
	b := newBench(t, "a.txt", strings.Repeat("x\n", 5000))
	got := b.fails("NOT_UNIQUE", "String matches 5000 locations. Provide more context.",
		"edit", args{"file_path": "a.txt", "old_string": "x", "new_string": "y"})
	assert.Len(t, got["context"].(map[string]any)["lines"], 20)
}

// The file is larger than the read buffer.
func TestReadFileOfAnySize(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	const lines, length = 1_000_000, 80
	var text strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&text, "%-*d\n", length-1, i)
	}
	b := newBench(t, "log", text.String())
	for _, c := range []struct{ offset, limit, left int }{{1, 2, lines - 2}, {777_777, 3, 222_221}, {lines, 5, 0}} {
		object := b.ok("read_file", args{"file_path": "log", "offset": c.offset, "limit": c.limit})
		assert.EqualValues(t, lines, object["total_lines"])
		assert.True(t,
			strings.HasPrefix(object["contents"].(string), fmt.Sprintf("%d: %-*d", c.offset, length-1, c.offset)))
		if c.left == 0 {
			assert.NotContains(t, object, "truncated")
			continue
		}
		assert.Equal(t, true, object["truncated"])
		assert.Equal(t, map[string]any{"hint": fmt.Sprintf("%d more lines follow; read on with offset %d.", c.left,
			c.offset+c.limit)}, object["context"])
	}
	b.fails("INVALID_ARGUMENT", "Offset 1000001 is behind the end of log, which has 1000000 lines", "read_file",
		args{"file_path": "log", "offset": lines + 1})
}

func TestReadFileSaysThatALineIsCut(t *testing.T) {
	const most = 64 << 10
	for name, c := range map[string]struct {
		line, shown string
		cut         bool
	}{
		"just fits":       {strings.Repeat("x", most), strings.Repeat("x", most), false},
		"just fits, CRLF": {strings.Repeat("x", most) + "\r", strings.Repeat("x", most), false},
		"a byte too many": {strings.Repeat("x", most+1),
			strings.Repeat("x", most) + " [... 1 more bytes in this line]", true},
		"a character split": {strings.Repeat("x", most-1) + "é",
			strings.Repeat("x", most-1) + " [... 2 more bytes in this line]", true},
		"far too long": {strings.Repeat("x", 5*most),
			strings.Repeat("x", most) + fmt.Sprintf(" [... %d more bytes in this line]", 4*most), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "f", "first\n"+c.line+"\nlast")
			object := b.ok("read_file", args{"file_path": "f"})
			assert.Equal(t, "1: first\n2: "+c.shown+"\n3: last", object["contents"])
			if !c.cut {
				assert.NotContains(t, object, "truncated")
				return
			}
			assert.Equal(t, true, object["truncated"])
			assert.Contains(t, object["context"].(map[string]any)["hint"], "Line 2 is longer")
		})
	}
}

// A path below a file does not exist and cannot be created.
func TestPathsBelowAFile(t *testing.T) {
	b := newBench(t, "src/main.rs", "x\n")
	const below = "src/main.rs/x"
	for name, params := range map[string]args{
		"read_file": {"file_path": below}, "edit": {"file_path": below, "old_string": "a", "new_string": "b"},
	} {
		object := b.fails("NOT_FOUND", "File not found: "+below, name, params)
		assert.Contains(t, object["context"].(map[string]any)["hint"], "src/main.rs is a file")
	}
	for name, params := range map[string]args{
		"write_file": {"file_path": below, "content": ""},
		"edit":       {"file_path": below, "new_string": "", "create_if_not_exists": true},
	} {
		object := b.fails("INVALID_ARGUMENT", "Not a directory: src/main.rs", name, params)
		assert.Contains(t, object["context"].(map[string]any)["hint"], "choose another path")
	}
	for name, params := range map[string]args{
		"glob": {"pattern": "*", "directory": below}, "grep": {"pattern": "x", "directory": below},
		"bash": {"command": "true", "working_directory": below},
	} {
		b.fails("NOT_FOUND", "Directory not found: "+below, name, params)
	}
}

func TestWriteFileNamesTheBackupThatFails(t *testing.T) {
	b := newBench(t, "f", "old", "f.bak/x", "")
	b.fails("INVALID_ARGUMENT", "The backup cannot be written: f.bak is a directory", "write_file",
		args{"file_path": "f", "content": "new", "backup": true})
	assert.Equal(t, "old", b.read("f"))
	outside := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(outside, "x"), b.path("g.bak")))
	b.write("g", "old")
	b.fails("ACCESS_DENIED", "Access denied: g.bak is outside allowed paths", "write_file",
		args{"file_path": "g", "content": "new", "backup": true})
	assert.Equal(t, "old", b.read("g"))
}

func TestEditSaysWhatOldStringLacks(t *testing.T) {
	b := newBench(t, "f", "x")
	object := b.fails("INVALID_ARGUMENT", "old_string is empty", "edit",
		args{"file_path": "f", "old_string": "", "new_string": "a"})
	assert.Contains(t, object["context"].(map[string]any)["hint"], "exact text")
	object = b.fails("INVALID_ARGUMENT", "old_string is missing", "edit",
		args{"file_path": "f", "new_string": "a", "create_if_not_exists": true})
	assert.Contains(t, object["context"].(map[string]any)["hint"], "f exists already")
	object = b.fails("INVALID_ARGUMENT", "", "edit", args{"file_path": "f", "old_string": "x", "new_string": "x"})
	assert.Equal(t, "f", object["context"].(map[string]any)["path"])
}

func TestEditOfAFileThatIsTooLarge(t *testing.T) {
	b := newBench(t, "f", strings.Repeat("x", 65<<20))
	object := b.fails("INVALID_ARGUMENT", "", "edit", args{"file_path": "f", "old_string": "x", "new_string": "y"})
	assert.Contains(t, object["context"].(map[string]any)["hint"], "sed")
}
