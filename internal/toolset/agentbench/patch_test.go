package agentbench_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

func diffOf(diff string) map[string]any { return map[string]any{"unified_diff": diff} }

// tree returns all files of the workspace except toolhost's, with content and executable bit.
func (f *fixture) tree(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(f.root, path)
		if rel == ".agent" || rel == ".git" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			out[filepath.ToSlash(rel)] = fmt.Sprintf("%t:%s", info.Mode()&0o100 != 0, data)
		}
		return nil
	}))
	return out
}

const exampleDiff = `--- a/src/main.py
+++ b/src/main.py
@@ -1,4 +1,4 @@
 def add(a, b):
-    return a - b
+    return a + b
`

func TestApplyPatchExample(t *testing.T) {
	f := newFixture(t)
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	e := f.call(t, "apply_patch", diffOf(exampleDiff))
	require.Equal(t, "success", e.Status)
	// The contract says 89, but its own example has 104 bytes.
	assert.Equal(t, map[string]any{"changed_files": []any{"src/main.py"}, "patch_size_bytes": 104.0}, e.Data)
	assert.Len(t, exampleDiff, 104)
	assert.Equal(t, "def add(a, b):\n    return a + b\n", f.read(t, "src/main.py"))
	assert.Equal(t, []string{"src/main.py"}, e.result.FilesAffected)
}

func TestApplyPatchArtifact(t *testing.T) {
	f := newFixture(t)
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	f.step = 6
	e := f.call(t, "apply_patch", diffOf(exampleDiff))
	assert.Equal(t, exampleDiff, f.read(t, ".agent/runs/test/diffs/step_0007.patch"))
	assert.Equal(t, []tool.Artifact{{Name: "patch", Path: ".agent/runs/test/diffs/step_0007.patch", Bytes: 104}},
		e.result.Artifacts)
	assert.Equal(t, exampleDiff, f.succeeds(t, "read_file", `{"path":"diffs/step_0007.patch"}`)["content"])
}

func TestApplyPatchEvent(t *testing.T) {
	f := newFixture(t)
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	f.call(t, "apply_patch", diffOf(exampleDiff))
	events := f.host.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "PATCH_APPLIED", events[0].Name)
	assert.JSONEq(t, `{"changed_files":["src/main.py"],"patch_size_bytes":104,"artifact":"diffs/step_0001.patch"}`,
		string(events[0].Payload))
	f.fails(t, "patch_hunk_fail", "does not fit", "apply_patch", diffOf(strings.ReplaceAll(exampleDiff, "add", "sub")))
	assert.Len(t, f.host.Events(), 1, "a patch that fails is no event")
	assert.NoFileExists(t, filepath.Join(f.artifacts, "diffs/step_0002.patch"))
}

func TestApplyPatchWithoutArtifactDir(t *testing.T) {
	f := newFixture(t)
	f.artifacts = ""
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	e := f.call(t, "apply_patch", diffOf(exampleDiff))
	assert.Equal(t, "success", e.Status)
	assert.Empty(t, e.result.Artifacts)
	assert.JSONEq(t, `{"changed_files":["src/main.py"],"patch_size_bytes":104,"artifact":null}`,
		string(f.host.Events()[0].Payload))
}

func TestApplyPatchKinds(t *testing.T) {
	f := newFixture(t)
	f.write(t, "changed", "a\nb\n")
	f.write(t, "dir/deleted", "x\n")
	f.write(t, "old/name", "1\n2\n3\n")
	f.write(t, "mode", "x\n")
	f.write(t, "copied", "c\n")
	f.write(t, "crlf", "a\r\nb\r\n")
	f.write(t, "noeol", "a\nb")
	e := f.call(t, "apply_patch", diffOf(`diff --git a/changed b/changed
--- a/changed
+++ b/changed
@@ -1,2 +1,2 @@
 a
-b
+B
diff --git a/dir/deleted b/dir/deleted
deleted file mode 100644
--- a/dir/deleted
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old/name b/new/dir/name
similarity index 60%
rename from old/name
rename to new/dir/name
--- a/old/name
+++ b/new/dir/name
@@ -1,3 +1,3 @@
 1
-2
+two
 3
diff --git a/mode b/mode
old mode 100644
new mode 100755
diff --git a/copied b/copy
similarity index 100%
copy from copied
copy to copy
diff --git a/created/deep/file b/created/deep/file
new file mode 100755
--- /dev/null
+++ b/created/deep/file
@@ -0,0 +1,2 @@
+new
+last
\ No newline at end of file
--- a/crlf
+++ b/crlf
@@ -1,2 +1,3 @@
 a
+between
 b
--- a/noeol
+++ b/noeol
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+B
\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
`))
	require.Equal(t, "success", e.Status, "%+v", e.Error)
	assert.Equal(t, []string{
		"changed", "copy", "created/deep/file", "crlf", "dir/deleted", "empty", "mode", "new/dir/name", "noeol",
		"old/name",
	}, strs(e.Data["changed_files"]))
	assert.Equal(t, map[string]string{
		"changed": "false:a\nB\n", "new/dir/name": "false:1\ntwo\n3\n", "mode": "true:x\n", "copied": "false:c\n",
		"copy":              "false:c\n",
		"created/deep/file": "true:new\nlast", "crlf": "false:a\r\nbetween\r\nb\r\n", "noeol": "false:a\nB",
		"empty": "false:",
	}, f.tree(t))
	assert.NoDirExists(t, filepath.Join(f.root, "dir"), "a directory without files goes, as git has it")
	assert.NoDirExists(t, filepath.Join(f.root, "old"))
}

func TestApplyPatchParseError(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "a\n")
	for name, diff := range map[string]string{
		"empty": "", "prose": "please change f\n", "no hunk": "--- a/f\n+++ b/f\n",
		"bad hunk":     "--- a/f\n+++ b/f\n@@ nonsense @@\n a\n",
		"no header":    "@@ -1 +1 @@\n-a\n+b\n",
		"binary":       "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nKc$@)\n",
		"context diff": "*** a/f\n--- b/f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
		"two nulls":    "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n",
		"submodule": "diff --git a/s b/s\nnew file mode 160000\nindex 0..1\n--- /dev/null\n+++ b/s\n" +
			"@@ -0,0 +1 @@\n+Subproject commit 1\n",
		"NUL in the name": "--- \"a/x\\000y\"\n+++ \"b/x\\000y\"\n@@ -1 +1 @@\n-a\n+b\n",
	} {
		t.Run(name, func(t *testing.T) {
			f.fails(t, "patch_parse_error", "", "apply_patch", diffOf(diff))
			assert.Equal(t, map[string]string{"f": "false:a\n"}, f.tree(t))
		})
	}
	e := f.fails(t, "patch_parse_error", "line 3 of the patch", "apply_patch",
		diffOf("--- a/f\n+++ b/f\n@@ nonsense @@\n a\n"))
	assert.Equal(t, 3.0, e.Error.Details["line"])
}

func TestApplyPatchFileNotFound(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, os.Mkdir(filepath.Join(f.root, "dir"), 0o755))
	for _, diff := range []string{
		"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
		"--- a/no/such/file\n+++ b/no/such/file\n@@ -1 +1 @@\n-a\n+b\n",
		"--- a/none\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
		"diff --git a/none b/x\nsimilarity index 100%\nrename from none\nrename to x\n",
		"diff --git a/none b/none\nold mode 100644\nnew mode 100755\n",
		"--- a/dir\n+++ b/dir\n@@ -1 +1 @@\n-a\n+b\n",
	} {
		f.fails(t, "file_not_found", "does not exist", "apply_patch", diffOf(diff))
		assert.Empty(t, f.tree(t))
	}
}

func TestApplyPatchHunkFail(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "a\nb\nc\n\tx y\n")
	e := f.fails(t, "patch_hunk_fail", "hunk 2 of f", "apply_patch",
		diffOf("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n@@ -3,2 +3,2 @@\n c\n-    x y\n+\tz\n"))
	assert.Equal(t, "f", e.Error.Details["path"])
	assert.Equal(t, 2.0, e.Error.Details["hunk"])
	assert.Equal(t, []any{"c", "    x y"}, e.Error.Details["expected"])
	assert.Equal(t, []any{"c", "\tx y"}, e.Error.Details["found"])
	f.fails(t, "patch_hunk_fail", "exists already", "apply_patch",
		diffOf("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n"))
	f.fails(t, "patch_hunk_fail", "deletes f, but not all", "apply_patch",
		diffOf("diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n"))
	applied := f.fails(t, "patch_hunk_fail", "", "apply_patch",
		diffOf("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-B\n+b\n c\n"))
	assert.Contains(t, applied.Error.Details["suggestion"], "applied")
	assert.Equal(t, "a\nb\nc\n\tx y\n", f.read(t, "f"))
}

func TestApplyPatchAllOrNothing(t *testing.T) {
	f := newFixture(t)
	f.write(t, "one", "a\n")
	f.write(t, "two", "b\n")
	f.write(t, ".vscode/settings.json", "x\n")
	f.write(t, "dir/file", "x\n")
	before := f.tree(t)
	first := "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+A\n--- /dev/null\n+++ b/new/dir/file\n@@ -0,0 +1 @@\n+n\n"
	for kind, second := range map[string]string{
		"patch_hunk_fail":   "--- a/two\n+++ b/two\n@@ -1 +1 @@\n-x\n+X\n",
		"file_not_found":    "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+X\n",
		"path_escape":       "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-x\n+X\n",
		"patch_parse_error": "--- a/two\n+++ b/two\n@@ @@\n",
		"permission_denied": "--- a/.vscode/settings.json\n+++ b/.vscode/settings.json\n@@ -1 +1 @@\n-x\n+X\n",
		"symlink_blocked": "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n" +
			"@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
	} {
		f.fails(t, kind, "", "apply_patch", diffOf(first+second))
		assert.Equal(t, before, f.tree(t), kind)
		assert.NoDirExists(t, filepath.Join(f.root, "new"), kind)
	}
	for _, name := range []string{"two/below", "dir"} {
		f.fails(t, "patch_hunk_fail", "", "apply_patch",
			diffOf(first+"--- /dev/null\n+++ b/"+name+"\n@@ -0,0 +1 @@\n+n\n"))
		assert.Equal(t, before, f.tree(t), name)
	}
	assert.Equal(t, "success", f.call(t, "apply_patch", diffOf(first)).Status, "the first part alone applies")
}

func TestApplyPatchPathEscape(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.write(t, "f", "secret\n")
	before := f.tree(t)
	up := "../" + filepath.Base(out)
	edit := "\n@@ -1 +1 @@\n-secret\n+stolen\n"
	for name, diff := range map[string]string{
		"dots":                 "--- a/../secret\n+++ b/../secret" + edit,
		"dots further down":    "--- a/d/../../x\n+++ b/d/../../x" + edit,
		"the real file":        "--- a/" + up + "/secret\n+++ b/" + up + "/secret" + edit,
		"dots without prefix":  "--- ../x\n+++ ../x" + edit,
		"absolute":             "--- " + out + "/secret\n+++ " + out + "/secret" + edit,
		"etc":                  "--- /etc/passwd\n+++ /etc/passwd" + edit,
		"quoted":               "--- \"a/\\056\\056/x\"\n+++ \"b/\\056\\056/x\"" + edit,
		"quoted slash":         "--- \"a/..\\057x\"\n+++ \"b/..\\057x\"" + edit,
		"created":              "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
		"created, absolute":    "--- /dev/null\n+++ " + out + "/x\n@@ -0,0 +1 @@\n+x\n",
		"created by git":       "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
		"created empty":        "diff --git a/../x b/../x\nnew file mode 100644\nindex 0000000..e69de29\n",
		"deleted":              "--- a/" + up + "/secret\n+++ /dev/null\n@@ -1 +0,0 @@\n-secret\n",
		"renamed to":           "diff --git a/f b/../x\nsimilarity index 100%\nrename from f\nrename to ../x\n",
		"renamed to, absolute": "diff --git a/f b/x\nsimilarity index 100%\nrename from f\nrename to " + out + "/x\n",
		"renamed to, quoted":   "diff --git a/f \"b/\\056\\056/x\"\nsimilarity index 100%\nrename from f\nrename to \"\\056\\056/x\"\n",
		"renamed from": "diff --git a/../x b/y\nsimilarity index 100%\nrename from " + up +
			"/secret\nrename to y\n",
		"copied from": "diff --git a/../x b/y\nsimilarity index 100%\ncopy from " + out +
			"/secret\ncopy to y\n",
		"mode": "diff --git a/" + up + "/secret b/" + up +
			"/secret\nold mode 100644\nnew mode 100755\n",
		"index line":        "Index: ../x\n--- ../x\n+++ ../x" + edit,
		"device":            "--- /dev/zero\n+++ /dev/zero" + edit,
		"null that is none": "--- a/dev/null\n+++ b/../dev/null" + edit,
	} {
		t.Run(name, func(t *testing.T) {
			f.fails(t, "path_escape", "outside", "apply_patch", diffOf(diff))
			assert.Equal(t, before, f.tree(t))
			data, err := os.ReadFile(filepath.Join(out, "secret"))
			require.NoError(t, err)
			assert.Equal(t, "secret\n", string(data))
			entries, err := os.ReadDir(out)
			require.NoError(t, err)
			assert.Len(t, entries, 1)
		})
	}
}

func TestApplyPatchStripsSlashesAsPatchDoes(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.fails(t, "file_not_found", "does not exist", "apply_patch",
		diffOf("--- a/"+out+"/secret\n+++ b/"+out+"/secret\n@@ -1 +1 @@\n-secret\n+stolen\n"))
	f.write(t, out+"/secret", "secret\n")
	f.succeeds(t, "apply_patch", diffOf("--- a/"+out+"/secret\n+++ b/"+out+"/secret\n@@ -1 +1 @@\n-secret\n+changed\n"))
	data, err := os.ReadFile(filepath.Join(out, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "secret\n", string(data))
}

func TestApplyPatchSymlinkBlocked(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.write(t, "real", "secret\n")
	f.link(t, "real", "link")
	f.link(t, out, "dir")
	f.link(t, out+"/secret", "file")
	for _, name := range []string{"link", "dir/secret", "dir/new", "file"} {
		f.fails(t, "symlink_blocked", "symbolic link", "apply_patch",
			diffOf("--- a/"+name+"\n+++ b/"+name+"\n@@ -1 +1 @@\n-secret\n+stolen\n"))
	}
	f.fails(t, "symlink_blocked", "symbolic link", "apply_patch",
		diffOf("--- /dev/null\n+++ b/dir/new\n@@ -0,0 +1 @@\n+x\n"))
	f.fails(t, "symlink_blocked", "symbolic link", "apply_patch",
		diffOf("diff --git a/real b/dir/x\nsimilarity index 100%\nrename from real\nrename to dir/x\n"))
	assert.Equal(t, map[string]string{"real": "false:secret\n"}, f.tree(t))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestApplyPatchSymlinksInside(t *testing.T) {
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{})
	f.write(t, "real/f", "a\n")
	f.link(t, "real", "dir")
	f.link(t, f.outside(t), "out")
	f.succeeds(t, "apply_patch", diffOf("--- a/dir/f\n+++ b/dir/f\n@@ -1 +1 @@\n-a\n+b\n"))
	assert.Equal(t, "b\n", f.read(t, "real/f"))
	f.fails(t, "path_escape", "outside", "apply_patch",
		diffOf("--- a/out/secret\n+++ b/out/secret\n@@ -1 +1 @@\n-secret\n+b\n"))
}

func TestApplyPatchProtected(t *testing.T) {
	f := newFixture(t)
	f.write(t, ".git/config", "[core]\n")
	f.fails(t, "permission_denied", "protected", "apply_patch",
		diffOf("--- a/.git/config\n+++ b/.git/config\n@@ -1 +1,2 @@\n [core]\n+\tfsmonitor = evil\n"))
	f.fails(t, "permission_denied", "protected", "apply_patch",
		diffOf("--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+evil\n"))
	f.fails(t, "permission_denied", "protected", "apply_patch",
		diffOf("--- /dev/null\n+++ b/.GIT/hooks/pre-commit\n@@ -0,0 +1 @@\n+evil\n"))
	assert.Equal(t, "[core]\n", f.read(t, ".git/config"))
}

func TestApplyPatchArtifactsThroughPlantedLinks(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	f.link(t, out+"/secret", ".agent/runs/test/diffs/step_0001.patch")
	assert.Equal(t, "success", f.call(t, "apply_patch", diffOf(exampleDiff)).Status)
	data, err := os.ReadFile(filepath.Join(out, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "secret\n", string(data))
	assert.Equal(t, exampleDiff, f.read(t, ".agent/runs/test/diffs/step_0001.patch"))

	require.NoError(t, os.RemoveAll(filepath.Join(f.artifacts, "diffs")))
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	f.link(t, out, ".agent/runs/test/diffs")
	e := f.call(t, "apply_patch", diffOf(exampleDiff))
	assert.Equal(t, "success", e.Status, "the patch is applied all the same")
	assert.Empty(t, e.result.Artifacts)
	assert.NotEmpty(t, f.host.Logs())
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestApplyPatchPlan(t *testing.T) {
	f := newFixture(t)
	f.write(t, "src/main.py", "def add(a, b):\n    return a - b\n")
	before := f.tree(t)
	planner := f.tools["apply_patch"].(tool.Planner)
	plan, err := planner.Plan(t.Context(), f.newCall("apply_patch", tool.MustMarshal(diffOf(exampleDiff))))
	require.NoError(t, err)
	assert.Equal(t, []string{"src/main.py"}, plan.FilesAffected)
	assert.Equal(t, strings.Replace(exampleDiff, "@@ -1,4 +1,4 @@", "@@ -1,2 +1,2 @@", 1), plan.Preview)
	_, err = planner.Plan(t.Context(), f.newCall("apply_patch", json.RawMessage(`{"unified_diff":"nonsense"}`)))
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	assert.Equal(t, before, f.tree(t))
	assert.Empty(t, f.host.Events())
}

func TestApplyPatchKeepsModeAndOtherBytes(t *testing.T) {
	f := newFixture(t)
	f.write(t, "script", "\xef\xbb\xbf#!/bin/sh\ncaf\xe9\necho a\n")
	require.NoError(t, os.Chmod(filepath.Join(f.root, "script"), 0o751))
	f.succeeds(t, "apply_patch", diffOf("--- a/script\n+++ b/script\n@@ -3 +3 @@\n-echo a\n+echo $1 \\1 $& b\n"))
	assert.Equal(t, "\xef\xbb\xbf#!/bin/sh\ncaf\xe9\necho $1 \\1 $& b\n", f.read(t, "script"))
	info, err := os.Stat(filepath.Join(f.root, "script"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o751), info.Mode().Perm())
}

// Encoding, byte order mark and line endings of a file survive.
func TestApplyPatchEncodings(t *testing.T) {
	for name, c := range map[string]struct{ file, hunk, want string }{
		"UTF-16 LE":            {utf16le("one\ntwo\n"), "@@ -1,2 +1,3 @@\n one\n+né\n two\n", utf16le("one\nné\ntwo\n")},
		"UTF-16 LE, CR LF":     {utf16le("one\r\ntwo\r\n"), "@@ -1 +1 @@\n-one\n+1\n", utf16le("1\r\ntwo\r\n")},
		"UTF-16 BE":            {"\xfe\xff\x00a\x00\n", "@@ -1 +1 @@\n-a\n+b\n", "\xfe\xff\x00b\x00\n"},
		"Latin-1":              {"caf\xe9\nb\n", "@@ -1,2 +1,2 @@\n café\n-b\n+thé\n", "caf\xe9\nth\xe9\n"},
		"both":                 {"caf\xe9\né\nb\n", "@@ -3 +3 @@\n-b\n+é\n", "caf\xe9\né\né\n"},
		"a mark":               {"\ufeffa\nb\n", "@@ -1,2 +1,3 @@\n+x\n a\n b\n", "\ufeffx\na\nb\n"},
		"a mark that is shown": {"\ufeffa\nb\n", "@@ -1,2 +1,2 @@\n-\ufeffa\n+A\n b\n", "A\nb\n"},
		"a mark that is added": {"a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+\ufeffa\n b\n", "\ufeffa\nb\n"},
		"CR LF":                {"a\r\nb\r\n", "@@ -1,0 +2 @@\n+new\n", "a\r\nnew\r\nb\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "f", c.file)
			e := f.call(t, "apply_patch", diffOf("--- a/f\n+++ b/f\n"+c.hunk))
			require.Equal(t, "success", e.Status, "%+v", e.Error)
			assert.Equal(t, c.want, f.read(t, "f"))
		})
	}
}

func utf16le(ascii string) string {
	text := "\xff\xfe"
	for _, r := range ascii {
		text += string([]byte{byte(r), 0})
	}
	return text
}

func TestApplyPatchRefusesEncodings(t *testing.T) {
	for name, c := range map[string]struct{ file, hunk, kind, message string }{
		"what Latin-1 lacks": {"caf\xe9\nb\n", "@@ -2 +2 @@\n-b\n+€\n", "patch_hunk_fail",
			"f: the file is in an 8-bit encoding such as Latin-1, which lacks characters"},
		"binary": {"a\x00\nb\n", "@@ -2 +2 @@\n-b\n+c\n", "binary_file", "f: the file is binary"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "f", c.file)
			f.fails(t, c.kind, c.message, "apply_patch", diffOf("--- a/f\n+++ b/f\n"+c.hunk))
			assert.Equal(t, c.file, f.read(t, "f"))
		})
	}
}

// A file that only gets another name or mode, or goes, may be of any kind.
func TestApplyPatchMovesOtherEncodings(t *testing.T) {
	f := newFixture(t)
	binary, wide := "a\x00\n", utf16le("a\n")
	for name, data := range map[string]string{"binary": binary, "wide": wide, "x": wide, "y": "plain\n", "mark": "\ufeffa\n"} {
		f.write(t, name, data)
	}
	move := func(from, to string) string {
		return "diff --git a/" + from + " b/" + to + "\nsimilarity index 100%\nrename from " + from + "\nrename to " + to + "\n"
	}
	e := f.call(t, "apply_patch", diffOf(move("binary", "b2")+move("wide", "w2")+move("x", "y")+move("y", "x")+
		"diff --git a/mark b/mark\ndeleted file mode 100644\n--- a/mark\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"))
	require.Equal(t, "success", e.Status, "%+v", e.Error)
	assert.Equal(t, map[string]string{"b2": "false:" + binary, "w2": "false:" + wide, "y": "false:" + wide,
		"x": "false:plain\n"}, f.tree(t))
}
