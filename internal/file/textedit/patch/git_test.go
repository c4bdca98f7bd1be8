package patch_test

import (
	"fmt"
	"io/fs"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/textedit/patch"
	"github.com/toolhost/toolhost/internal/test/edithistory"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func reader(tree map[string]edithistory.File) patch.ReadFunc {
	return func(path string) ([]byte, fs.FileMode, error) {
		f, ok := tree[path]
		if !ok {
			return nil, 0, fs.ErrNotExist
		}
		return f.Data, modeOf(f.Mode), nil
	}
}

func modeOf(mode string) fs.FileMode {
	if mode == "100755" {
		return 0o755
	}
	return 0o644
}

func after(t testing.TB, tree map[string]edithistory.File, changes []patch.FileChange) map[string]edithistory.File {
	t.Helper()
	out := maps.Clone(tree)
	for _, c := range changes {
		switch c.Kind {
		case patch.Delete:
			delete(out, c.Path)
		case patch.Rename:
			delete(out, c.From)
		}
	}
	for _, c := range changes {
		mode := "100644"
		switch c.Kind {
		case patch.Delete:
			continue
		case patch.Modify:
			mode = tree[c.Path].Mode
		case patch.Rename:
			mode = tree[c.From].Mode
		}
		if c.Mode != 0 {
			mode = fmt.Sprintf("100%o", c.Mode)
		}
		out[c.Path] = edithistory.File{Data: append([]byte{}, c.Data...), Mode: mode}
	}
	return out
}

func requireTree(t testing.TB, want, got map[string]edithistory.File, note string) {
	t.Helper()
	require.Len(t, got, len(want), note)
	for path, w := range want {
		g, ok := got[path]
		require.True(t, ok, "%s: %q is missing", note, path)
		require.Equal(t, string(w.Data), string(g.Data), "%s: %q", note, path)
		require.Equal(t, w.Mode, g.Mode, "%s: %q", note, path)
	}
}

// TestGitHistories applies git's diff of each commit and compares with git's
// tree after: renames, copies, modes, new, deleted and empty files, unusual
// names, endings, and bytes that are not UTF-8.
func TestGitHistories(t *testing.T) {
	testneed.NotShort(t, "compares with another program for seconds")
	kinds := map[patch.Kind]int{}
	for seed := range uint64(4) {
		for i, c := range edithistory.Generate(t,
			edithistory.Options{Seed: seed, Commits: 80, Tree: true, Bytes: true}) {
			if len(c.Patch) == 0 {
				continue
			}
			note := fmt.Sprintf("seed %d, commit %d", seed, i)
			set, err := patch.Parse(c.Patch)
			require.NoError(t, err, note)
			changes, err := patch.Apply(set, reader(c.Before))
			require.NoError(t, err, "%s\n%s", note, c.Patch)
			requireTree(t, c.After, after(t, c.Before, changes), note+"\n"+string(c.Patch))
			for _, change := range changes {
				kinds[change.Kind]++
				require.Empty(t, change.Placed, "git's own hunks fit where they say")
			}
		}
	}
	for _, kind := range []patch.Kind{patch.Create, patch.Delete, patch.Rename, patch.Modify, patch.Copy} {
		require.NotZero(t, kinds[kind], kind)
	}
	t.Log(kinds)
}
