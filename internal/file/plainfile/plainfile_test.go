package plainfile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// atOnce fails the test if do blocks, as on a pipe.
func atOnce(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		require.Fail(t, "it waits")
		return nil
	}
}

func TestOpening(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "dir", "below"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o600))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for link, target := range map[string]string{"to-dir": "dir", "to-pipe": "pipe", "to-file": "file", "out": "/etc",
		"nowhere": "none"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	root, err := plainfile.Root(dir)
	require.NoError(t, err)
	defer root.Close()
	tests := map[string]struct{ in, enter, open, read bool }{
		"dir":     {in: true, enter: true},
		"to-dir":  {in: true},
		"file":    {open: true, read: true},
		"to-file": {open: true, read: true},
		"pipe":    {}, "to-pipe": {}, "out": {}, "nowhere": {}, "none": {},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			closed := func(c interface{ Close() error }, err error) error {
				if err == nil {
					c.Close()
				}
				return err
			}
			check := func(what string, ok bool, do func() error) {
				if err := atOnce(t, do); ok {
					assert.NoError(t, err, what)
				} else {
					assert.Error(t, err, what)
				}
			}
			check("In", want.in, func() error { return closed(plainfile.In(root, name)) })
			check("Enter", want.enter, func() error { return closed(plainfile.Enter(root, name)) })
			check("Descend", want.enter, func() error { return closed(plainfile.Descend(root, name)) })
			check("OpenIn", want.open, func() error { return closed(plainfile.OpenIn(root, name, os.O_RDONLY, 0)) })
			check("Read", want.read, func() error { _, err := plainfile.Read(filepath.Join(dir, name), 5); return err })
			check("Root", want.in || name == "out",
				func() error { return closed(plainfile.Root(filepath.Join(dir, name))) })
		})
	}
	_, err = plainfile.Read(filepath.Join(dir, "file"), 4)
	assert.ErrorContains(t, err, "too large")
	below, err := plainfile.Descend(root, "dir/below")
	require.NoError(t, err)
	assert.NoError(t, below.Close())
}
