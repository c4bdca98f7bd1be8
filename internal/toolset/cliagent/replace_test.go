package cliagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
)

func TestReplaceStringInFile(t *testing.T) {
	const name = "replace_string_in_file"
	in := func(path, old, new string) args {
		return args{"path": path, "old_string": old, "new_string": new}
	}
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		b.write("hello.py", "1\n2\n3\n4\nold\n6\n")
		g := b.ok(name, in("hello.py", "old", "new"))
		assert.Equal(t, "Replaced 1 occurrence in hello.py", g.Output)
		assert.Equal(t, []string{"hello.py"}, g.FilesAffected)
		assert.JSONEq(t, `{"occurrences_found":1,"occurrences_replaced":1,"lines_changed":[5]}`, g.meta())
		assert.Equal(t, "1\n2\n3\n4\nnew\n6\n", b.read("hello.py"))
	})
	t.Run("warning multiple matches replaces the first", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "1\n2\n3\n4\nx\nx x\n")
		g := b.ok(name, in("f", "x", "y"))
		assert.Equal(t, "Replaced 1 occurrence in f\nWarning: Found 3 occurrences, replaced only the first at line 5",
			g.Output)
		assert.JSONEq(t, `{"occurrences_found":3,"occurrences_replaced":1,"lines_changed":[5]}`, g.meta())
		assert.Equal(t, "1\n2\n3\n4\ny\nx x\n", b.read("f"))
	})
	t.Run("lines_changed are those of the replaced text", func(t *testing.T) {
		b := newBench(t)
		for old, lines := range map[string]string{"a": "[1]", "b\nc": "[2,3]", "b\nc\n": "[2,3]", "\nb\n": "[1,2]",
			"d": "[4]"} {
			b.write("f", "a\nb\nc\nd")
			assert.Contains(t, b.ok(name, in("f", old, "!")).meta(), `"lines_changed":`+lines, "%q", old)
		}
	})
	t.Run("new_string empty removes", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "a-b")
		b.ok(name, in("f", "-", ""))
		assert.Equal(t, "ab", b.read("f"))
	})
	t.Run("replacement is no template", func(t *testing.T) {
		b := newBench(t)
		for _, text := range []string{"$1", "$&", `\1`, "${name}", `\n`, "%s"} {
			b.write("f", "a.*b")
			b.ok(name, in("f", ".*", text))
			assert.Equal(t, "a"+text+"b", b.read("f"))
		}
	})
	t.Run("old_string is no pattern", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "axb a.b")
		b.ok(name, in("f", "a.b", "c"))
		assert.Equal(t, "axb c", b.read("f"))
	})
	t.Run("CRLF is matched and kept", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "a\r\nb\r\nc\r\n")
		b.ok(name, in("f", "a\nb\n", "x\ny\nz\n"))
		assert.Equal(t, "x\r\ny\r\nz\r\nc\r\n", b.read("f"))
		b.write("g", "a\nb\n")
		b.ok(name, in("g", "a\r\nb", "x\r\ny"))
		assert.Equal(t, "x\ny\n", b.read("g"))
	})
	t.Run("unicode, BOM, encodings and final newline stay", func(t *testing.T) {
		b := newBench(t)
		for _, c := range []struct{ before, old, new, after string }{
			{"Grüße 世界", "世界", "🎉", "Grüße 🎉"},
			{"\ufeffold", "old", "new", "\ufeffnew"},
			{"caf\xe9 old", "old", "new", "caf\xe9 new"},
			{"caf\xe9", "café", "thé", "th\xe9"},
			{"\xff\xfeo\x00k\x00", "o", "x", "\xff\xfex\x00k\x00"},
			{"e\u0301 \u00e9", "\u00e9", "x", "e\u0301 x"},
			{"no newline", "no", "a", "a newline"},
		} {
			b.write("f", c.before)
			b.ok(name, in("f", c.old, c.new))
			assert.Equal(t, c.after, b.read("f"))
		}
	})
	t.Run("mode and symlink stay", func(t *testing.T) {
		b := newBench(t)
		b.write("run.sh", "old")
		require.NoError(t, os.Chmod(b.path("run.sh"), 0o755))
		b.link("run.sh", "link")
		g := b.ok(name, in("link", "old", "new"))
		assert.Equal(t, "Replaced 1 occurrence in link", g.Output)
		assert.Equal(t, "new", b.read("run.sh"))
		info, err := os.Lstat(b.path("run.sh"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
		info, err = os.Lstat(b.path("link"))
		require.NoError(t, err)
		assert.NotZero(t, info.Mode()&os.ModeSymlink)
	})
	t.Run("large file", func(t *testing.T) {
		b := newBench(t)
		b.write("f", strings.Repeat("line\n", 1<<20)+"needle\n")
		g := b.ok(name, in("f", "needle", "x"))
		assert.Contains(t, g.meta(), fmt.Sprintf(`"lines_changed":[%d]`, 1<<20+1))
	})
	t.Run("error string not found", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "func main() {\n\treturn  1\n}\n")
		b.fails("string_not_found", "Error: String 'old_text' not found in file", name, in("f", "old_text", "x"))
		g := b.fails("string_not_found", "Error: String ' return 1' not found in file", name, in("f", " return 1", "x"))
		assert.Contains(t, g.Error.Suggestion, "→return··1")
		b.fails("string_not_found", "Error: String 'same' not found in file", name, in("f", "same", "same"))
		b.write("empty", "")
		b.fails("string_not_found", "Error: String 'x' not found in file", name, in("empty", "x", "y"))
		long := strings.Repeat("é", 400)
		b.fails("string_not_found", "Error: String '"+strings.Repeat("é", 250)+"... (800 bytes)' not found in file",
			name, in("f", long, "x"))
	})
	t.Run("old_string must not be empty", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "x")
		b.invalid("old_string: must not be empty", name, in("f", "", "x"))
	})
	t.Run("error nothing would change", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "x")
		b.invalid("nothing would change", name, in("f", "x", "x"))
	})
	t.Run("error file not found", func(t *testing.T) {
		newBench(t).fails("file_not_found", "Error: File 'missing.txt' not found", name, in("missing.txt", "a", "b"))
	})
	t.Run("error path outside working directory", func(t *testing.T) {
		b := newBench(t)
		secret := b.outside("secret.txt", "a")
		b.link(secret, "link")
		for _, path := range []string{"../secret.txt", secret, "link"} {
			b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory", name,
				in(path, "a", "b"))
		}
	})
	t.Run("error directory and binary", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("src")
		b.write("bin", "a\x00b")
		b.fails("is_a_directory", "Error: Path 'src' is a directory", name, in("src", "a", "b"))
		b.fails("invalid_parameter", "Error: File 'bin' appears to be binary, its text cannot be replaced", name,
			in("bin", "a", "b"))
	})
	t.Run("error permission denied", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{}, workspace.Options{Protect: []string{"**/.env"}})
		b.write("a/.env", "KEY=1")
		b.fails("permission_denied", "Error: Cannot modify file 'a/.env' - permission denied", name,
			in("a/.env", "1", "2"))
		b.write("ro", "1")
		require.NoError(t, os.Chmod(filepath.Join(b.root, "ro"), 0o444))
		g := b.fails("permission_denied", "Error: Cannot modify file 'ro' - permission denied", name,
			in("ro", "1", "2"))
		assert.Contains(t, g.Error.Suggestion, "ro is read-only: ", "the file's name as it is")
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		g := b.call(name, args{})
		for _, missing := range []string{"path: is required", "old_string: is required", "new_string: is required"} {
			assert.Contains(t, g.Error.Message, missing)
		}
		b.invalid("new_string: must be a string", name, args{"path": "f", "old_string": "a", "new_string": 1})
		b.invalid("count: is not a known parameter", name,
			args{"path": "f", "old_string": "a", "new_string": "b", "count": 1})
	})
	t.Run("plan shows a diff", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "a\nold\nc\n")
		plan, err := b.tools[name].(tool.Planner).Plan(t.Context(),
			&tool.Call{Params: tool.MustMarshal(in("f", "old", "new"))})
		require.NoError(t, err)
		assert.Contains(t, plan.Preview, "@@ -1,3 +1,3 @@\n a\n-old\n+new\n c\n")
		assert.Equal(t, "a\nold\nc\n", b.read("f"))
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, name, tool.Dangerous, `{"path":"string","old_string":"string","new_string":"string"}`,
			"path", "old_string", "new_string")
	})
}
