package testproc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Replace replaces a file's content atomically, and keeps its mode: a watcher never
// sees half of it. A missing file is created.
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

// Files calls visit with each regular file below a directory in which programs
// work, without those removed meanwhile.
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

// Environment returns one for a program with its user's files in home. It inherits only
// what finds programs.
func Environment(home string, more ...string) []string {
	return append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"TOOLHOST_MUTATION=" + os.Getenv("TOOLHOST_MUTATION"), // see tools/mutate
	}, more...)
}
