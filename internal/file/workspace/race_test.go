package workspace_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// raceTime returns the duration of each race: 0.3 s, 4 s with make long, or TOOLHOST_RACE_SECONDS.
func raceTime(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("TOOLHOST_RACE_SECONDS")
	if s == "" && testneed.Long() {
		s = "4"
	}
	if s == "" {
		return 300 * time.Millisecond
	}
	seconds, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return time.Duration(seconds * float64(time.Second))
}

// swap makes name alternately a symlink to target and what it was before, until stop is closed.
func swap(name, target string, stop <-chan struct{}) {
	link, real := name+".link", name+".real"
	_ = os.Symlink(target, link)
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Rename(name, real)
		_ = os.Rename(link, name)
		_ = os.Rename(name, link)
		_ = os.Rename(real, name)
		// A file written meanwhile may be in the way.
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			_ = os.RemoveAll(link)
			_ = os.Symlink(target, link)
		}
		if _, err := os.Lstat(name); err != nil {
			_ = os.RemoveAll(name)
			_ = os.MkdirAll(name, 0o755)
			_ = os.WriteFile(filepath.Join(name, "f.txt"), []byte("inside"), 0o644)
		}
	}
}

// swapFile is swap for a file.
func swapFile(name, target string, stop <-chan struct{}) {
	link, file := name+".link", name+".file"
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Symlink(target, link)
		_ = os.Rename(link, name)
		_ = os.WriteFile(file, []byte("inside"), 0o644)
		_ = os.Rename(file, name)
	}
}

// raced are the operations on a path below the swapped directory, or the
// swapped file itself; they return what they read.
func raced() map[string]func(w *workspace.Workspace, path string) []byte {
	ctx := context.Background()
	data := []byte("attack")
	return map[string]func(w *workspace.Workspace, path string) []byte{
		"read": func(w *workspace.Workspace, p string) []byte { got, _, _ := w.ReadFile(p, 0); return got },
		"write": func(w *workspace.Workspace, p string) []byte {
			_, _ = w.WriteFile(p, data, workspace.WriteOptions{})
			return nil
		},
		"create": func(w *workspace.Workspace, p string) []byte {
			_, _ = w.WriteFile(p+".new", data, workspace.WriteOptions{Exclusive: true, Parents: true})
			_ = w.Remove(p + ".new")
			return nil
		},
		"append": func(w *workspace.Workspace, p string) []byte {
			_, _ = w.Append(p, data, workspace.WriteOptions{})
			return nil
		},
		"update": func(w *workspace.Workspace, p string) (got []byte) {
			_ = w.Update(p, func(old []byte, _ os.FileInfo) ([]byte, error) { got = old; return data, nil })
			return got
		},
		"remove": func(w *workspace.Workspace, p string) []byte { _ = w.Remove(p); return nil },
		"rename from": func(w *workspace.Workspace, p string) []byte {
			if w.Rename(p, "moved", true) != nil {
				return nil
			}
			got, _, _ := w.ReadFile("moved", 0)
			_ = w.Remove("moved")
			return got
		},
		"rename to": func(w *workspace.Workspace, p string) []byte {
			_, _ = w.WriteFile("mine", data, workspace.WriteOptions{})
			_ = w.Rename("mine", p, true)
			return nil
		},
		"mkdir": func(w *workspace.Workspace, p string) []byte {
			_, _ = w.Mkdir(p+".d/x", true)
			_ = w.RemoveDir(p + ".d/x")
			_ = w.RemoveDir(p + ".d")
			return nil
		},
		"rmdir": func(w *workspace.Workspace,
			p string) []byte {
			_ = w.RemoveDir(filepath.Dir(p) + "/empty")
			return nil
		},
		"open": func(w *workspace.Workspace, p string) []byte {
			f, err := w.Open(p)
			if err != nil {
				return nil
			}
			defer f.Close()
			got, _ := io.ReadAll(f)
			return got
		},
		"readlink": func(w *workspace.Workspace, p string) []byte { _, _ = w.Readlink(p); return nil },
		"symlink": func(w *workspace.Workspace, p string) []byte {
			_ = w.Symlink("f.txt", p+".link")
			_ = w.Remove(p + ".link")
			return nil
		},
		"glob": func(w *workspace.Workspace, p string) []byte {
			names, _ := w.Glob(ctx, filepath.Dir(p)+"/*", workspace.GlobOptions{})
			return bytes.ReplaceAll([]byte(strings.Join(names, " ")), []byte("only.txt"), []byte(secret))
		},
		"chmod": func(w *workspace.Workspace, p string) []byte { _ = w.Chmod(p, 0o600); return nil },
		"list": func(w *workspace.Workspace, p string) []byte {
			var names []byte
			entries, _ := w.ReadDir(filepath.Dir(p))
			for _, e := range entries {
				names = append(names, e.Name()...)
			}
			_ = w.Walk(ctx, ".", workspace.WalkOptions{}, func(e workspace.Entry) error {
				names = append(names, e.Path...)
				return nil
			})
			return bytes.ReplaceAll(names, []byte("only.txt"), []byte(secret))
		},
		"batch": func(w *workspace.Workspace, p string) []byte {
			_ = w.Batch(ctx, []workspace.Change{
				{Kind: workspace.Replace, Path: p, Data: data}, {Kind: workspace.Create, Path: p + ".b", Data: data},
			})
			_ = w.Batch(ctx, []workspace.Change{{Kind: workspace.Delete, Path: p + ".b"}})
			return nil
		},
	}
}

// race runs do repeatedly against the swapper.
func race(limit time.Duration, swapper func(stop <-chan struct{}), do func() (goOn bool)) (rounds int) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { swapper(stop) })
	for end := time.Now().Add(limit); rounds == 0 || time.Now().Before(end); rounds++ {
		if !do() {
			break
		}
	}
	close(stop)
	wg.Wait()
	return rounds
}

func TestRacesLeadNowhereOutside(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	limit := raceTime(t)
	for name, op := range raced() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, c := range map[string]struct {
				path    string
				swapper func(a *arena, stop <-chan struct{})
			}{
				"directory": {"d/f.txt",
					func(a *arena, stop <-chan struct{}) { swap(filepath.Join(a.ws, "d"), a.outside, stop) }},
				"relative": {"d/f.txt",
					func(a *arena, stop <-chan struct{}) { swap(filepath.Join(a.ws, "d"), "../outside", stop) }},
				"file": {"file/f.txt", func(a *arena, stop <-chan struct{}) {
					swapFile(filepath.Join(a.ws, "file/f.txt"), filepath.Join(a.outside, "f.txt"), stop)
				}},
			} {
				a := newArena(t)
				require.NoError(t, os.MkdirAll(filepath.Join(a.ws, "file"), 0o755))
				w := a.open(t, workspace.Options{})
				var got []byte
				rounds := race(limit/3, func(stop <-chan struct{}) { c.swapper(a, stop) }, func() bool {
					got = op(w, c.path)
					return !bytes.Contains(got, []byte(secret))
				})
				require.Positive(t, rounds)
				require.NotContains(t, string(got), secret, what)
				require.True(t, a.intact(t), "%s: something outside changed after %d rounds", what, rounds)
			}
		})
	}
}

// The same swapper reaches nothing protected through any operation.
func TestRacesLeadToNothingProtected(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	limit := raceTime(t)
	for name, op := range raced() {
		if name == "read" || name == "list" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t)
			plant(t, a.ws, ".git/f.txt", "protected")
			require.NoError(t, os.MkdirAll(filepath.Join(a.ws, ".git/empty"), 0o755))
			before := tree(t, filepath.Join(a.ws, ".git"))
			w := a.open(t, workspace.Options{})
			race(limit, func(stop <-chan struct{}) { swap(filepath.Join(a.ws, "d"), ".git", stop) }, func() bool {
				op(w, "d/f.txt")
				return true
			})
			require.Equal(t, before, tree(t, filepath.Join(a.ws, ".git")))
		})
	}
}

// patience limits a race that the swapper wins as soon as the machine lets it run.
const patience = time.Minute

// awaitLink waits, for a limited time, until the swapper has made name a symlink.
func awaitLink(name string) {
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return
		}
	}
}

// The same races do leak past a check by name, so they prove something. The
// swapper runs between the check and the use, so that this does not depend on
// luck.
func TestRacesLeakPastNaiveChecks(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	a := newArena(t)
	dir := filepath.Join(a.ws, "d")
	n := naive{root: a.ws, between: func() { awaitLink(dir) }}
	leaked := false
	race(patience, func(stop <-chan struct{}) { swap(dir, a.outside, stop) }, func() bool {
		got, _ := n.read("d/f.txt")
		leaked = bytes.Contains(got, []byte(secret))
		return !leaked
	})
	require.True(t, leaked, "the swapper lost every race against a naive read")
	race(patience, func(stop <-chan struct{}) { swap(dir, a.outside, stop) }, func() bool {
		_ = n.write("d/f.txt", []byte("attack"))
		got, _ := os.ReadFile(filepath.Join(a.outside, "f.txt"))
		return string(got) == secret
	})
	require.False(t, a.intact(t), "the swapper lost every race against a naive write")
}

// os.Root alone stays inside, but follows the swapped link to what is protected.
func TestRacesReachProtectedThroughRootAlone(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	a := newArena(t)
	plant(t, a.ws, ".git/f.txt", "protected")
	root, err := os.OpenRoot(a.ws)
	require.NoError(t, err)
	defer root.Close()
	dir := filepath.Join(a.ws, "d")
	race(patience, func(stop <-chan struct{}) { swap(dir, ".git", stop) }, func() bool {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.Base(real) == "d" {
			awaitLink(dir)
			_ = root.WriteFile("d/f.txt", []byte("attack"), 0o644)
		}
		got, _ := os.ReadFile(filepath.Join(a.ws, ".git/f.txt"))
		return string(got) == "protected"
	})
	require.NotEqual(t, "protected", content(t, a.ws, ".git/f.txt"),
		"the swapper lost every race against os.Root alone")
}
