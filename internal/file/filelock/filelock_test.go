package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	for name, tt := range map[string]struct {
		held, wanted bool // exclusively
		err          error
	}{
		"alone after alone":   {true, true, filelock.ErrLocked},
		"shared after alone":  {true, false, filelock.ErrLocked},
		"alone after shared":  {false, true, filelock.ErrLocked},
		"shared after shared": {false, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := open(), open()
			require.NoError(t, filelock.Wait(first, tt.held))
			assert.ErrorIs(t, filelock.Try(second, tt.wanted), tt.err)
			filelock.Unlock(second)
			filelock.Unlock(first)
			assert.NoError(t, filelock.Try(second, true), "after Unlock")
			require.NoError(t, second.Close())
			assert.NoError(t, filelock.Try(first, true), "after Close")
			filelock.Unlock(first)
		})
	}
}

func TestAwait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := os.Create(path)
	require.NoError(t, err)
	defer first.Close()
	second, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer second.Close()
	require.NoError(t, filelock.Try(first, false))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, filelock.Await(ended, second, false), "it can be had at once")
	filelock.Unlock(second)
	require.ErrorIs(t, filelock.Await(ended, second, true), context.Canceled)
	got := make(chan error)
	go func() { got <- filelock.Await(t.Context(), second, true) }()
	filelock.Unlock(first)
	require.NoError(t, testproc.Receive(t, got))
	assert.ErrorIs(t, filelock.Try(first, true), filelock.ErrLocked)
}
