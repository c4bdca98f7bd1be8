package patch_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/patch"
)

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct {
		diff string
		line int
		code tool.Code
		text string
	}{
		"empty":             {"", 0, tool.InvalidArgument, "no diff"},
		"garbage":           {"this is\nnot a patch\n", 0, tool.InvalidArgument, "no diff"},
		"no hunk":           {"--- a/f\n+++ b/f\n", 3, tool.InvalidArgument, "no hunk"},
		"no hunk, but text": {"--- a/f\n+++ b/f\nhello\n", 3, tool.InvalidArgument, "no hunk"},
		"bad hunk header":   {"--- a/f\n+++ b/f\n@@ garbage @@\n a\n", 3, tool.InvalidArgument, "is not a hunk header"},
		"bad hunk numbers":  {"--- a/f\n+++ b/f\n@@ -x,1 +1 @@\n a\n", 3, tool.InvalidArgument, "is not a hunk header"},
		"huge numbers": {"--- a/f\n+++ b/f\n@@ -1,99999999999999999999 +1 @@\n a\n", 3, tool.InvalidArgument,
			"is not a hunk header"},
		"second hunk is bad": {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n@@ nonsense\n", 6, tool.InvalidArgument,
			"is not a hunk header"},
		"hunk without lines":  {"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n", 3, tool.InvalidArgument, "no lines"},
		"hunk without a file": {"hello\n@@ -1 +1 @@\n-a\n+b\n", 2, tool.InvalidArgument, "without a file"},
		"line without a mark": {"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\nb\n-c\n+C\n", 5, tool.InvalidArgument,
			"is not a line of a hunk"},
		"no name": {"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", 1, tool.InvalidArgument,
			"names no file"},
		"git names":          {"diff --git nonsense\n", 1, tool.InvalidArgument, "file names"},
		"git without change": {"diff --git a/f b/f\nindex 1..2 100644\n", 1, tool.InvalidArgument, "nothing follows"},
		"binary": {"diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nKc$@)\n", 3,
			tool.Unsupported, "binary"},
		"binary, not shown": {"diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n", 3,
			tool.Unsupported, "binary"},
		"binary, by diff": {"Binary files old/f and new/f differ\n", 1, tool.Unsupported, "binary"},
		"context diff": {"*** a/f\n--- b/f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", 1,
			tool.Unsupported, "context diff"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := patch.Parse([]byte(c.diff))
			require.Nil(t, set)
			var p *patch.ParseError
			require.ErrorAs(t, err, &p)
			assert.Equal(t, c.line, p.Line, err.Error())
			assert.Equal(t, c.code, tool.CodeOf(err))
			assert.Contains(t, err.Error(), c.text)
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		})
	}
}

func TestHunkError(t *testing.T) {
	files := map[string]string{"f": "a\nb\nc\nd\ne\n\tx y\ng\n"}
	_, err := ours(files, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -5,3 +5,3 @@\n e\n-    x y\n+\tz\n g\n")
	var h *patch.HunkError
	require.ErrorAs(t, err, &h)
	assert.Equal(t, "f", h.Path)
	assert.Equal(t, 2, h.Hunk)
	assert.Equal(t, 7, h.PatchLine)
	assert.Equal(t, 6, h.FileLine)
	assert.Equal(t, []string{"e", "    x y", "g"}, h.Expected)
	assert.Equal(t, []string{"e", "\tx y", "g"}, h.Found)
	assert.False(t, h.Applied)
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
	assert.Equal(t, "hunk 2 of f (line 7 of the patch) does not fit: the file differs at line 6\n"+
		"expected (· is a space, → a tab, ␍ a carriage return):\n  e\n  ····x·y\n  g\n"+
		"found (· is a space, → a tab, ␍ a carriage return):\n  e\n  →x·y\n  g", err.Error())
	assert.Equal(t, 2, tool.AsError(err).Details["hunk"])
}

func TestHunkErrorTellsWhatIsApplied(t *testing.T) {
	_, err := ours(map[string]string{"f": "a\nB\nc\n"}, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
	var h *patch.HunkError
	require.ErrorAs(t, err, &h)
	assert.True(t, h.Applied)
	assert.Contains(t, tool.AsError(err).Suggestion, "applied")
}

func TestHunkErrorBeyondTheEnd(t *testing.T) {
	_, err := ours(map[string]string{"f": ""}, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")
	var h *patch.HunkError
	require.ErrorAs(t, err, &h)
	assert.Empty(t, h.Found)
	assert.Contains(t, err.Error(), "found (· is a space, → a tab, ␍ a carriage return):\n  (no lines)")
}

func TestApplyErrors(t *testing.T) {
	files := map[string]string{"f": "a\n", "g": "b\n"}
	for name, c := range map[string]struct {
		diff string
		code tool.Code
		text string
	}{
		"missing":          {"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n", tool.NotFound, "none does not exist"},
		"missing, deleted": {"--- a/none\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", tool.NotFound, "none does not exist"},
		"missing, renamed": {"diff --git a/none b/x\nsimilarity index 100%\nrename from none\nrename to x\n",
			tool.NotFound, "none does not exist"},
		"missing, mode": {"diff --git a/none b/none\nold mode 100644\nnew mode 100755\n", tool.NotFound,
			"none does not exist"},
		"created, is there": {"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", tool.AlreadyExists, "f exists already"},
		"renamed over": {"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
			tool.AlreadyExists, "g exists already"},
		"copied over": {"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
			tool.AlreadyExists, "g exists already"},
		"deleted, has more": {"--- a/f\n+++ /dev/null\n@@ -1,0 +0,0 @@\n", tool.InvalidArgument, "no lines"},
		"deleted, other":    {"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", tool.Conflict, "hunk 1 of f"},
		"deleted, no hunk": {"diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n", tool.Conflict,
			"line 1 of the patch deletes f, but not all of its lines"},
		"symbolic link": {"diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n" +
			"@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", tool.Unsupported, "symbolic link"},
		"submodule": {"diff --git a/s b/s\nnew file mode 160000\nindex 0..1\n--- /dev/null\n+++ b/s\n" +
			"@@ -0,0 +1 @@\n+Subproject commit 1\n", tool.Unsupported, "symbolic link or a submodule"},
		"first fits": {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+X\n",
			tool.Conflict, "hunk 1 of g"},
		"outside": {"--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n", tool.PathOutsideWorkspace,
			"outside"},
		"outside, absolute": {"--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", tool.PathOutsideWorkspace,
			"outside"},
		"outside, created": {"--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+b\n", tool.PathOutsideWorkspace, "outside"},
		"outside, renamed to": {"diff --git a/f b/../x\nsimilarity index 100%\nrename from f\nrename to ../x\n",
			tool.PathOutsideWorkspace, "outside"},
		"outside, copied": {"diff --git a/../x b/y\nsimilarity index 100%\ncopy from ../x\ncopy to y\n",
			tool.PathOutsideWorkspace, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := patch.Parse([]byte(c.diff))
			if err == nil {
				var changes []patch.FileChange
				changes, err = patch.Apply(set, func(path string) ([]byte, fs.FileMode, error) {
					if strings.HasPrefix(path, "..") || strings.HasPrefix(path, "/") {
						return nil, 0,
							tool.Errorf(tool.PathOutsideWorkspace, "%s is outside", path).Suggest("Stay inside.")
					}
					if data, ok := files[path]; ok {
						return []byte(data), 0o644, nil
					}
					return nil, 0, tool.Errorf(tool.NotFound, "%s is not there", path)
				})
				require.Nil(t, changes)
			}
			require.Error(t, err)
			assert.Equal(t, c.code, tool.CodeOf(err), err.Error())
			assert.Contains(t, err.Error(), c.text)
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		})
	}
}

func TestModes(t *testing.T) {
	read := func(path string) ([]byte, fs.FileMode, error) {
		mode := map[string]fs.FileMode{"f": 0o640, "x": 0o751}[path]
		if mode == 0 {
			return nil, 0, fs.ErrNotExist
		}
		return []byte("a\n"), mode, nil
	}
	set, err := patch.Parse([]byte("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" +
		"diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n" +
		"diff --git a/x b/y\nold mode 100755\nnew mode 100644\nsimilarity index 100%\nrename from x\nrename to y\n"))
	require.NoError(t, err)
	changes, err := patch.Apply(set, read)
	require.NoError(t, err)
	require.Len(t, changes, 3)
	assert.Equal(t, patch.FileChange{Kind: patch.Modify, Path: "f", Old: []byte("a\n"), Data: []byte("a\n"),
		Mode: 0o750}, changes[0])
	assert.Equal(t, patch.FileChange{Kind: patch.Create, Path: "new", Data: []byte("a\n"), Mode: 0o755}, changes[1])
	assert.Equal(t, patch.FileChange{Kind: patch.Rename, Path: "y", From: "x", Old: []byte("a\n"), Data: []byte("a\n"),
		Mode: 0o640}, changes[2])
	assert.Equal(t, []string{"f", "new", "x", "y"}, patch.Paths(changes))
}

func FuzzParseAndApply(f *testing.F) {
	for _, c := range handmade {
		for _, data := range c.files {
			f.Add([]byte(c.diff), []byte(data))
		}
	}
	f.Fuzz(func(t *testing.T, diff, data []byte) {
		set, err := patch.Parse(diff)
		if err != nil {
			require.NotEmpty(t, tool.AsError(err).Suggestion)
			return
		}
		require.NotEmpty(t, set.Files)
		before := string(data)
		_, err = patch.Apply(set, func(string) ([]byte, fs.FileMode, error) { return data, 0o644, nil })
		require.Equal(t, before, string(data), "the input was changed")
		if err != nil {
			require.NotEmpty(t, tool.AsError(err).Suggestion)
		}
	})
}
