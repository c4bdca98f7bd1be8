package hmackey_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/hmackey"
)

func open(t *testing.T, dir string) *hmackey.Key {
	t.Helper()
	k, err := hmackey.Open(dir)
	require.NoError(t, err)
	return k
}

func TestAMACHoldsForItsKeyPurposeAndData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "toolhost")
	mine := open(t, dir)
	mac, err := mine.Sign("pages", []byte("data"))
	require.NoError(t, err)

	assert.True(t, mine.Verify("pages", []byte("data"), mac))
	assert.True(t, open(t, dir).Verify("pages", []byte("data"), mac), "another process")
	for name, ok := range map[string]bool{
		"other data":      mine.Verify("pages", []byte("Data"), mac),
		"other purpose":   mine.Verify("page", []byte("sdata"), mac),
		"no HMAC":         mine.Verify("pages", []byte("data"), ""),
		"part of an HMAC": mine.Verify("pages", []byte("data"), mac[:32]),
		"no hex":          mine.Verify("pages", []byte("data"), "x"+mac[1:]),
		"no key was made": open(t, t.TempDir()).Verify("pages", []byte("data"), mac),
	} {
		assert.False(t, ok, name)
	}
	other := open(t, t.TempDir())
	_, err = other.Sign("pages", nil)
	require.NoError(t, err)
	assert.False(t, other.Verify("pages", []byte("data"), mac), "another user's key")
}

func TestTheKeyIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config", "toolhost")
	macs := make([]string, 20)
	var making sync.WaitGroup
	for i := range macs {
		making.Go(func() { macs[i], _ = open(t, dir).Sign("p", nil) })
	}
	making.Wait()
	for _, s := range macs {
		assert.NotEmpty(t, s)
		assert.Equal(t, macs[0], s)
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
		_, err := hmackey.Open(dir, t.TempDir(), tree)
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), dir)
	}
	_, err := hmackey.Open(tree+"-beside", tree)
	assert.NoError(t, err)
}

func TestADamagedKeyIsTold(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seal.key"), []byte("short"), 0o600))
	_, err := open(t, dir).Sign("p", nil)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.NotEmpty(t, tool.AsError(err).Suggestion)
	assert.False(t, open(t, dir).Verify("p", nil, ""))
}
