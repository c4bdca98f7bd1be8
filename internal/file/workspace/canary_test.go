package workspace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// secret is in every file outside the workspace, and nowhere inside.
const secret = "canary-5d1f"

// arena is a workspace directory beside a tree that must not be accessed.
type arena struct {
	base, ws, outside string
	before            string
}

// newArena makes base/ws and base/outside. The latter has the same names as the directory ws/d.
func newArena(t testing.TB) *arena {
	t.Helper()
	base := realTemp(t)
	a := &arena{base: base, ws: filepath.Join(base, "ws"), outside: filepath.Join(base, "outside")}
	plant(t, a.ws, "in.txt", "inside", "d/f.txt", "inside", "d/sub/g.txt", "inside", ".git/config", "protected")
	plant(t, a.outside, "f.txt", secret, "sub/g.txt", secret, "only.txt", secret)
	plant(t, base, "wsx/f.txt", secret) // a sibling with the same prefix
	require.NoError(t, os.MkdirAll(filepath.Join(a.outside, "empty"), 0o755))
	a.before = a.snapshot(t)
	return a
}

// snapshot describes everything outside the workspace: names, modes, times, contents.
func (a *arena) snapshot(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(a.base, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if path == a.base {
			return nil // its entries are compared by name
		}
		if path == a.ws {
			return filepath.SkipDir
		}
		info, err := d.Info()
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %v %v %d", path, info.Mode(), info.ModTime().UnixNano(), info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			fmt.Fprintf(&b, " %x", data)
		}
		b.WriteString("\n")
		return nil
	}))
	return b.String()
}

func (a *arena) intact(t testing.TB) bool { return a.snapshot(t) == a.before }

func (a *arena) open(t testing.TB, opts workspace.Options) *workspace.Workspace {
	t.Helper()
	return open(t, a.ws, opts)
}

func (a *arena) link(t testing.TB, target, name string) {
	t.Helper()
	path := filepath.Join(a.ws, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Symlink(target, path))
}

// naive resolves and compares names, and then uses them, as many programs do.
// It shows that the attacks work without the defence.
type naive struct {
	root    string
	between func() // runs between the check and the use; may be nil
}

func (n naive) check(path string) (string, error) {
	abs := filepath.Join(n.root, path)
	real, err := filepath.EvalSymlinks(abs)
	if os.IsNotExist(err) {
		dir, dirErr := filepath.EvalSymlinks(filepath.Dir(abs))
		real, err = filepath.Join(dir, filepath.Base(abs)), dirErr
	}
	if err != nil {
		return "", err
	}
	if real != n.root && !strings.HasPrefix(real, n.root) { // a common mistake
		return "", fs.ErrPermission
	}
	if n.between != nil {
		n.between()
	}
	return abs, nil
}

func (n naive) read(path string) ([]byte, error) {
	abs, err := n.check(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(abs)
}

func (n naive) write(path string, data []byte) error {
	abs, err := n.check(path)
	if err != nil {
		return err
	}
	return os.WriteFile(abs, data, 0o644)
}
