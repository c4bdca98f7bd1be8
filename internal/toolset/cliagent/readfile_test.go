package cliagent_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
)

// numbered returns lines "line 1" and so on.
func numbered(from, to int) string {
	var s strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&s, "line %d\n", i)
	}
	return s.String()
}

func TestReadFile(t *testing.T) {
	at := func(path string) args { return args{"path": path} }
	lines := func(path string, start, end any) args {
		return args{"path": path, "start_line": start, "end_line": end}
	}
	t.Run("success with range", func(t *testing.T) {
		b := newBench(t)
		b.write("hello.py", numbered(1, 50))
		g := b.ok("read_file", lines("hello.py", 1, 10))
		assert.Equal(t, "Contents of hello.py (lines 1-10):\n"+numbered(1, 10), g.Output)
		assert.JSONEq(t, fmt.Sprintf(`{"total_lines":50,"lines_returned":10,"file_size_bytes":%d}`,
			len(numbered(1, 50))), g.meta())
		assert.Empty(t, g.FilesAffected)
		assert.False(t, g.result.Truncated)
	})
	t.Run("default is the whole file", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 3))
		g := b.ok("read_file", at("f"))
		assert.Equal(t, "Contents of f (lines 1-3):\nline 1\nline 2\nline 3\n", g.Output)
		assert.JSONEq(t, `{"total_lines":3,"lines_returned":3,"file_size_bytes":21}`, g.meta())
	})
	t.Run("start_line", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 3))
		assert.Equal(t, "Contents of f (lines 2-3):\nline 2\nline 3\n",
			b.ok("read_file", args{"path": "f", "start_line": 2}).Output)
	})
	t.Run("end_line", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 3))
		assert.Equal(t, "Contents of f (lines 1-2):\nline 1\nline 2\n",
			b.ok("read_file", args{"path": "f", "end_line": 2}).Output)
	})
	t.Run("end_line is inclusive and may equal start_line", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 3))
		assert.Equal(t, "Contents of f (lines 2-2):\nline 2\n", b.ok("read_file", lines("f", 2, 2)).Output)
	})
	t.Run("end_line past the end clamps", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 20))
		g := b.ok("read_file", lines("f", 15, 99))
		assert.Equal(t, "Contents of f (lines 15-20):\n"+numbered(15, 20), g.Output)
		assert.Contains(t, g.meta(), `"lines_returned":6`)
	})
	t.Run("integers written as floats", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 3))
		assert.Contains(t, b.ok("read_file", json.RawMessage(`{"path":"f","start_line":2.0,"end_line":1e300}`)).Output,
			"(lines 2-3)")
	})
	t.Run("last line without newline, CRLF and unicode stay", func(t *testing.T) {
		b := newBench(t)
		for _, content := range []string{"a\nb", "a\r\nb\r\n", "Grüße\n世界\n", "\n\n"} {
			b.write("f", content)
			g := b.ok("read_file", at("f"))
			assert.Equal(t, "Contents of f (lines 1-2):\n"+content, g.Output)
			assert.Contains(t, g.meta(), `"total_lines":2`)
		}
	})
	t.Run("empty file", func(t *testing.T) {
		b := newBench(t)
		b.write("empty", "")
		for _, params := range []args{at("empty"), lines("empty", 1, 5)} {
			g := b.ok("read_file", params)
			assert.Equal(t, "Contents of empty (lines 0-0):\n", g.Output)
			assert.JSONEq(t, `{"total_lines":0,"lines_returned":0,"file_size_bytes":0}`, g.meta())
		}
	})
	t.Run("other encodings are shown as text", func(t *testing.T) {
		b := newBench(t)
		b.write("latin1", "caf\xe9\n")
		assert.Equal(t, "Contents of latin1 (lines 1-1):\ncafé\n", b.ok("read_file", at("latin1")).Output)
		b.write("utf16", "\xff\xfeh\x00i\x00\n\x00")
		assert.Equal(t, "Contents of utf16 (lines 1-1):\nhi\n", b.ok("read_file", at("utf16")).Output)
	})
	t.Run("error file not found", func(t *testing.T) {
		b := newBench(t)
		g := b.fails("file_not_found", "Error: File 'missing.txt' not found", "read_file", at("missing.txt"))
		assert.Equal(t, "Check the file name and try again, or use file_search to find it.", g.Error.Suggestion)
		b.link("nowhere", "dangling")
		b.fails("file_not_found", "Error: File 'dangling' not found", "read_file", at("dangling"))
	})
	t.Run("error line range invalid", func(t *testing.T) {
		b := newBench(t)
		b.write("f", numbered(1, 20))
		b.fails("invalid_line_range", "Error: Line range invalid - file has 20 lines, requested 30-40", "read_file",
			lines("f", 30, 40))
		b.fails("invalid_line_range", "Error: Line range invalid - file has 20 lines, requested 10-5", "read_file",
			lines("f", 10, 5))
		b.fails("invalid_line_range", "Error: Line range invalid - file has 20 lines, requested 1-0", "read_file",
			args{"path": "f", "end_line": 0})
		b.fails("invalid_line_range", "Error: Line range invalid - file has 20 lines, requested 21-end", "read_file",
			args{"path": "f", "start_line": 21})
	})
	t.Run("start_line must be positive", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "x\n")
		b.invalid("start_line: must be at least 1", "read_file", args{"path": "f", "start_line": 0})
		b.invalid("start_line: must be at least 1", "read_file", args{"path": "f", "start_line": -3})
	})
	t.Run("binary file is shown as hex with the warning", func(t *testing.T) {
		b := newBench(t)
		data := strings.Repeat("\x00\x01\xfe\xff", 1000)
		b.write("bin", data)
		g := b.ok("read_file", at("bin"))
		assert.Equal(t, "Warning: File appears to be binary, displaying first 1KB as hex\n"+
			hex.Dump([]byte(data[:1024])), g.Output)
		assert.JSONEq(t, `{"total_lines":0,"lines_returned":0,"file_size_bytes":4000}`, g.meta())
		assert.True(t, g.result.Truncated)
		b.write("small", "\x7fELF\x00")
		assert.False(t, b.ok("read_file", at("small")).result.Truncated)
	})
	t.Run("size limit 10MB truncates with a warning", func(t *testing.T) {
		b := newBench(t)
		line := strings.Repeat("x", 1023) + "\n"
		b.write("max", strings.Repeat(line, 10<<10))
		g := b.ok("read_file", at("max"))
		assert.True(t, strings.HasPrefix(g.Output, "Contents of max (lines 1-10240):\n"))
		assert.False(t, g.result.Truncated)

		b.write("large", strings.Repeat(line, 10<<10+5))
		g = b.ok("read_file", at("large"))
		head := "Warning: File is larger than 10MB (10490880 bytes), showing lines 1-10240; read on with " +
			"start_line and end_line\nContents of large (lines 1-10240):\n"
		assert.True(t, strings.HasPrefix(g.Output, head), g.Output[:200])
		assert.Len(t, g.Output, len(head)+10<<20)
		assert.JSONEq(t, `{"total_lines":10245,"lines_returned":10240,"file_size_bytes":10490880}`, g.meta())
		assert.True(t, g.result.Truncated)
		assert.Equal(t, "Contents of large (lines 10244-10245):\n"+line+line,
			b.ok("read_file", args{"path": "large", "start_line": 10244}).Output)
	})
	t.Run("size limit cuts a single line at a character", func(t *testing.T) {
		b := newBench(t)
		b.write("one", "x"+strings.Repeat("é", 5<<20+10))
		g := b.ok("read_file", at("one"))
		head := "Warning: File is larger than 10MB (10485781 bytes), showing the first 10MB of line 1\nContents of one (lines 1-1):\nx"
		require.True(t, strings.HasPrefix(g.Output, head), g.Output[:200])
		assert.Equal(t, strings.Repeat("é", 5<<20-1), g.Output[len(head):])
	})
	t.Run("path inside in any form", func(t *testing.T) {
		b := newBench(t)
		b.write("sub/ü.txt", "tief\n")
		b.link("sub", "link")
		for _, path := range []string{"sub/ü.txt", "./sub/../sub/ü.txt", b.path("sub/ü.txt"), "link/ü.txt"} {
			assert.Equal(t, "Contents of "+path+" (lines 1-1):\ntief\n", b.ok("read_file", at(path)).Output)
		}
	})
	t.Run("error path outside working directory", func(t *testing.T) {
		b := newBench(t)
		secret := b.outside("secret.txt", "geheim")
		b.link(secret, "link")
		b.link("..", "out")
		for _, path := range []string{"../secret.txt", secret, "link", "out/secret.txt", "/etc/passwd"} {
			g := b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory", "read_file",
				at(path))
			assert.NotContains(t, string(g.result.Structured), "geheim")
		}
	})
	t.Run("error not a regular file", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("src")
		b.write("f", "")
		b.fails("is_a_directory", "Error: Path 'src' is a directory", "read_file", at("src"))
		b.fails("not_a_directory", "Error: Path 'f' is not a directory", "read_file", at("f/x"))
	})
	t.Run("error permission denied", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{}, workspace.Options{Symlinks: workspace.Block})
		b.write("f", "x")
		b.link("f", "link")
		b.fails("permission_denied", "Error: Cannot read file 'link' - permission denied", "read_file", at("link"))
	})
	t.Run("error permission denied by the system", func(t *testing.T) {
		testneed.NotSuperuser(t)
		b := newBench(t)
		b.write("f", "x")
		require.NoError(t, os.Chmod(b.path("f"), 0))
		b.fails("permission_denied", "Error: Cannot read file 'f' - permission denied", "read_file", at("f"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("path: is required", "read_file", args{})
		b.invalid("path: must not be empty", "read_file", at(""))
		b.invalid("start_line: must be an integer", "read_file", args{"path": "f", "start_line": "1"})
		b.invalid("end_line: must be an integer", "read_file", args{"path": "f", "end_line": 1.5})
		b.invalid("limit: is not a known parameter", "read_file", args{"path": "f", "limit": 1})
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, "read_file", tool.ReadOnly, `{"path":"string","start_line":"integer","end_line":"integer"}`,
			"path")
	})
}
