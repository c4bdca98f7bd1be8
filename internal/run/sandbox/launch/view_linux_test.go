package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// enter runs a script in a view, which alone determines what it may write.
func enter(t *testing.T, script string, view ...Change) (output string, err error) {
	t.Helper()
	cmd := &exec.Cmd{}
	p := &Plan{Namespaces: true, View: view, Write: []string{"/"}, Path: "/bin/sh", Args: []string{"sh", "-c", script},
		Env:    os.Environ(),
		Filter: Filter{Inet: true, Unix: true, Route: true, Attributes: true, Others: true, SysV: true}}
	require.NoError(t, p.Apply(cmd, os.Environ()))
	defer cmd.ExtraFiles[0].Close()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func needViews(t *testing.T) {
	t.Helper()
	testneed.NotShort(t, "needs user namespaces")
	if os.Getenv(emulator) != "" {
		testneed.Missing(t, "an emulator makes no namespaces")
	}
	if out, err := enter(t, "true"); err != nil {
		testneed.Missing(t, "no namespaces here: "+out)
	}
}

// A hidden place may be replaced or removed by its owner while a command starts.
func TestWhatIsHiddenChanges(t *testing.T) {
	needViews(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	var view []Change
	for i := range 100 {
		view = append(view, Change{Void, filepath.Join(base, strconv.Itoa(i))})
	}
	over := make(chan struct{})
	var changing sync.WaitGroup
	defer changing.Wait()
	defer close(over)
	fresh := filepath.Join(base, "fresh")
	changing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			default:
			}
			_ = os.WriteFile(fresh, []byte("secret"), 0o600)
			_ = os.Rename(fresh, view[n*7%len(view)].Path)
			_ = os.Remove(view[n*3%len(view)].Path)
		}
	})
	for range 100 {
		out, err := enter(t, "echo started", view...)
		require.NoError(t, err, out)
		require.Equal(t, "started\n", out)
	}
}

// A view shows the named path: a link on the way chooses neither what becomes visible nor where.
func TestTheViewFollowsNoLinks(t *testing.T) {
	needViews(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	require.NoError(t, os.MkdirAll(filepath.Join(real, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(real, "file"), nil, 0o644))
	require.NoError(t, os.Symlink("real", link))
	for _, kind := range []Kind{Writable, ReadOnly, Void} {
		for _, name := range []string{"", "dir", "file"} {
			out, err := enter(t, "echo started", Change{kind, filepath.Join(link, name)})
			if assert.Error(t, err, "%c %s", kind, name) {
				assert.Contains(t, out, "cannot be confined")
			}
		}
	}
	out, err := enter(t, "echo owned >"+filepath.Join(real, "dir", "x"), Change{Writable, filepath.Join(real, "dir")})
	require.NoError(t, err, out)
	assert.FileExists(t, filepath.Join(real, "dir", "x"), "control")
}
