package ocode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testgit"
)

func TestFileRead(t *testing.T) {
	t.Run("example", func(t *testing.T) {
		b := newBench(t)
		b.write("file.py", strings.Repeat("\n", 9)+"def process():\n    pass\n")
		g := b.ok("file_read", args{"path": "file.py", "start_line": 10, "end_line": 20})
		assert.Equal(t, "10 | def process():\n11 |     pass", g.Output)
		assert.Equal(t, "", g.Error)
	})
	t.Run("path", func(t *testing.T) {
		b := newBench(t)
		b.write("a b/ü.txt", "eins\nzwei\n")
		assert.Equal(t, "1 | eins\n2 | zwei", b.ok("file_read", args{"path": "a b/ü.txt"}).Output)
		assert.Equal(t, "1 | eins\n2 | zwei", b.ok("file_read", args{"path": b.path("a b/ü.txt")}).Output,
			"absolute, inside")
		b.fails("File not found: none.txt", "file_read", args{"path": "none.txt"})
		b.fails("Is a directory: a b", "file_read", args{"path": "a b"})
		b.fails("Path not allowed: ../x is outside the workspace", "file_read", args{"path": "../x"})
		require.NoError(t, os.Symlink(b.outer, b.path("out")))
		b.failsWith("Path not allowed: ", "file_read", args{"path": "out/x"})
	})
	t.Run("start_line", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "a\nb\nc\n")
		assert.Equal(t, "2 | b\n3 | c", b.ok("file_read", args{"path": "a.txt", "start_line": 2}).Output)
		b.fails("Invalid start_line: 4, the file has 3 lines", "file_read", args{"path": "a.txt", "start_line": 4})
		b.fails("Invalid start_line: 0", "file_read", args{"path": "a.txt", "start_line": 0})
	})
	t.Run("start_line default 1", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "a\nb\n")
		assert.EqualValues(t, 1, b.ok("file_read", args{"path": "a.txt"}).Metadata["start_line"])
	})
	t.Run("end_line", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "a\nb\nc\n")
		assert.Equal(t, "1 | a\n2 | b", b.ok("file_read", args{"path": "a.txt", "end_line": 2}).Output)
		assert.Equal(t, "3 | c", b.ok("file_read", args{"path": "a.txt", "start_line": 3, "end_line": 99}).Output,
			"clamped")
		b.fails("Invalid line range: 3 to 2", "file_read", args{"path": "a.txt", "start_line": 3, "end_line": 2})
	})
	t.Run("metadata", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "a\nb\nc")
		g := b.ok("file_read", args{"path": "a.txt", "start_line": 2})
		assert.Equal(t, args{"path": "a.txt", "total_lines": 3.0, "start_line": 2.0, "end_line": 3.0,
			"size_bytes": 5.0}, g.Metadata)
	})
	t.Run("kinds of text", func(t *testing.T) {
		b := newBench(t)
		for content, want := range map[string]string{
			"":                           "",
			"\n":                         "1 | ",
			"no end":                     "1 | no end",
			"a\r\nb\r\n":                 "1 | a\n2 | b",
			"\xef\xbb\xbfmark\n":         "1 | mark",
			"\xff\xfea\x00\n\x00b\x00":   "1 | a\n2 | b",
			"caf\xe9 in Latin-1\nüber\n": "1 | café in Latin-1\n2 | über",
		} {
			b.write("a.txt", content)
			assert.Equal(t, want, b.ok("file_read", args{"path": "a.txt"}).Output, "%q", content)
		}
	})
	t.Run("binary", func(t *testing.T) {
		b := newBench(t)
		b.write("a.bin", "a\x00b")
		b.fails("Not a text file: a.bin (3 bytes)", "file_read", args{"path": "a.bin"})
	})
	t.Run("too much at once", func(t *testing.T) {
		b := newBench(t)
		b.write("big.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000))
		g := b.warns("lines 1 to ", "file_read", args{"path": "big.txt"})
		end := int(g.Metadata["end_line"].(float64))
		assert.Less(t, len(g.Output), 2<<20)
		assert.EqualValues(t, 20_000, g.Metadata["total_lines"])
		rest := b.call("file_read", args{"path": "big.txt", "start_line": end + 1})
		assert.True(t, rest.Success, "what is left out can be had")
		b.write("line.txt", strings.Repeat("y", 3<<20)+"\nend\n")
		b.warns("lines 1 to 1 of 2 are shown", "file_read", args{"path": "line.txt"})
		assert.Equal(t, "2 | end", b.ok("file_read", args{"path": "line.txt", "start_line": 2}).Output)
	})
	t.Run("v1 offset and limit", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "a\nb\nc\nd\n")
		g := b.ok("file_read", args{"path": "a.txt", "offset": 2, "limit": 2})
		assert.Equal(t, "2 | b\n3 | c", g.Output)
		assert.ElementsMatch(t, []any{
			args{"old": "offset", "new": "start_line", "note": "offset is the name of version 1.x; use start_line."},
			args{"old": "limit", "new": "end_line", "note": "limit is the name of version 1.x; use end_line."},
		}, g.Metadata["deprecated_parameters"])
		assert.Equal(t, "1 | a\n2 | b\n3 | c\n4 | d",
			b.ok("file_read", args{"path": "a.txt", "offset": 0, "limit": -1}).Output)
		assert.Equal(t, "1 | a", b.ok("file_read", args{"path": "a.txt", "limit": 1}).Output)
		assert.Equal(t, "3 | c\n4 | d", b.ok("file_read", args{"path": "a.txt", "start_line": 3, "limit": 9}).Output)
	})
}

func TestErrorHandlingExamples(t *testing.T) {
	t.Run("failure", func(t *testing.T) {
		b := newBench(t)
		b.fails("File not found: "+b.path("to/file.txt"), "file_read", args{"path": b.path("to/file.txt")})
	})
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		b.write("test.txt", "test content")
		assert.Contains(t, b.ok("file_read", args{"path": b.path("test.txt")}).Output, "test content")
	})
	t.Run("partial success", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", strings.Repeat("x\n", 1001))
		g := b.call("grep", args{"pattern": "x"})
		assert.True(t, g.Success)
		assert.NotEmpty(t, g.Output)
		assert.True(t, strings.HasPrefix(g.Error, "Warning: "), g.Error)
	})
}

func TestFileWrite(t *testing.T) {
	t.Run("path and content", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("file_write", args{"path": "a.txt", "content": "hi\n"})
		assert.Equal(t, "Successfully wrote 3 bytes to a.txt", g.Output)
		assert.Equal(t, args{"path": "a.txt", "bytes_written": 3.0, "created": true}, g.Metadata)
		assert.Equal(t, []string{"a.txt"}, g.files)
		assert.Equal(t, "hi\n", b.read("a.txt"))
	})
	t.Run("content overwrites and keeps the mode", func(t *testing.T) {
		b := newBench(t)
		b.write("run.sh", "old")
		require.NoError(t, os.Chmod(b.path("run.sh"), 0o755))
		g := b.ok("file_write", args{"path": "run.sh", "content": ""})
		assert.Equal(t, false, g.Metadata["created"])
		info, err := os.Stat(b.path("run.sh"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
		assert.Equal(t, "", b.read("run.sh"))
	})
	t.Run("content is written as it is", func(t *testing.T) {
		b := newBench(t)
		for _, content := range []string{"a\r\nb", "\\n $1 \\1", "e\u0301\u4e16", "\ufeffx", "a\x00b"} {
			b.ok("file_write", args{"path": "x", "content": content})
			assert.Equal(t, content, b.read("x"))
		}
	})
	t.Run("create_dirs default true", func(t *testing.T) {
		b := newBench(t)
		b.ok("file_write", args{"path": "a/b/c.txt", "content": "x"})
		assert.Equal(t, "x", b.read("a/b/c.txt"))
	})
	t.Run("create_dirs false", func(t *testing.T) {
		b := newBench(t)
		b.fails("Directory not found: a/b", "file_write",
			args{"path": "a/b/c.txt", "content": "x", "create_dirs": false})
		assert.NoDirExists(t, b.path("a"))
		b.ok("file_write", args{"path": "c.txt", "content": "x", "create_dirs": false})
	})
	t.Run("where it may not", func(t *testing.T) {
		b := newBench(t)
		require.NoError(t, os.Mkdir(b.path("dir"), 0o755))
		b.fails("Path not allowed: ../x is outside the workspace", "file_write", args{"path": "../x", "content": ""})
		b.fails("Is a directory: dir", "file_write", args{"path": "dir", "content": ""})
		b.fails("Is a directory: new/", "file_write", args{"path": "new/", "content": ""})
		b.write("file", "x")
		g := b.fails("Not a directory: file/x", "file_write", args{"path": "file/x", "content": ""})
		assert.Contains(t, g.Metadata["suggestion"], "leads through one")
		b.failsWith("Path not allowed: ", "file_write", args{"path": ".git/config", "content": ""})
		b.failsWith("Path not allowed: ", "file_write", args{"path": "agent.hcl", "content": ""})
	})
}

func TestFileEdit(t *testing.T) {
	const text = "one two\ntwo\nthree two\n"
	t.Run("occurrence default 0 is all", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", text)
		g := b.ok("file_edit", args{"path": "a.txt", "old_text": "two", "new_text": "2"})
		assert.Equal(t, "Replaced 3 occurrences in a.txt, lines 1, 2 and 3", g.Output)
		assert.Equal(t, "one 2\n2\nthree 2\n", b.read("a.txt"))
		assert.EqualValues(t, 3, g.Metadata["replacements"])
		assert.EqualValues(t, 3, g.Metadata["occurrences"])
		assert.Equal(t, []any{1.0, 2.0, 3.0}, g.Metadata["lines"])
		assert.Contains(t, g.Metadata["diff"], "-one two\n")
		assert.Equal(t, []string{"a.txt"}, g.files)
	})
	t.Run("occurrence N is the Nth", func(t *testing.T) {
		for n, want := range map[int]string{1: "one 2\ntwo\nthree two\n", 2: "one two\n2\nthree two\n",
			3: "one two\ntwo\nthree 2\n"} {
			b := newBench(t)
			b.write("a.txt", text)
			g := b.ok("file_edit", args{"path": "a.txt", "old_text": "two", "new_text": "2", "occurrence": n})
			assert.Equal(t, want, b.read("a.txt"))
			assert.EqualValues(t, 1, g.Metadata["replacements"])
			assert.EqualValues(t, 3, g.Metadata["occurrences"])
		}
	})
	t.Run("occurrence that is not there", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", text)
		b.fails("Occurrence 4 not found in a.txt: the text occurs 3 times", "file_edit",
			args{"path": "a.txt", "old_text": "two", "new_text": "2", "occurrence": 4})
		b.fails("Occurrence 2 not found in a.txt: the text occurs once", "file_edit",
			args{"path": "a.txt", "old_text": "three", "new_text": "3", "occurrence": 2})
		b.fails("Invalid occurrence: -1", "file_edit",
			args{"path": "a.txt", "old_text": "two", "new_text": "2", "occurrence": -1})
		assert.Equal(t, text, b.read("a.txt"))
	})
	t.Run("old_text not found", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "\tindented\n")
		g := b.fails("Text not found in a.txt", "file_edit",
			args{"path": "a.txt", "old_text": "    indented", "new_text": "x"})
		assert.Contains(t, g.Metadata["suggestion"], "whitespace")
		b.failsWith("The text to find is empty", "file_edit", args{"path": "a.txt", "old_text": "", "new_text": "x"})
	})
	t.Run("new_text is no template", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "(x)\r\n")
		b.ok("file_edit", args{"path": "a.txt", "old_text": "(x)", "new_text": "$1 \\1 $&"})
		assert.Equal(t, "$1 \\1 $&\r\n", b.read("a.txt"))
		b.ok("file_edit", args{"path": "a.txt", "old_text": "$1 \\1 $&", "new_text": ""})
		assert.Equal(t, "\r\n", b.read("a.txt"))
	})
	t.Run("new_text the same", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "x\n")
		g := b.fails("Nothing to change in a.txt: the text to find and its replacement are the same", "file_edit",
			args{"path": "a.txt", "old_text": "x", "new_text": "x"})
		assert.Equal(t, "no_change", g.Metadata["error_code"])
	})
	t.Run("path", func(t *testing.T) {
		b := newBench(t)
		b.fails("File not found: none", "file_edit", args{"path": "none", "old_text": "a", "new_text": "b"})
		b.fails("Path not allowed: ../x is outside the workspace", "file_edit",
			args{"path": "../x", "old_text": "a", "new_text": "b"})
		b.write("a.bin", "\x00a")
		b.fails("Not a text file: a.bin", "file_edit", args{"path": "a.bin", "old_text": "a", "new_text": "b"})
	})
	t.Run("v1 names", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "x\n")
		g := b.ok("file_edit", args{"path": "a.txt", "search_pattern": "x", "replacement": "y"})
		assert.Len(t, g.Metadata["deprecated_parameters"], 2)
		assert.Equal(t, "y\n", b.read("a.txt"))
	})
}

func TestFileOps(t *testing.T) {
	testgit.Isolate(t)
	t.Run("operation copy", func(t *testing.T) {
		b := newBench(t)
		b.write("a.sh", "hi\n")
		require.NoError(t, os.Chmod(b.path("a.sh"), 0o755))
		g := b.ok("file_ops", args{"operation": "copy", "source": "a.sh", "destination": "new/dir/b.sh"})
		assert.Equal(t, "Copied a.sh to new/dir/b.sh", g.Output)
		assert.Equal(t, "hi\n", b.read("new/dir/b.sh"))
		assert.Equal(t, "hi\n", b.read("a.sh"))
		info, err := os.Stat(b.path("new/dir/b.sh"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
		assert.Equal(t, []string{"new/dir/b.sh"}, g.files)
	})
	t.Run("operation copy of a directory", func(t *testing.T) {
		b := newBench(t)
		b.write("d/a.txt", "a")
		b.write("d/sub/.hidden", "b")
		require.NoError(t, os.Mkdir(b.path("d/empty"), 0o755))
		g := b.ok("file_ops", args{"operation": "copy", "source": "d", "destination": "e"})
		assert.EqualValues(t, 2, g.Metadata["files"])
		assert.Equal(t, "a", b.read("e/a.txt"))
		assert.Equal(t, "b", b.read("e/sub/.hidden"))
		assert.DirExists(t, b.path("e/empty"))
		b.failsWith("A directory cannot be copied into itself", "file_ops",
			args{"operation": "copy", "source": "d", "destination": "d/sub"})
	})
	t.Run("operation move", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "hi\n")
		b.write("there/a.txt", "old")
		g := b.ok("file_ops", args{"operation": "move", "source": "a.txt", "destination": "there"})
		assert.Equal(t, "Moved a.txt to there/a.txt (replaced the file that was there)", g.Output)
		assert.Equal(t, true, g.Metadata["replaced"])
		assert.Equal(t, "hi\n", b.read("there/a.txt"))
		assert.NoFileExists(t, b.path("a.txt"))
		assert.Equal(t, []string{"a.txt", "there/a.txt"}, g.files)
		b.ok("file_ops", args{"operation": "move", "source": "there", "destination": "far/away"})
		assert.Equal(t, "hi\n", b.read("far/away/a.txt"))
	})
	t.Run("operation copy of a directory with links", func(t *testing.T) {
		for name, target := range map[string]string{"nothing": "gone", "a directory": ".",
			"outside": "../../outside.txt"} {
			b := newBench(t)
			b.write("d/a.txt", "a")
			require.NoError(t, os.WriteFile(filepath.Join(b.outer, "outside.txt"), []byte("x"), 0o644))
			require.NoError(t, os.Symlink("a.txt", b.path("d/file")))
			b.ok("file_ops", args{"operation": "copy", "source": "d", "destination": "e"})
			assert.Equal(t, "a", b.read("e/file"), "a link is copied as what it points to")
			require.NoError(t, os.Symlink(target, b.path("d/link")))
			g := b.failsWith("Cannot copy the symbolic link d/link", "file_ops",
				args{"operation": "copy", "source": "d", "destination": "f"})
			assert.Contains(t, g.Metadata["suggestion"], "cp -r", name)
			assert.NoDirExists(t, b.path("f"), "all or nothing")
		}
	})
	t.Run("what is in the way", func(t *testing.T) {
		b := newBench(t)
		b.write("d/a.txt", "new")
		b.write("there/d/a.txt", "old")
		for _, operation := range []string{"copy", "move"} {
			g := b.fails("File already exists: there/d", "file_ops",
				args{"operation": operation, "source": "d", "destination": "there"})
			assert.Equal(t, "Choose another destination, or remove what is there.", g.Metadata["suggestion"])
			g = b.failsWith("A directory cannot be ", "file_ops",
				args{"operation": operation, "source": "d", "destination": "d/in/it"})
			assert.Equal(t, "Choose a destination outside of it.", g.Metadata["suggestion"])
			b.failsWith("Not a directory: d/a.txt/x", "file_ops",
				args{"operation": operation, "source": "d", "destination": "d/a.txt/x"})
		}
		assert.Equal(t, "old", b.read("there/d/a.txt"))
		assert.NoDirExists(t, b.path("d/in"))
	})
	t.Run("operation remove", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "hi\n")
		g := b.ok("file_ops", args{"operation": "remove", "source": "a.txt"})
		assert.Equal(t, "Removed a.txt", g.Output)
		assert.NoFileExists(t, b.path("a.txt"))
		b.fails("File not found: a.txt", "file_ops", args{"operation": "remove", "source": "a.txt"})
	})
	t.Run("operation remove of a directory", func(t *testing.T) {
		b := newBench(t)
		b.write("d/a.txt", "x")
		b.fails("Directory not empty: d. Remove what is in it first, one file_ops call each, or all at once with "+
			"the bash tool: rm -r -- 'd'",
			"file_ops", args{"operation": "remove", "source": "d"})
		b.ok("file_ops", args{"operation": "remove", "source": "d/a.txt"})
		b.ok("file_ops", args{"operation": "remove", "source": "d"})
		assert.NoDirExists(t, b.path("d"))
	})
	t.Run("source", func(t *testing.T) {
		b := newBench(t)
		b.fails("File not found: none", "file_ops", args{"operation": "copy", "source": "none", "destination": "x"})
		b.fails("Path not allowed: ../x is outside the workspace", "file_ops",
			args{"operation": "move", "source": "../x", "destination": "x"})
		b.failsWith("Path not allowed: ", "file_ops", args{"operation": "remove", "source": "../x"})
	})
	t.Run("destination", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "x")
		for _, operation := range []string{"copy", "move"} {
			b.fails("Destination is required for "+operation, "file_ops",
				args{"operation": operation, "source": "a.txt"})
			b.failsWith("Path not allowed: ", "file_ops",
				args{"operation": operation, "source": "a.txt", "destination": "../x"})
			b.failsWith("Path not allowed: ", "file_ops",
				args{"operation": operation, "source": "a.txt", "destination": ".git/hooks/x"})
			b.failsWith("Source and destination are the same file", "file_ops",
				args{"operation": operation, "source": "a.txt", "destination": "./a.txt"})
		}
		b.failsWith("A destination has no meaning for remove", "file_ops",
			args{"operation": "remove", "source": "a.txt", "destination": "b"})
		assert.Equal(t, "x", b.read("a.txt"))
	})
	t.Run("symlinks", func(t *testing.T) {
		b := newBench(t)
		b.write("real.txt", "x")
		require.NoError(t, os.Symlink("real.txt", b.path("link")))
		b.ok("file_ops", args{"operation": "copy", "source": "link", "destination": "copy.txt"})
		assert.Equal(t, "x", b.read("copy.txt"))
		b.ok("file_ops", args{"operation": "remove", "source": "link"})
		assert.Equal(t, "x", b.read("real.txt"), "the link goes, not its target")
	})
}
