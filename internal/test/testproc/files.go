package testproc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Replace gives a file, which keeps its mode, another content at once: who watches it
// never sees half of it. A file that is not there is made.
func Replace(t testing.TB, path, content string) {
	t.Helper()
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	require.NoError(t, os.WriteFile(path+".replaces", []byte(content), mode))
	require.NoError(t, os.Chmod(path+".replaces", mode))
	require.NoError(t, os.Rename(path+".replaces", path))
}

// Files calls visit with each regular file below a directory that programs work in:
// what has gone meanwhile is left out.
func Files(t testing.TB, dir string, visit func(path string, content []byte)) {
	t.Helper()
	require.DirExists(t, dir)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var content []byte
			if content, err = os.ReadFile(path); err == nil {
				visit(path, content)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
}

// Environment is one for a program that has its user's files in home. It takes over what
// finds programs, and nothing else that the caller of the tests has set.
func Environment(home string, more ...string) []string {
	return append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"TOOLHOST_MUTATION=" + os.Getenv("TOOLHOST_MUTATION"), // see tools/mutate
	}, more...)
}
