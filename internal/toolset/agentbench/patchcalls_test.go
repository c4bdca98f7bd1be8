package agentbench_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

// Writes to one file are serialized, so that concurrent patches of it, from one
// process or several, are neither lost nor refused.
func TestApplyPatchAtTheSameTime(t *testing.T) {
	const patches = 24
	f := newFixture(t)
	var text strings.Builder
	for i := range patches {
		fmt.Fprintf(&text, "a\nline %d\nb\n", i)
	}
	f.write(t, "f", text.String())
	other := f.another(t) // has its own lock, as another process has
	var running sync.WaitGroup
	for i := range patches {
		tl := []*fixture{f, other}[i%2].tools["apply_patch"]
		diff := fmt.Sprintf("--- a/f\n+++ b/f\n@@ -%d,3 +%d,3 @@\n a\n-line %d\n+LINE %d\n b\n", 3*i+1, 3*i+1, i, i)
		call := f.newCall("apply_patch", tool.MustMarshal(map[string]any{"unified_diff": diff}))
		running.Go(func() {
			result, err := tl.Call(t.Context(), call)
			if assert.NoError(t, err) {
				assert.Nil(t, result.Failed)
			}
		})
	}
	running.Wait()
	assert.Equal(t, strings.ReplaceAll(text.String(), "line", "LINE"), f.read(t, "f"))
}

func TestApplyPatchChangedFilesAreRelative(t *testing.T) {
	for name, path := range map[string]string{"absolute": "ROOT/src/f", "with a dot": "./src/f",
		"with two dots": "a/src/../src/f"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "src/f", "a\n")
			path = strings.ReplaceAll(path, "ROOT", f.root)
			e := f.call(t, "apply_patch", diffOf("--- "+path+"\n+++ "+path+"\n@@ -1 +1 @@\n-a\n+b\n"))
			require.Equal(t, "success", e.Status, "%+v", e.Error)
			assert.Equal(t, []any{"src/f"}, e.Data["changed_files"])
			assert.Equal(t, []string{"src/f"}, e.result.FilesAffected)
			assert.Equal(t, "b\n", f.read(t, "src/f"))
		})
	}
}

// An error that shows the same lines as expected and found, or makes the reader
// redo a patch that is already applied, is useless.
func TestApplyPatchSaysWhatIsWrongWithAHunk(t *testing.T) {
	const file = "one\ntwo\nthree\nfour\nfive\n"
	for name, c := range map[string]struct{ hunks, message, suggestion string }{
		"applied already": {"@@ -1,4 +1,4 @@\n one\n-2\n+two\n", "does not fit", "seems to be applied"},
		"applied already, further down": {"@@ -1,2 +1,2 @@\n three\n-4\n+four\n five\n", "does not fit",
			"seems to be applied"},
		"another file": {"@@ -1,2 +1,2 @@\n one\n-2\n+zwei\n", "does not fit", "Read the file again"},
		"out of order": {"@@ -4 +4 @@\n-four\n+4\n@@ -2 +2 @@\n-two\n+2\n",
			"hunk 2 of f (line 6 of the patch) is out of order: its lines are at line 2", "order of its lines"},
		"the same lines twice": {"@@ -2 +2 @@\n-two\n+2\n@@ -2 +2 @@\n-two\n+zwei\n", "out of order",
			"one hunk only"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "f", file)
			e := f.fails(t, "patch_hunk_fail", c.message, "apply_patch", diffOf("--- a/f\n+++ b/f\n"+c.hunks))
			assert.Contains(t, e.Error.Details["suggestion"], c.suggestion)
			assert.Equal(t, file, f.read(t, "f"))
		})
	}
}
