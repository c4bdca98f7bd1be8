//go:build unix

package edittest

import (
	"os"
	"syscall"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

// FIFO requires that the tool refuses a named pipe instead of waiting for it.
// Edit gives the parameters that edit the file of a path.
func (b *Bench) FIFO(edit func(path string) map[string]any) {
	b.t.Helper()
	require.NoError(b.t, syscall.Mkfifo(b.Path("pipe"), 0o644))
	done := make(chan *tool.Error, 1)
	go func() {
		_, err := b.Call(edit("pipe"))
		done <- err
	}()
	select {
	case err := <-done:
		require.NotNil(b.t, err)
		assert.Equal(b.t, tool.Unsupported, err.Code)
	case <-time.After(time.Minute):
		b.t.Fatal("the call hangs")
	}
}

// ReadOnlyFile requires that the tool does not change a file that its owner has
// made read-only. Edit gives the parameters that replace a by b in the file of
// a path.
func (b *Bench) ReadOnlyFile(edit func(path string) map[string]any) {
	b.t.Helper()
	b.Write("f", "a")
	require.NoError(b.t, os.Chmod(b.Path("f"), 0o444))
	_, err := b.Call(edit("f"))
	require.NotNil(b.t, err)
	assert.Equal(b.t, tool.PermissionDenied, err.Code)
	assert.Equal(b.t, "EDIT_FILE_WRITE_ERROR", err.Details["contract_code"])
}
