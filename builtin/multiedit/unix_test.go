//go:build unix

package multiedit_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func TestFIFODoesNotHang(t *testing.T) {
	b := newBench(t)
	require.NoError(t, syscall.Mkfifo(b.path("pipe"), 0o644))
	done := make(chan *tool.Error, 1)
	go func() {
		_, err := b.call(edits("pipe", "a", "b"))
		done <- err
	}()
	select {
	case err := <-done:
		require.NotNil(t, err)
		assert.Equal(t, tool.Unsupported, err.Code)
	case <-time.After(10 * time.Second):
		t.Fatal("the call hangs")
	}
}

func TestReadOnlyFile(t *testing.T) {
	b := newBench(t)
	b.write("f", "a")
	require.NoError(t, os.Chmod(b.path("f"), 0o444))
	_, err := b.call(edits("f", "a", "b"))
	require.NotNil(t, err)
	assert.Equal(t, tool.PermissionDenied, err.Code)
	assert.Equal(t, "EDIT_FILE_WRITE_ERROR", err.Details["contract_code"])
}
