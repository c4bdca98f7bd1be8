package codex_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/handstest"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/codex"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

// scenario is a patch in a directory: files before, the lines between the
// patch's first and last, files after, and a part of the output.
type scenario struct {
	name   string
	before map[string]string
	patch  string // whole if it starts with a bar
	after  map[string]string
	says   string
	fails  bool
}

type tree = map[string]string

// scenarios follow the rules of the Codex CLI's parser.
var scenarios = []scenario{
	{"add a file", nil, "*** Add File: bar.md\n+a\n+b", tree{"bar.md": "a\nb\n"}, "A bar.md", false},
	{"add in new directories", nil, "*** Add File: a/b/c\n+x", tree{"a/b/c": "x\n"}, "A a/b/c", false},
	{"add an empty file", nil, "*** Add File: e", tree{"e": ""}, "A e", false},
	{"add an empty line", nil, "*** Add File: e\n+", tree{"e": "\n"}, "", false},
	{"add a line that begins with +", nil, "*** Add File: e\n++x", tree{"e": "+x\n"}, "", false},
	{"add over a file", tree{"f": "old\n"}, "*** Add File: f\n+new", tree{"f": "new\n"}, "A f", false},
	{"add a path with blanks", nil, "*** Add File: a b.txt\n+x", tree{"a b.txt": "x\n"}, "", false},
	{"delete a file", tree{"f": "x", "k": "k"}, "*** Delete File: f", tree{"f": "<none>", "k": "k"}, "D f", false},
	{"delete what is not there", nil, "*** Delete File: f", nil, "Failed to delete file f", true},
	{"delete a directory", tree{"d/f": "x"}, "*** Delete File: d", tree{"d/f": "x"}, "Failed to delete file d", true},
	{"update", tree{"f": "a\nb\nc\n"}, "*** Update File: f\n@@\n a\n-b\n+B\n c", tree{"f": "a\nB\nc\n"}, "M f", false},
	{"several operations", tree{"d": "x\n", "m": "l1\nl2\n"},
		"*** Add File: n/new\n+c\n*** Delete File: d\n*** Update File: m\n@@\n-l2\n+L2",
		tree{"n/new": "c\n", "d": "<none>", "m": "l1\nL2\n"}, "A n/new\nM m\nD d", false},
	{"several chunks", tree{"f": "1\n2\n3\n4\n"}, "*** Update File: f\n@@\n-2\n+two\n@@\n-4\n+four",
		tree{"f": "1\ntwo\n3\nfour\n"}, "", false},
	{"chunks need their order", tree{"f": "1\n2\n3\n4\n"}, "*** Update File: f\n@@\n-4\n+four\n@@\n-2\n+two",
		tree{"f": "1\n2\n3\n4\n"}, "Failed to find expected lines in f:\n2", true},
	{"the first of equal lines", tree{"f": "x\nx\n"}, "*** Update File: f\n@@\n-x\n+y", tree{"f": "y\nx\n"}, "", false},
	{"equal lines, one after the other", tree{"f": "x\nx\n"}, "*** Update File: f\n@@\n-x\n+y\n@@\n-x\n+z",
		tree{"f": "y\nz\n"}, "", false},
	{"move", tree{"o/n": "old\n", "o/k": "k\n"}, "*** Update File: o/n\n*** Move to: r/d/n\n@@\n-old\n+new",
		tree{"o/n": "<none>", "r/d/n": "new\n", "o/k": "k\n"}, "M r/d/n", false},
	{"move over a file", tree{"a": "from\n", "b": "there\n"}, "*** Update File: a\n*** Move to: b\n@@\n-from\n+new",
		tree{"a": "<none>", "b": "new\n"}, "", false},
	{"move to itself", tree{"a": "x\n"}, "*** Update File: a\n*** Move to: a\n@@\n-x\n+y", tree{"a": "y\n"}, "M a", false},
	{"a move needs a chunk", tree{"a": "x\n"}, "*** Update File: a\n*** Move to: b", tree{"a": "x\n"}, "is empty", true},
	{"an empty patch", nil, "", nil, "invalid patch", true},
	{"no file", nil, "|*** Begin Patch\n*** End Patch", nil, "No files were modified.", true},
	{"lines that are not there", tree{"f": "a\nb\n"}, "*** Update File: f\n@@\n-missing\n+x", tree{"f": "a\nb\n"},
		"Failed to find expected lines in f:\nmissing", true},
	{"a chunk without lines", tree{"f": "a\n"}, "*** Update File: f\n@@", tree{"f": "a\n"}, "does not contain any lines", true},
	{"an update without chunks", tree{"f": "a\n"}, "*** Update File: f", tree{"f": "a\n"},
		"invalid hunk at line 2, Update file hunk for path 'f' is empty", true},
	{"update what is not there", nil, "*** Update File: f\n@@\n-a\n+b", tree{"f": "<none>"}, "Failed to read file to update f", true},
	{"another header", tree{"f": "a\n"}, "*** Frobnicate File: f", tree{"f": "a\n"},
		"'*** Frobnicate File: f' is not a valid hunk header", true},
	{"no first line", nil, "|bad", nil, "The first line of the patch must be '*** Begin Patch'", true},
	{"no last line", nil, "|*** Begin Patch\nbad", nil, "The last line of the patch must be '*** End Patch'", true},
	{"one line", nil, "|*** Begin Patch", nil, "The last line of the patch must be", true},
	{"a newline at the end of the file", tree{"f": "no newline"}, "*** Update File: f\n@@\n-no newline\n+first\n+second",
		tree{"f": "first\nsecond\n"}, "", false},
	{"what was done stays", nil, "*** Add File: c\n+x\n*** Update File: missing\n@@\n-a\n+b", tree{"c": "x\n"},
		"Done before that, and kept: A c.", true},
	{"a mistake anywhere does nothing", nil, "*** Add File: c\n+x\n*** Update File: missing", tree{"c": "<none>"}, "is empty", true},
	{"only added lines go to the end", tree{"f": "a\nb\n"}, "*** Update File: f\n@@\n+c\n+d", tree{"f": "a\nb\nc\nd\n"}, "", false},
	{"added lines behind a context go to the end", tree{"f": "a\nb\n"}, "*** Update File: f\n@@ a\n+c", tree{"f": "a\nb\nc\n"}, "", false},
	{"added lines to an empty file", tree{"f": ""}, "*** Update File: f\n@@\n+c", tree{"f": "c\n"}, "", false},
	{"blanks around a header", tree{"f": "a\n"}, "  *** Update File: f  \n@@\n-a\n+b", tree{"f": "b\n"}, "", false},
	{"blanks around the first and last line", tree{"f": "a\n"},
		"| *** Begin Patch \n*** Update File: f\n@@\n-a\n+b\n *** End Patch  ", tree{"f": "b\n"}, "", false},
	{"empty lines around the patch", tree{"f": "a\n"},
		"|\n\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n\n", tree{"f": "b\n"}, "", false},
	{"a here-document", tree{"f": "a\n"},
		"|<<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEOF", tree{"f": "b\n"}, "", false},
	{"a here-document without quotes", nil, "|<<EOF\n*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\nEOF",
		tree{"f": "a\n"}, "", false},
	{"a here-document with double quotes", nil, "|<<\"EOF\"\n*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\nEOF",
		tree{"f": "a\n"}, "", false},
	{"a here-document of another word", nil, "|<<'END'\n*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\nEND",
		tree{"f": "<none>"}, "The first line", true},
	{"lines of the patch end with CR LF", tree{"f": "a\n"},
		"|*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n", tree{"f": "b\n"}, "", false},
	{"lines of the file end with CR LF", tree{"f": "a\r\nb\r\n"}, "*** Update File: f\n@@\n a\n-b\n+c", tree{"f": "a\r\nc\r\n"}, "", false},
	{"unicode", tree{"f": "naïve café\n"}, "*** Update File: f\n@@\n-naïve café\n+naïve café ✅",
		tree{"f": "naïve café ✅\n"}, "", false},
	{"dashes that look alike", tree{"f": "import x  # local import \u2013 avoids top\u2011level dep\n"},
		"*** Update File: f\n@@\n-import x  # local import - avoids top-level dep\n+import x", tree{"f": "import x\n"}, "", false},
	{"quotes that look alike", tree{"f": "say \u201chi\u201d, it\u2019s\n"}, "*** Update File: f\n@@\n-say \"hi\", it's\n+x",
		tree{"f": "x\n"}, "", false},
	{"blanks that look alike", tree{"f": "a\u00a0b\n"}, "*** Update File: f\n@@\n-a b\n+x", tree{"f": "x\n"}, "", false},
	{"blanks at the end of a line", tree{"f": "a  \nb\t\n"}, "*** Update File: f\n@@\n-a\n-b\n+x", tree{"f": "x\n"}, "", false},
	{"blanks at the beginning of a line", tree{"f": "    a\n"}, "*** Update File: f\n@@\n-a\n+x", tree{"f": "x\n"}, "", false},
	{"the exact line before one with blanks", tree{"f": " a\na\n"}, "*** Update File: f\n@@\n-a\n+x", tree{"f": " a\nx\n"}, "", false},
	{"only removed lines", tree{"f": "1\n2\n3\n"}, "*** Update File: f\n@@\n 1\n-2\n 3", tree{"f": "1\n3\n"}, "", false},
	{"all lines are removed", tree{"f": "1\n"}, "*** Update File: f\n@@\n-1", tree{"f": ""}, "", false},
	{"at the end of the file", tree{"f": "x\ny\nx\n"}, "*** Update File: f\n@@\n-x\n+z\n*** End of File", tree{"f": "x\ny\nz\n"}, "", false},
	{"not at the end of the file", tree{"f": "x\ny\n"}, "*** Update File: f\n@@\n-x\n+z\n*** End of File", tree{"f": "x\ny\n"},
		"Failed to find expected lines", true},
	{"the end of the file without lines", tree{"f": "x\n"}, "*** Update File: f\n@@\n*** End of File", tree{"f": "x\n"},
		"does not contain any lines", true},
	{"a section behind the end of the file", tree{"f": "x\n"}, "*** Update File: f\n@@\n-x\n+z\n*** End of File\n*** Add File: g\n+g",
		tree{"f": "z\n", "g": "g\n"}, "", false},
	{"a context", tree{"f": "def a():\n  pass\ndef b():\n  pass\n"}, "*** Update File: f\n@@ def b():\n-  pass\n+  return",
		tree{"f": "def a():\n  pass\ndef b():\n  return\n"}, "", false},
	{"a context that is not there", tree{"f": "a\n"}, "*** Update File: f\n@@ zz\n-a\n+b", tree{"f": "a\n"},
		"Failed to find context 'zz' in f", true},
	{"lines before their context", tree{"f": "a\nb\n"}, "*** Update File: f\n@@ b\n-a\n+x", tree{"f": "a\nb\n"}, "expected lines", true},
	{"the first chunk needs no @@", tree{"f": "import foo\n"}, "*** Update File: f\n import foo\n+bar",
		tree{"f": "import foo\nbar\n"}, "", false},
	{"a later chunk does", tree{"f": "a\nb\n"}, "*** Update File: f\n a\n+x\n*x", tree{"f": "a\nb\n"}, "not a valid hunk header", true},
	{"a line of another kind", tree{"f": "a\n"}, "*** Update File: f\n@@\nxyz", tree{"f": "a\n"},
		"Unexpected line found in update hunk: 'xyz'", true},
	{"a line of another kind later", tree{"f": "a\n"}, "*** Update File: f\n@@\n-a\n+b\nxyz", tree{"f": "a\n"},
		"Expected update hunk to start with a @@ context marker, got: 'xyz'", true},
	{"an empty line is a kept one", tree{"f": "a\n\nb\n"}, "*** Update File: f\n@@\n a\n\n-b\n+c", tree{"f": "a\n\nc\n"}, "", false},
	{"an empty line for the end of the file", tree{"f": "a\nb\n"}, "*** Update File: f\n@@\n-b\n-\n+c\n+", tree{"f": "a\nc\n"}, "", false},
	{"empty lines between sections", tree{"f": "a\n"}, "*** Update File: f\n\n@@\n-a\n+b", tree{"f": "b\n"}, "", false},
	{"removed and added again", tree{"f": "a\n"}, "*** Delete File: f\n*** Add File: f\n+b", tree{"f": "b\n"}, "A f\nD f", false},
	{"added and changed", nil, "*** Add File: f\n+a\n*** Update File: f\n@@\n-a\n+b", tree{"f": "b\n"}, "A f\nM f", false},
	{"an absolute path in the workspace", nil, "*** Add File: {{DIR}}/f\n+a", tree{"f": "a\n"}, "", false},
	{"a path out of the workspace", nil, "*** Add File: ../f\n+a", tree{"../f": "<none>"}, "outside", true},
	{"a move out of the workspace", tree{"f": "a\n"}, "*** Update File: f\n*** Move to: ../g\n@@\n-a\n+b",
		tree{"f": "a\n", "../g": "<none>"}, "outside", true},
	{"what is protected", nil, "*** Add File: agent.hcl\n+a", tree{"agent.hcl": "<none>"}, "", true},
	{"a move to what is protected", tree{"f": "a\n"}, "*** Update File: f\n*** Move to: agent.hcl\n@@\n-a\n+b",
		tree{"f": "a\n", "agent.hcl": "<none>"}, "", true},
	{"move to the same place by another path", tree{"a": "x\n", "d/k": "k"}, "*** Update File: a\n*** Move to: d/.././a\n@@\n-x\n+y",
		tree{"a": "y\n"}, "M d/.././a", false},
	{"move to the same place by its absolute path", tree{"a": "x\n"}, "*** Update File: a\n*** Move to: {{DIR}}/a\n@@\n-x\n+y",
		tree{"a": "y\n"}, "", false},
	{"a move of what is protected", tree{"agent.hcl": "a\n"}, "*** Update File: agent.hcl\n*** Move to: x\n@@\n-a\n+b",
		tree{"agent.hcl": "a\n", "x": "<none>"}, "protected", true},
	{"a move into a file of another encoding", tree{"a": "x\n", "b": "\xff\xfeb\x00"},
		"*** Update File: a\n*** Move to: b\n@@\n-x\n+é", tree{"a": "<none>", "b": "é\n"}, "", false},
	{"chunks that overlap at the end of the file", tree{"f": "a\n"}, "*** Update File: f\n@@\n-a\n@@\n-a\n*** End of File",
		tree{"f": "a\n"}, "Failed to find expected lines in f:\na", true},
	{"a context that overlaps the end of the file", tree{"f": "a\nb\n"}, "*** Update File: f\n@@ b\n-b\n+c\n*** End of File",
		tree{"f": "a\nb\n"}, "expected lines", true},
	{"empty lines at the end of the file", tree{"f": "a\nb\n\n\n"}, "*** Update File: f\n@@\n-a\n+A",
		tree{"f": "A\nb\n\n\n"}, "", false},
	{"an empty last line is removed", tree{"f": "a\n\n\n"}, "*** Update File: f\n@@\n a\n-\n", tree{"f": "a\n\n"}, "", false},
	{"an end of the file without a newline", tree{"f": "a\nb"}, "*** Update File: f\n@@\n-a\n+A\n b", tree{"f": "A\nb"}, "", false},
	{"a line behind the end of the file without a newline", tree{"f": "a\r\nb"}, "*** Update File: f\n@@\n b\n+c",
		tree{"f": "a\r\nb\r\nc\r\n"}, "", false},
	{"an empty line for the end of the file is kept", tree{"f": "a\nb\n"}, "*** Update File: f\n@@\n-b\n+c\n \n+d",
		tree{"f": "a\nc\n\nd\n"}, "", false},
	{"kept lines are the file's", tree{"f": "if x:\n\tfoo  \n\tbar\u2013\n"}, "*** Update File: f\n@@\n if x:\n foo\n-bar-\n+\tbaz",
		tree{"f": "if x:\n\tfoo  \n\tbaz\n"}, "", false},
	{"both kinds of line endings", tree{"f": "one\r\ntwo\r\nthree\nfour\r\n"},
		"*** Update File: f\n@@\n one\n-two\n+TWO\n three\n+more\n four\n+five",
		tree{"f": "one\r\nTWO\r\nthree\nmore\nfour\r\nfive\r\n"}, "", false},
	{"lines that end with CR", tree{"f": "a\rb\rc"}, "*** Update File: f\n@@\n-b\n+B\n+D", tree{"f": "a\rB\rD\rc"}, "", false},
	{"a byte order mark", tree{"f": "\ufeffa\nb\n"}, "*** Update File: f\n@@\n+x\n-a\n b", tree{"f": "\ufeffx\nb\n"}, "", false},
	{"UTF-16", tree{"f": "\xff\xfea\x00\r\x00\n\x00"}, "*** Update File: f\n@@\n-a\n+é",
		tree{"f": "\xff\xfe\xe9\x00\r\x00\n\x00"}, "", false},
	{"Latin-1", tree{"f": "caf\xe9\nb\n"}, "*** Update File: f\n@@\n café\n-b\n+thé", tree{"f": "caf\xe9\nth\xe9\n"}, "", false},
	{"what Latin-1 lacks", tree{"f": "caf\xe9\nb\n"}, "*** Update File: f\n@@\n-b\n+€", tree{"f": "caf\xe9\nb\n"},
		"Failed to update file f: the file is in an 8-bit encoding", true},
	{"a binary file", tree{"f": "\x00\na\n"}, "*** Update File: f\n@@\n-a\n+b", tree{"f": "\x00\na\n"},
		"Failed to update file f: the file is binary", true},
	{"more lines than the file has", tree{"f": "a\n"}, "*** Update File: f\n@@\n-a\n-b\n-c\n+x", tree{"f": "a\n"}, "expected lines", true},
}

func TestPatches(t *testing.T) {
	assert.GreaterOrEqual(t, len(scenarios), 60)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var files []string
			for name, text := range s.before {
				files = append(files, name, text)
			}
			b := handstest.New(t, codex.New, files...)
			whole, ok := strings.CutPrefix(s.patch, "|")
			if !ok && s.patch != "" {
				whole = "*** Begin Patch\n" + s.patch + "\n*** End Patch"
			}
			r := b.Call(t.Context(), "apply_patch", map[string]string{"input": whole})
			assert.Equal(t, s.fails, r.Failed != nil, r.Text())
			assert.Contains(t, r.Text(), s.says)
			if !s.fails {
				assert.True(t, strings.HasPrefix(r.Text(), "Success. Updated the following files:\n"), r.Text())
			}
			for name, text := range s.after {
				assert.Equal(t, text, b.Read(name), name)
			}
		})
	}
}

// Calls in one process or several change a file in turn.
func TestPatchesAtTheSameTime(t *testing.T) {
	const patches = 24
	var text strings.Builder
	for i := range patches {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	b := handstest.New(t, codex.New, "f", text.String())
	other, err := workspace.Open(b.Root, workspace.Options{}) // has its own locks, as another process has
	require.NoError(t, err)
	defer other.Close()
	deps := b.Deps
	deps.Workspace = other
	tools := []tool.Tool{applyPatch(b.Deps), applyPatch(deps)}
	var running sync.WaitGroup
	for i := range patches {
		input := fmt.Sprintf("*** Begin Patch\n*** Update File: f\n@@\n-line %d.\n+LINE %d.\n*** End Patch", i, i)
		running.Go(func() {
			r, err := tools[i%2].Call(t.Context(), &tool.Call{Tool: "apply_patch", Workspace: b.Root, Host: b.Host,
				Params: tool.MustMarshal(map[string]string{"input": input})})
			if assert.NoError(t, err) {
				assert.Nil(t, r.Failed, r.Text())
			}
		})
	}
	running.Wait()
	assert.Equal(t, strings.ReplaceAll(text.String(), "line", "LINE"), b.Read("f"))
}

func applyPatch(deps hands.Deps) tool.Tool {
	for _, tl := range codex.New(deps) {
		if tl.Definition().Name == "apply_patch" {
			return tl
		}
	}
	return nil
}

func TestMoves(t *testing.T) {
	patch := func(from, to string) map[string]string {
		return map[string]string{"input": "*** Begin Patch\n*** Update File: " + from + "\n*** Move to: " + to +
			"\n@@\n-a\n+b\n*** End Patch"}
	}
	for _, c := range []struct {
		name, from, to string
		after          tree
		mode           os.FileMode
	}{
		{"a script", "s", "d/t", tree{"s": "<none>", "d/t": "b\n"}, 0o755},
		{"a script over a file", "s", "f", tree{"s": "<none>", "f": "b\n"}, 0o755},
		{"a script over a link", "s", "l", tree{"s": "<none>", "l": "b\n", "f": "b\n"}, 0o755},
		{"a file to its link", "f", "l", tree{"f": "b\n", "l": "b\n"}, 0o644},
		{"a link to its file", "l", "f", tree{"f": "b\n", "l": "b\n"}, 0o644},
		{"a link", "l", "n", tree{"f": "a\n", "l": "<none>", "n": "b\n"}, 0o644},
		{"a file to its hard link", "f", "h", tree{"f": "<none>", "h": "b\n"}, 0o644},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := handstest.New(t, codex.New, "s", "a\n", "f", "a\n")
			require.NoError(t, os.Chmod(b.Path("s"), 0o755))
			require.NoError(t, os.Link(b.Path("f"), b.Path("h")))
			testneed.Symlink(t, "f", b.Path("l"))
			r := b.Call(t.Context(), "apply_patch", patch(c.from, c.to))
			require.Nil(t, r.Failed, r.Text())
			for name, text := range c.after {
				assert.Equal(t, text, b.Read(name), name)
			}
			info, err := os.Stat(b.Path(c.to))
			require.NoError(t, err)
			assert.Equal(t, c.mode, info.Mode().Perm())
		})
	}
}

// Chunks never panic, and what they do not remove stays, byte for byte.
func FuzzChanged(f *testing.F) {
	for _, s := range scenarios {
		for _, data := range s.before {
			f.Add(strings.TrimPrefix(s.patch, "*** Update File: f\n"), []byte(data))
		}
	}
	f.Add("@@\n b\n-\n@@\n+x\n@@\n-\n \n*** End of File", []byte("a\nb\n\n\n"))
	f.Fuzz(func(t *testing.T, chunks string, data []byte) {
		if strings.ContainsAny(chunks, "\x00\ufeff") || !utf8.ValidString(chunks) {
			return // the outcome may be another kind of file
		}
		removed, after, err := codex.Changed("*** Begin Patch\n*** Update File: f\n"+chunks+"\n*** End Patch", data)
		if err != nil {
			require.NotEmpty(t, tool.AsError(err).Message)
			return
		}
		before, err := textedit.Decode(data)
		require.NoError(t, err)
		now, err := textedit.Decode(after)
		require.NoError(t, err)
		lost := lost(before.String(), now.String())
		require.LessOrEqual(t, lost, removed, "%q\n%q\n%q", data, chunks, after)
	})
}

// lost counts the lines that are not in the other text, in order. The last may get an ending there.
func lost(text, other string) int {
	end := "\n"
	if !strings.Contains(text, end) && strings.Contains(text, "\r") {
		end = "\r"
	}
	lines, others := strings.SplitAfter(text, end), strings.SplitAfter(other, end)
	common := make([]int, len(others)+1)
	for i, line := range lines {
		diagonal := 0
		for j, o := range others {
			above := common[j+1]
			if line == o || i == len(lines)-1 && line == strings.TrimRight(o, "\r\n") {
				above = max(above, diagonal+1)
			}
			diagonal, common[j+1] = common[j+1], max(above, common[j])
		}
	}
	return len(lines) - common[len(others)]
}
