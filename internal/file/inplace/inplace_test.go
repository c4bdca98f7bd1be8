package inplace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/inplace"
)

// TestWrite writes shorter and longer contents, also with a failing last step.
func TestWrite(t *testing.T) {
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		old, new string
		mode     fs.FileMode
		sync     error
	}{
		"same size":          {"old", "new", 0o640, nil},
		"longer":             {"old", "a longer one", 0o640, nil},
		"shorter":            {"a longer one", "new", 0o640, nil},
		"emptied":            {"old", "", 0o640, nil},
		"filled":             {"", "new", 0o640, nil},
		"the mode alone":     {"old", "old", 0o600, nil},
		"another mode":       {"old", "new", 0o604, nil},
		"failed":             {"old", "new", 0o640, full},
		"longer, failed":     {"old", "a longer one", 0o600, full},
		"shorter, failed":    {"a longer one", "new", 0o604, full},
		"from empty, failed": {"", "new", 0o640, full},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, []byte(c.old), 0o600))
			require.NoError(t, os.Chmod(path, 0o640))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			defer f.Close()
			err = inplace.Write(f, []byte(c.old), []byte(c.new), c.mode, func(*os.File) error { return c.sync })
			want, mode := c.new, c.mode
			if c.sync != nil {
				want, mode = c.old, 0o640
			}
			require.Equal(t, c.sync, err)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, want, string(data))
			info, err := f.Stat()
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode().Perm())
		})
	}
}

// The old content cannot be restored either.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	gone := errors.New("the disk is gone")
	err = inplace.Write(f, []byte("old"), []byte("new"), 0o600, func(f *os.File) error {
		return errors.Join(f.Close(), gone)
	})
	var damaged *inplace.Damaged
	require.ErrorAs(t, err, &damaged)
	assert.ErrorIs(t, err, gone)
	assert.ErrorIs(t, damaged.Back, fs.ErrClosed)
}

func TestReasons(t *testing.T) {
	denied := &fs.PathError{Op: "openat", Path: ".toolhost-tmp-1", Err: syscall.EACCES}
	for name, c := range map[string]struct {
		err  error
		want string // "" if it is the error itself
	}{
		"beside, denied": {inplace.NotBeside(denied), "its directory is not writable: permission denied"},
		"beside, read-only": {inplace.NotBeside(syscall.EROFS),
			"its directory is on a read-only file system: read-only file system"},
		"beside, full": {inplace.NotBeside(syscall.ENOSPC), ""},
		"over, busy":   {inplace.NotOver(syscall.EBUSY), "it is a mount: device or resource busy"},
		"over, sticky": {inplace.NotOver(syscall.EPERM),
			"its directory does not let it be replaced: operation not permitted"},
		"over, full": {inplace.NotOver(syscall.ENOSPC), ""},
		"once":       {inplace.NotOver(inplace.NotBeside(denied)), "its directory is not writable: permission denied"},
	} {
		var fixed *inplace.Fixed
		if assert.Equal(t, c.want != "", errors.As(c.err, &fixed), name) && c.want != "" {
			assert.Equal(t, c.want, c.err.Error(), name)
		}
	}
	assert.NoError(t, inplace.NotBeside(nil))
	assert.NoError(t, inplace.NotOver(nil))
}
