package seal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/seal"
)

func open(t *testing.T, dir string) *seal.Key {
	t.Helper()
	k, err := seal.Open(dir)
	require.NoError(t, err)
	return k
}

func TestASealHoldsForItsKeyPurposeAndData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "toolhost")
	mine := open(t, dir)
	sealed, err := mine.Seal("pages", []byte("data"))
	require.NoError(t, err)

	assert.True(t, mine.Sealed("pages", []byte("data"), sealed))
	assert.True(t, open(t, dir).Sealed("pages", []byte("data"), sealed), "another process")
	for name, ok := range map[string]bool{
		"other data":      mine.Sealed("pages", []byte("Data"), sealed),
		"other purpose":   mine.Sealed("page", []byte("sdata"), sealed),
		"no seal":         mine.Sealed("pages", []byte("data"), ""),
		"part of a seal":  mine.Sealed("pages", []byte("data"), sealed[:32]),
		"no hex":          mine.Sealed("pages", []byte("data"), "x"+sealed[1:]),
		"no key was made": open(t, t.TempDir()).Sealed("pages", []byte("data"), sealed),
	} {
		assert.False(t, ok, name)
	}
	other := open(t, t.TempDir())
	_, err = other.Seal("pages", nil)
	require.NoError(t, err)
	assert.False(t, other.Sealed("pages", []byte("data"), sealed), "another user's key")
}

func TestTheKeyIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config", "toolhost")
	seals := make([]string, 20)
	var making sync.WaitGroup
	for i := range seals {
		making.Go(func() { seals[i], _ = open(t, dir).Seal("p", nil) })
	}
	making.Wait()
	for _, s := range seals {
		assert.NotEmpty(t, s)
		assert.Equal(t, seals[0], s)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	info, err := left[0].Info()
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())
}

func TestNoKeyWhereToolsCouldReadIt(t *testing.T) {
	tree := t.TempDir()
	for _, dir := range []string{tree, filepath.Join(tree, ".config", "toolhost")} {
		_, err := seal.Open(dir, t.TempDir(), tree)
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), dir)
	}
	_, err := seal.Open(tree+"-beside", tree)
	assert.NoError(t, err)
}

func TestADamagedKeyIsTold(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seal.key"), []byte("short"), 0o600))
	_, err := open(t, dir).Seal("p", nil)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.NotEmpty(t, tool.AsError(err).Suggestion)
	assert.False(t, open(t, dir).Sealed("p", nil, ""))
}
