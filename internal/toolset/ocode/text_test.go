package ocode_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestGrep(t *testing.T) {
	plant := func(t *testing.T) *bench {
		b := newBench(t)
		b.write("file.py",
			strings.Repeat("\n", 9)+"def process_data():\n"+strings.Repeat("\n", 9)+"data = process_data(input)\n")
		b.write("sub/other.py", "Process_Data\n")
		b.write("sub/notes.txt", "process_data in notes\n")
		b.write("bin.dat", "process_data\x00")
		return b
	}
	t.Run("example", func(t *testing.T) {
		g := plant(t).ok("grep", args{"pattern": "process_data", "file_pattern": "*.py"})
		assert.Equal(t, "file.py:10: def process_data():\nfile.py:20: data = process_data(input)", g.Output)
		assert.EqualValues(t, 2, g.Metadata["match_count"])
		assert.EqualValues(t, 2, g.Metadata["files_searched"])
	})
	t.Run("pattern is a regular expression", func(t *testing.T) {
		b := plant(t)
		assert.Equal(t, "file.py:10: def process_data():", b.ok("grep", args{"pattern": `^def \w+\(`}).Output)
		b.failsWith("", "grep", args{"pattern": "(unclosed"})
		b.fails("Pattern is required", "grep", args{"pattern": ""})
		assert.Equal(t, "No matches found for '--files'", b.ok("grep", args{"pattern": "--files"}).Output,
			"data, never an option")
	})
	t.Run("path", func(t *testing.T) {
		b := plant(t)
		assert.Equal(t, "sub/notes.txt:1: process_data in notes",
			b.ok("grep", args{"pattern": "process_data", "path": "sub"}).Output)
		assert.Equal(t, "sub/notes.txt:1: process_data in notes",
			b.ok("grep", args{"pattern": "process_data", "path": "sub/notes.txt"}).Output)
		b.fails("File not found: none", "grep", args{"pattern": "x", "path": "none"})
		b.fails("Path not allowed: .. is outside the workspace", "grep", args{"pattern": "x", "path": ".."})
	})
	t.Run("path default is the workspace", func(t *testing.T) {
		assert.EqualValues(t, 3, plant(t).ok("grep", args{"pattern": "process_data"}).Metadata["match_count"])
	})
	t.Run("recursive default true", func(t *testing.T) {
		assert.Contains(t, plant(t).ok("grep", args{"pattern": "notes"}).Output, "sub/notes.txt:1")
	})
	t.Run("recursive false", func(t *testing.T) {
		g := plant(t).ok("grep", args{"pattern": "process_data", "recursive": false})
		assert.NotContains(t, g.Output, "sub/")
		assert.EqualValues(t, 2, g.Metadata["match_count"])
	})
	t.Run("ignore_case default false", func(t *testing.T) {
		assert.Equal(t, "sub/other.py:1: Process_Data", plant(t).ok("grep", args{"pattern": "Process"}).Output)
	})
	t.Run("ignore_case true", func(t *testing.T) {
		assert.EqualValues(t, 4,
			plant(t).ok("grep", args{"pattern": "PROCESS_data", "ignore_case": true}).Metadata["match_count"])
	})
	t.Run("file_pattern", func(t *testing.T) {
		assert.Equal(t, "sub/notes.txt:1: process_data in notes",
			plant(t).ok("grep", args{"pattern": "process", "file_pattern": "*.txt"}).Output)
	})
	t.Run("no match is a success", func(t *testing.T) {
		g := plant(t).ok("grep", args{"pattern": "absent"})
		assert.Equal(t, "No matches found for 'absent'", g.Output)
		assert.EqualValues(t, 0, g.Metadata["match_count"])
	})
	t.Run("too many", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", strings.Repeat("x\n", 1500))
		g := b.warns("1000 of 1500 matching lines are shown", "grep", args{"pattern": "x"})
		assert.EqualValues(t, 1500, g.Metadata["match_count"])
	})
	t.Run("a long line shows where it matches", func(t *testing.T) {
		b := newBench(t)
		b.write("min.js", strings.Repeat("x", 50_000)+"needle"+strings.Repeat("y", 50_000)+"\n")
		g := b.ok("grep", args{"pattern": "need.e"})
		assert.True(t, strings.HasPrefix(g.Output, "min.js:1: [... "), g.Output[:40])
		assert.Contains(t, g.Output, "xneedley")
		assert.Less(t, len(g.Output), 1200)
	})
	t.Run("what RE2 leaves out", func(t *testing.T) {
		for _, pattern := range []string{"(?<=a)b", "a(?=b)", "(?<!a)b", "a(?!b)", `(a)\1`} {
			g := newBench(t).failsWith("Invalid regular expression ", "grep", args{"pattern": pattern})
			assert.Contains(t, g.Metadata["reason"], " is not supported", pattern)
			assert.Contains(t, g.Metadata["suggestion"], "RE2", pattern)
		}
	})
	t.Run("v1 case_sensitive", func(t *testing.T) {
		g := plant(t).ok("grep", args{"pattern": "PROCESS_DATA", "case_sensitive": false})
		assert.EqualValues(t, 4, g.Metadata["match_count"])
		assert.NotEmpty(t, g.Metadata["deprecated_parameters"])
	})
}

func TestDiff(t *testing.T) {
	const old, changed = "a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nD\ne\nf\ng\nh\ni\n"
	plant := func(t *testing.T) *bench {
		b := newBench(t)
		b.write("old.txt", old)
		b.write("sub/new.txt", changed)
		return b
	}
	real := func(t *testing.T, b *bench, options ...string) string {
		testneed.Program(t, "diff")
		cmd := exec.Command("diff", append(options, "old.txt", "sub/new.txt")...)
		cmd.Dir = b.root
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		_ = cmd.Run()
		return out.String()
	}
	t.Run("files as diff -u", func(t *testing.T) {
		b := plant(t)
		g := b.ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt"})
		assert.Equal(t, real(t, b, "-u"), g.Output)
		assert.Equal(t, args{"identical": false, "added": 2.0, "removed": 1.0, "source1_type": "file",
			"source2_type": "file"}, g.Metadata)
	})
	t.Run("context_lines default 3", func(t *testing.T) {
		b := plant(t)
		assert.Equal(t, b.ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt", "context_lines": 3}).Output,
			b.ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt"}).Output)
	})
	t.Run("context_lines", func(t *testing.T) {
		b := plant(t)
		for _, n := range []string{"0", "1", "20"} {
			g := b.ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt", "context_lines": mustInt(t, n)})
			assert.Equal(t, real(t, b, "-U"+n), g.Output)
		}
		b.fails("Invalid context_lines: -1", "diff", args{"source1": "a", "source2": "b", "context_lines": -1})
	})
	t.Run("unified default true", func(t *testing.T) {
		assert.Contains(t, plant(t).ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt"}).Output,
			"@@ -1,8 +1,9 @@")
	})
	t.Run("unified false is side by side", func(t *testing.T) {
		b := plant(t)
		g := b.ok("diff", args{"source1": "old.txt", "source2": "sub/new.txt", "unified": false})
		assert.Equal(t, real(t, b, "-y", "-t"), g.Output)
	})
	t.Run("source1 and source2 are texts", func(t *testing.T) {
		g := newBench(t).ok("diff", args{"source1": "a\nb\n", "source2": "a\nc"})
		assert.Equal(t, "--- source1\n+++ source2\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
			g.Output)
		assert.Equal(t, "string", g.Metadata["source1_type"])
		assert.Equal(t, "string", g.Metadata["source2_type"])
	})
	t.Run("source1 a file and source2 a text", func(t *testing.T) {
		g := plant(t).ok("diff", args{"source1": "old.txt", "source2": strings.Replace(old, "d", "x", 1)})
		assert.Contains(t, g.Output, "--- old.txt\t20")
		assert.Contains(t, g.Output, "\n+++ source2\n")
		assert.Equal(t, "file", g.Metadata["source1_type"])
	})
	t.Run("identical", func(t *testing.T) {
		b := plant(t)
		g := b.ok("diff", args{"source1": "old.txt", "source2": old})
		assert.Equal(t, "Files old.txt and source2 are identical", g.Output)
		assert.Equal(t, true, g.Metadata["identical"])
		assert.Equal(t, true, b.ok("diff", args{"source1": "", "source2": ""}).Metadata["identical"])
	})
	t.Run("a file that is not there", func(t *testing.T) {
		b := plant(t)
		b.fails("File not found: nw.txt", "diff", args{"source1": "old.txt", "source2": "nw.txt"})
		b.fails("File not found: a/b.txt", "diff", args{"source1": "a/b.txt", "source2": "a/c.txt"})
		b.warns("there is no file a.txt", "diff", args{"source1": "a.txt", "source2": "some text\n"})
		b.fails("Path not allowed: ../x.txt is outside the workspace", "diff",
			args{"source1": "../x.txt", "source2": "old.txt"})
		b.fails("Is a directory: sub", "diff", args{"source1": "sub", "source2": "old.txt"})
	})
	t.Run("binary", func(t *testing.T) {
		b := plant(t)
		b.write("a.bin", "\x00")
		assert.Equal(t, "Binary files a.bin and old.txt differ",
			b.ok("diff", args{"source1": "a.bin", "source2": "old.txt"}).Output)
	})
	t.Run("Latin-1", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "gr\xfcn\n")
		assert.Contains(t, b.ok("diff", args{"source1": "a.txt", "source2": "rot\n"}).Output, "-grün\n+rot\n")
		assert.Contains(t, b.ok("file_edit", args{"path": "a.txt", "old_text": "n", "new_text": "ß"}).Metadata["diff"],
			"-grün\n+grüß\n")
		assert.Equal(t, "gr\xfc\xdf\n", b.read("a.txt"))
	})
	t.Run("v1 file1 and file2", func(t *testing.T) {
		g := plant(t).ok("diff", args{"file1": "old.txt", "file2": "old.txt"})
		assert.Len(t, g.Metadata["deprecated_parameters"], 2)
	})
}

func mustInt(t *testing.T, s string) int {
	t.Helper()
	n := 0
	for _, c := range s {
		require.True(t, c >= '0' && c <= '9')
		n = n*10 + int(c-'0')
	}
	return n
}
