package realpath_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func tree(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"ws/sub", "out/deep"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o755))
	}
	for link, target := range map[string]string{
		"ws/out": "../out", "ws/deep": "../out/deep", "ws/absolute": filepath.Join(base, "out"), "ws/inside": "sub",
		"ws/dangling": "../out/new", "ws/loop": "loop", "ws/chain": "dangling", "ws/up": "sub/../..",
	} {
		testneed.Symlink(t, filepath.FromSlash(target), filepath.Join(base, filepath.FromSlash(link)))
	}
	return base
}

func TestOf(t *testing.T) {
	base := tree(t)
	for path, want := range map[string]string{
		"ws":               "ws",
		"ws/sub":           "ws/sub",
		"ws/out/deep":      "out/deep",
		"ws/deep/..":       "ws",
		"ws/absolute":      "out",
		"ws/inside":        "ws/sub",
		"ws/dangling":      "out/new",
		"ws/chain/further": "out/new/further",
		"ws/missing/a/b":   "ws/missing/a/b",
		"ws/out/missing":   "out/missing",
		"ws/up/gone":       "gone",
	} {
		got, err := realpath.Of(filepath.Join(base, filepath.FromSlash(path)))
		require.NoError(t, err, path)
		assert.Equal(t, filepath.Join(base, filepath.FromSlash(want)), got, path)
	}
	_, err := realpath.Of(filepath.Join(base, "ws", "loop"))
	assert.Error(t, err)
}

func TestWay(t *testing.T) {
	base := tree(t)
	for path, want := range map[string][]string{ // the last is the end
		"sub/x":         {"sub/x"},
		"missing":       {"missing"},
		"inside/x":      {"inside", "sub/x"},
		"chain/further": {"chain", "dangling", "../out/new/further"},
		"absolute":      {"absolute", "../out"},
	} {
		links, end := realpath.Way(filepath.Join(base, "ws"), path)
		for i, name := range want {
			want[i] = filepath.Join(base, "ws", name)
		}
		assert.Equal(t, want, append(links, end), path)
	}
	_, end := realpath.Way(filepath.Join(base, "ws"), "loop")
	assert.Empty(t, end)
}

func TestMemoLeadsWhereTheFileSystemDoes(t *testing.T) {
	base := tree(t)
	memo := make(realpath.Memo)
	for range 2 {
		for _, path := range []string{"ws", "ws/sub", "ws/out", "ws/out/deep", "ws/deep", "ws/absolute/deep", "ws/inside", "ws/up", "out/deep",
			"ws/dangling", "ws/chain", "ws/loop", "ws/missing", "ws/missing/a", "ws/up/out", "."} {
			path = filepath.Join(base, filepath.FromSlash(path))
			want, missing := filepath.EvalSymlinks(path)
			got, err := memo.Of(path)
			assert.Equal(t, want, got, path)
			assert.Equal(t, missing == nil, err == nil, path)
		}
	}
	got, err := memo.Of("/")
	require.NoError(t, err)
	assert.Equal(t, "/", got)
}

func TestWithin(t *testing.T) {
	base := tree(t)
	ws := filepath.Join(base, "ws")
	for path, want := range map[string]bool{
		"": true, "sub": true, "inside": true, "missing": true,
		"out": false, "deep": false, "dangling": false, "chain": false, "up": false, "loop": false, "..": false,
		"../ws-evil": false,
	} {
		assert.Equal(t, want, realpath.Within(filepath.Join(ws, path), ws), path)
	}
	assert.True(t, realpath.Within(filepath.Join(base, "out", "x"), filepath.Join(ws, "absolute")),
		"the directory may be a link too")
}
