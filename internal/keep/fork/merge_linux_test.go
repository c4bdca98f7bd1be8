package fork_test

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/fork"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/testneed"
)

// childEnv makes the test binary merge a fork instead of testing.
const childEnv = "TOOLHOST_FORK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := merging(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// merging merges a fork as a call, once it has said that it begins.
func merging(state, root, name string) error {
	f, err := fork.Open(state, name, root)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Println("begins")
	_, err = mergeInto(f, state, root)
	return err
}

func mergeInto(f *fork.Fork, state, root string) (*fork.Merge, error) {
	m, err := f.Plan(context.Background())
	if err != nil {
		return nil, err
	}
	store, err := undo.Open(filepath.Join(state, "undo"), undo.Options{})
	if err != nil {
		return nil, err
	}
	ws, err := workspace.Open(root, workspace.Options{Recorder: store.Recorder("", "", 0), Symlinks: workspace.Block,
		Protect: []string{}})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	call := "merge-" + crand.Text()
	if err = m.Begin(call); err == nil {
		ctx := undo.WithCall(context.Background(), undo.Call{Session: "s", ID: call, Tool: "fork merge"})
		_, _, err = m.Changes.Commit(ctx, ws.Restoring())
	}
	if err != nil {
		return nil, err
	}
	return m, m.End()
}

// bench is a workspace with a fork, whose upper layer the test writes as overlayfs
// would.
type bench struct {
	t           *testing.T
	root, state string
	name        string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t, filepath.Join(t.TempDir(), "ws"), filepath.Join(t.TempDir(), "state"), "one"}
	require.NoError(t, os.Mkdir(b.root, 0o755))
	for name, text := range files {
		b.write(name, text)
	}
	require.NoError(t, fork.Create(b.state, b.root, b.name))
	return b
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func (b *bench) upper(name string) string {
	return filepath.Join(b.state, "forks", b.name, "upper", name)
}

func (b *bench) write(name, text string) { b.t.Helper(); put(b.t, b.root, name, text) }

func (b *bench) forked(name, text string) { b.t.Helper(); put(b.t, b.upper(""), name, text) }

// removed has the fork remove a name.
func (b *bench) removed(name string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.upper(name)), 0o755))
	if err := unix.Mknod(b.upper(name), unix.S_IFCHR, 0); err != nil {
		testneed.Missing(b.t, "whiteouts cannot be made here: "+err.Error())
	}
}

// opaque has the fork have made a directory anew.
func (b *bench) opaque(name string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(b.upper(name), 0o755))
	if err := unix.Setxattr(b.upper(name), "user.overlay.opaque", []byte("y"), 0); err != nil {
		testneed.Missing(b.t, "the file system has no attributes: "+err.Error())
	}
}

func (b *bench) open() *fork.Fork {
	b.t.Helper()
	f, err := fork.Open(b.state, b.name, b.root)
	require.NoError(b.t, err)
	return f
}

// sweep notes what the workspace holds, as a session does after each call.
func (b *bench) sweep() { b.open().Close() }

func (b *bench) merge() *fork.Merge {
	b.t.Helper()
	f := b.open()
	defer f.Close()
	m, err := mergeInto(f, b.state, b.root)
	require.NoError(b.t, err)
	return m
}

// tree is what is in a directory: files with their content, links and modes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			found[name] = "dir"
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			found[name] = "-> " + target
		default:
			data, _ := os.ReadFile(path)
			found[name] = string(data)
		}
		if d.Type()&fs.ModeSymlink == 0 && info.Mode().Perm() != 0o644 && info.Mode().Perm() != 0o755 {
			found[name] += info.Mode().Perm().String()
		}
		return nil
	}))
	return found
}

const eight = "1\n2\n3\n4\n5\n6\n7\n8\n"

func line(n int, text string) string {
	lines := strings.SplitAfter(eight, "\n")
	lines[n-1] = text + "\n"
	return strings.Join(lines, "")
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name         string
		begin        map[string]string
		fork, others func(b *bench)
		want         map[string]string
		conflicts    []string
		left         []string
	}{
		{"only the fork", map[string]string{"a": "a\n", "d/x": "x\n"},
			func(b *bench) { b.forked("a", "b\n"); b.forked("n/m/f", "new\n"); b.removed("d/x") }, nil,
			map[string]string{"a": "b\n", "d": "dir", "n": "dir", "n/m": "dir", "n/m/f": "new\n"}, nil, nil},
		{"only others", map[string]string{"a": eight}, func(b *bench) { b.forked("a", eight) },
			func(b *bench) { b.write("a", line(1, "x")) }, map[string]string{"a": line(1, "x")}, nil, nil},
		{"both in different lines", map[string]string{"a": eight}, func(b *bench) { b.forked("a", line(8, "fork")) },
			func(b *bench) { b.write("a", line(1, "x")) },
			map[string]string{"a": "x\n2\n3\n4\n5\n6\n7\nfork\n"}, nil, nil},
		{"both in the same line", map[string]string{"a": eight}, func(b *bench) { b.forked("a", line(4, "fork")) },
			func(b *bench) { b.write("a", line(4, "x")) },
			map[string]string{"a": "1\n2\n3\n<<<<<<< workspace\nx\n=======\nfork\n>>>>>>> fork one\n5\n6\n7\n8\n"},
			[]string{"a"}, nil},
		{"both alike", map[string]string{"a": eight}, func(b *bench) { b.forked("a", line(4, "x")); b.forked("n", "n") },
			func(b *bench) { b.write("a", line(4, "x")); b.write("n", "n") },
			map[string]string{"a": line(4, "x"), "n": "n"}, nil, nil},
		{"both have made it", nil, func(b *bench) { b.forked("n", "fork\n") },
			func(b *bench) { b.write("n", "x\n") }, map[string]string{"n": "x\n", "n.fork-one": "fork\n"}, []string{"n"}, nil},
		{"no text", map[string]string{"a": "\x00\x01"}, func(b *bench) { b.forked("a", "\x00\x02") },
			func(b *bench) { b.write("a", "\x00\x03") },
			map[string]string{"a": "\x00\x03", "a.fork-one": "\x00\x02"}, []string{"a"}, nil},
		{"removed by the fork, changed by others", map[string]string{"a": eight}, func(b *bench) { b.removed("a") },
			func(b *bench) { b.write("a", "x\n") }, map[string]string{"a": "x\n"}, []string{"a"}, nil},
		{"changed by the fork, removed by others", map[string]string{"a": eight},
			func(b *bench) { b.forked("a", "fork\n") },
			func(b *bench) { assert.NoError(b.t, os.Remove(filepath.Join(b.root, "a"))) },
			map[string]string{"a.fork-one": "fork\n"}, []string{"a"}, nil},
		{"the name beside is taken", map[string]string{"a": "\x00", "a.fork-one": "mine\n"},
			func(b *bench) { b.forked("a", "\x00\x02") }, func(b *bench) { b.write("a", "\x00\x03") },
			map[string]string{"a": "\x00\x03", "a.fork-one": "mine\n", "a.fork-one.2": "\x00\x02"}, []string{"a"}, nil},
		{"modes", map[string]string{"a": eight, "b": "b\n", "d/x": "x\n"}, func(b *bench) {
			b.forked("a", line(8, "fork"))
			b.forked("b", "b\n")
			assert.NoError(b.t, os.Chmod(b.upper("b"), 0o700))
			assert.NoError(b.t, os.Mkdir(b.upper("d"), 0o755))
			assert.NoError(b.t, os.Chmod(b.upper("d"), 0o750))
		}, func(b *bench) { assert.NoError(b.t, os.Chmod(filepath.Join(b.root, "a"), 0o600)) },
			map[string]string{"a": line(8, "fork") + "-rw-------", "b": "b\n-rwx------", "d": "dir-rwxr-x---", "d/x": "x\n"},
			nil, nil},
		{"a directory removed by the fork, in which others have made a file", map[string]string{"d/x": "x\n"},
			func(b *bench) { b.removed("d"); b.sweep() }, func(b *bench) { b.write("d/y", "y\n") },
			map[string]string{"d": "dir", "d/y": "y\n"}, nil, nil},
		{"a directory made anew by the fork, in which others have made a file", map[string]string{"d/x": "x\n"},
			func(b *bench) { b.opaque("d"); b.forked("d/z", "z\n"); b.sweep() },
			func(b *bench) { b.write("d/y", "y\n") },
			map[string]string{"d": "dir", "d/y": "y\n", "d/z": "z\n"}, nil, nil},
		{"a directory that became a file in the fork, in which others have made a file",
			map[string]string{"d/x": "x\n"},
			func(b *bench) { b.forked("d", "file\n"); b.sweep() }, func(b *bench) { b.write("d/y", "y\n") },
			map[string]string{"d": "dir", "d/x": "x\n", "d/y": "y\n", "d.fork-one": "file\n"}, []string{"d"}, nil},
		{"a directory that became a link in the fork", map[string]string{"d/x": "x\n"},
			func(b *bench) { assert.NoError(b.t, os.Symlink("/etc", b.upper("d"))) }, nil,
			map[string]string{"d": "-> /etc"}, nil, nil},
		{"a directory that became a file of others, below which the fork has changed something",
			map[string]string{"d/e/x": "x\n"}, func(b *bench) { b.forked("d/e/x", "fork\n"); b.forked("d/n", "n\n") },
			func(b *bench) {
				assert.NoError(b.t, os.RemoveAll(filepath.Join(b.root, "d")))
				b.write("d", "file\n")
			}, map[string]string{"d": "file\n", "d.fork-one": "dir", "d.fork-one/n": "n\n", "d.fork-one/e": "dir",
				"d.fork-one/e/x": "fork\n"}, []string{"d"}, nil},
		{"a pipe", nil, func(b *bench) { assert.NoError(b.t, unix.Mkfifo(b.upper("p"), 0o600)) }, nil,
			map[string]string{}, nil, []string{"p"}},
		{"a sparse file of 8 TiB", map[string]string{"a": "a\n"}, func(b *bench) {
			b.forked("huge", "")
			if err := os.Truncate(b.upper("huge"), 8<<40); err != nil {
				testneed.Missing(b.t, "no file of that size here: "+err.Error())
			}
			b.forked("a", "b\n")
		}, nil, map[string]string{"a": "b\n"}, nil, []string{"huge"}},
		{"toolhost's own files", nil, func(b *bench) { b.forked(".agent/cache/x", "x"); b.forked(".agent/.gitignore", "*") },
			nil, map[string]string{}, nil, nil},
		{"commits in a repository", map[string]string{".git/HEAD": "ref: x\n", ".git/refs/heads/x": "1\n", ".git/index": "i"},
			func(b *bench) {
				b.forked(".git/refs/heads/x", "2\n")
				b.forked(".git/index", "j")
				b.forked(".git/objects/aa/bb", "o")
			}, nil, map[string]string{".git": "dir", ".git/HEAD": "ref: x\n", ".git/refs": "dir", ".git/refs/heads": "dir",
				".git/refs/heads/x": "2\n", ".git/index": "j", ".git/objects": "dir", ".git/objects/aa": "dir",
				".git/objects/aa/bb": "o"}, nil, nil},
		{"commits on both sides", map[string]string{".git/refs/heads/x": "1\n", ".git/index": "i"},
			func(b *bench) {
				b.forked(".git/refs/heads/x", "2\n")
				b.forked(".git/index", "j")
				b.forked(".git/objects/aa/bb", "o")
			}, func(b *bench) { b.write(".git/refs/heads/x", "3\n"); b.write(".git/index", "k") },
			map[string]string{".git": "dir", ".git/refs": "dir", ".git/refs/heads": "dir", ".git/refs/heads/x": "3\n",
				".git/index": "k", ".git/objects": "dir", ".git/objects/aa": "dir", ".git/objects/aa/bb": "o"}, nil,
			[]string{".git"}},
		{"names that the sandbox holds fast", map[string]string{".git/index": "i"}, func(b *bench) {
			b.forked(".git/config.worktree", "")
			b.forked(".git/objects/info/alternates", "/elsewhere\n")
			b.forked(".git/index", "j")
		}, nil, map[string]string{".git": "dir", ".git/index": "i"}, nil, nil},
		{"git status", map[string]string{".git/index": "i"}, func(b *bench) { b.forked(".git/index", "j") },
			nil, map[string]string{".git": "dir", ".git/index": "i"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.begin)
			c.fork(b)
			b.sweep()
			if c.others != nil {
				c.others(b)
			}
			m := b.merge()
			want := c.want
			assert.Equal(t, want, tree(t, b.root))
			var conflicts, left []string
			for _, conflict := range m.Conflicts {
				conflicts = append(conflicts, conflict.Path)
			}
			for _, l := range m.Left {
				left = append(left, l.Path)
			}
			assert.Equal(t, c.conflicts, conflicts)
			assert.Equal(t, c.left, left)

			again := b.merge()
			assert.Empty(t, again.Changes.List, "again")
			assert.Empty(t, again.Conflicts, "again")
			assert.Equal(t, want, tree(t, b.root), "again")
		})
	}
}

// After a merge, what the fork holds is what the next one begins with.
func TestMergeTwice(t *testing.T) {
	b := newBench(t, map[string]string{"a": eight})
	b.forked("a", line(4, "fork"))
	b.sweep()
	b.write("a", line(4, "x"))
	require.Len(t, b.merge().Conflicts, 1)
	b.write("a", line(4, "settled"))
	b.forked("a", strings.Replace(line(4, "fork"), "8\n", "eight\n", 1))
	assert.Empty(t, b.merge().Conflicts)
	assert.Equal(t, strings.Replace(line(4, "settled"), "8\n", "eight\n", 1), tree(t, b.root)["a"])
}

// again opens the fork as the program does: of what has been undone it is as before.
func (b *bench) again() *fork.Fork {
	b.t.Helper()
	changes, err := b.store().Changes(b.t.Context(), undo.Filter{})
	require.NoError(b.t, err)
	undone := make(map[string]bool)
	for _, c := range changes {
		undone[c.Call+" "+c.Path] = c.UndoneBy != ""
	}
	f := b.open()
	f.Undone(func(call, path string) bool { return undone[call+" "+path] })
	return f
}

func (b *bench) store() *undo.Store {
	b.t.Helper()
	store, err := undo.Open(filepath.Join(b.state, "undo"), undo.Options{})
	require.NoError(b.t, err)
	return store
}

// offered are the paths that the fork would have the next merge change, and those
// that it shows as changed.
func (b *bench) offered() (merge, diff []string) {
	b.t.Helper()
	f := b.again()
	defer f.Close()
	m, err := f.Plan(b.t.Context())
	require.NoError(b.t, err)
	changes, err := f.Diff(b.t.Context())
	require.NoError(b.t, err)
	return m.Changes.Names(), changes.Names()
}

// mergeAgain merges what is offered, and gives the call.
func (b *bench) mergeAgain() string {
	b.t.Helper()
	f := b.again()
	defer f.Close()
	_, err := mergeInto(f, b.state, b.root)
	require.NoError(b.t, err)
	return f.Merge
}

func (b *bench) undo(call string, paths ...string) string {
	b.t.Helper()
	ws, err := workspace.Open(b.root, workspace.Options{Recorder: b.store().Recorder("", "", 0),
		Symlinks: workspace.Block, Protect: []string{}})
	require.NoError(b.t, err)
	defer ws.Close()
	done, err := b.store().Undo(b.t.Context(), ws.Restoring(), undo.Selection{Session: "s", Call: call, Paths: paths})
	require.NoError(b.t, err)
	return done.Call
}

// TestMergeAfterUndo offers anew what a merge has brought once that is undone, and
// takes it for merged when the undo is.
func TestMergeAfterUndo(t *testing.T) {
	b := newBench(t, map[string]string{"changed": eight, "clash": eight, "bin": "\x00", "d/gone": "g\n", "mode": "m\n"})
	b.forked("changed", line(2, "fork"))
	b.forked("clash", line(4, "fork"))
	b.forked("bin", "\x00fork")
	b.forked("new/f", "new\n")
	b.forked("mode", "m\n")
	require.NoError(t, os.Chmod(b.upper("mode"), 0o600))
	b.removed("d/gone")
	b.sweep()
	b.write("clash", line(4, "x"))
	b.write("bin", "\x00x")
	before := tree(t, b.root)
	all, shown := b.offered()
	require.Equal(t, []string{"bin.fork-one", "changed", "clash", "d/gone", "mode", "new", "new/f"}, all)

	first := b.mergeAgain()
	merged := tree(t, b.root)
	none, still := b.offered()
	require.Empty(t, none)
	require.Empty(t, still)
	assert.Equal(t, first, b.mergeAgain(), "nothing is left to merge")
	undone := b.undo(first)
	require.Equal(t, before, tree(t, b.root))
	offered, diff := b.offered()
	assert.Equal(t, all, offered)
	assert.Equal(t, shown, diff)

	b.undo(undone)
	require.Equal(t, merged, tree(t, b.root))
	offered, _ = b.offered()
	assert.Empty(t, offered, "the undo was undone")

	b.forked("changed", line(7, "fork later"))
	second := b.mergeAgain()
	b.undo(second)
	offered, diff = b.offered()
	assert.Equal(t, []string{"changed"}, offered, "of two merges the last was undone")
	assert.Equal(t, []string{"changed"}, diff)

	third := b.mergeAgain()
	assert.Equal(t, line(7, "fork later"), tree(t, b.root)["changed"])
	b.undo(third)
	b.undo(first)
	assert.Equal(t, before, tree(t, b.root))
	offered, _ = b.offered()
	assert.Equal(t, all, offered)
	b.mergeAgain()
	merged["changed"] = line(7, "fork later")
	assert.Equal(t, merged, tree(t, b.root))
	offered, _ = b.offered()
	assert.Empty(t, offered)
}

// TestMergeAfterUndoOfSome offers what was undone of a merge, and what others have
// made of the rest stays.
func TestMergeAfterUndoOfSome(t *testing.T) {
	b := newBench(t, map[string]string{"a": eight, "b": eight})
	b.forked("a", line(2, "fork"))
	b.forked("b", line(2, "fork"))
	b.sweep()
	b.undo(b.mergeAgain(), "a")
	b.write("a", line(8, "x"))
	b.write("b", line(2, "settled"))
	offered, _ := b.offered()
	assert.Equal(t, []string{"a"}, offered)
	b.mergeAgain()
	assert.Equal(t, map[string]string{"a": strings.Replace(line(2, "fork"), "8\n", "x\n", 1), "b": line(2, "settled")},
		tree(t, b.root))
}

// What somebody changes in the very moment in which the fork does is nobody's base.
func TestChangedAtTheSameTime(t *testing.T) {
	b := newBench(t, map[string]string{"a": "old\n"})
	b.forked("a", "fork\n")
	b.write("a", "x\n") // before anybody has looked
	m := b.merge()
	require.Len(t, m.Conflicts, 1)
	assert.Equal(t, map[string]string{"a": "x\n", "a.fork-one": "fork\n"}, tree(t, b.root))
}

// A directory that becomes a link to somewhere else, in the fork or in the workspace,
// leads nowhere: nothing outside is read or written.
func TestMergeFollowsNoLinks(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "x", "secret\n")
	t.Run("in the workspace", func(t *testing.T) {
		b := newBench(t, map[string]string{"d/x": "x\n"})
		b.forked("d/x", "fork\n")
		b.forked("d/new", "new\n")
		b.sweep()
		require.NoError(t, os.RemoveAll(filepath.Join(b.root, "d")))
		require.NoError(t, os.Symlink(outside, filepath.Join(b.root, "d")))
		m := b.merge()
		assert.NotEmpty(t, m.Conflicts)
		assert.NotContains(t, fmt.Sprint(tree(t, b.root)), "secret")
	})
	t.Run("in the workspace, before anybody has looked", func(t *testing.T) {
		b := newBench(t, map[string]string{"d/x": "x\n"})
		b.removed("d")
		require.NoError(t, os.RemoveAll(filepath.Join(b.root, "d")))
		require.NoError(t, os.Symlink(outside, filepath.Join(b.root, "d")))
		b.merge()
	})
	t.Run("in the workspace, below which the fork has changed something, before anybody has looked", func(t *testing.T) {
		b := newBench(t, map[string]string{"d/x": "x\n"})
		b.forked("d/x", "fork\n")
		require.NoError(t, os.RemoveAll(filepath.Join(b.root, "d")))
		require.NoError(t, os.Symlink(outside, filepath.Join(b.root, "d")))
		f := b.open()
		changes, err := f.Diff(t.Context())
		require.NoError(t, err)
		assert.NotContains(t, changes.Diff(), "secret")
		f.Close()
		b.merge()
		assert.NotContains(t, fmt.Sprint(tree(t, b.root)), "secret")
	})
	t.Run("in the fork", func(t *testing.T) {
		b := newBench(t, map[string]string{"d/x": "x\n"})
		b.forked("d/x", "fork\n")
		b.sweep()
		require.NoError(t, os.RemoveAll(b.upper("d")))
		require.NoError(t, os.Symlink(outside, b.upper("d")))
		f := b.open()
		changes, err := f.Diff(t.Context())
		require.NoError(t, err)
		assert.NotContains(t, changes.Diff(), "secret")
		f.Close()
		b.merge()
		assert.Equal(t, map[string]string{"d": "-> " + outside}, tree(t, b.root))
	})
	assert.Equal(t, map[string]string{"x": "secret\n"}, tree(t, outside))
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{"one": true, "feature-2_x.y": true, "A": true, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, "a/b": false, "../a": false, ".hidden": false, "-x": false, "a\n": false,
		"a\x1b": false, "a b": false, strings.Repeat("a", 65): false, "ä": false, "list": false, "merge": false} {
		err := fork.CheckName(name)
		assert.Equal(t, ok, err == nil, "%q", name)
		if !ok {
			assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		}
	}
}

func TestHeldByOne(t *testing.T) {
	b := newBench(t, nil)
	f := b.open()
	_, err := fork.Hold(b.state, "one")
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
	list, err := fork.List(b.state)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.True(t, list[0].InUse)
	assert.Equal(t, tool.Conflict, tool.CodeOf(fork.Create(b.state, b.root, "one")), "there is one already")
	require.NoError(t, f.Drop())
	f.Close()
	_, err = fork.Hold(b.state, "one")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	require.NoError(t, fork.Create(b.state, b.root, "one"))
}

// tidy removes the temporary files of a process that was killed, as the next write
// into their directories would.
func (b *bench) tidy() {
	ws, err := workspace.Open(b.root, workspace.Options{})
	require.NoError(b.t, err)
	defer ws.Close()
	_, err = ws.Sweep(b.t.Context())
	require.NoError(b.t, err)
}

// TestKilledMerges kills the program in the middle of a merge. Merged again, the
// workspace holds what it would have held at once.
func TestKilledMerges(t *testing.T) {
	testneed.NotShort(t, "kills programs for seconds")
	kills := 8
	if testneed.Long() {
		kills = 300
	}
	begin := map[string]string{"both": eight, "clash": eight, "bin": "\x00", "gone": "g\n"}
	for i := range 12 {
		begin[fmt.Sprintf("d%d/f", i)] = eight
	}
	change := func(b *bench) {
		b.forked("both", line(8, "fork"))
		b.forked("clash", line(4, "fork"))
		b.forked("bin", "\x00fork")
		b.removed("gone")
		for i := range 12 {
			b.forked(fmt.Sprintf("d%d/f", i), line(3, "fork"))
			b.forked(fmt.Sprintf("n%d/f", i), "new\n")
		}
		b.sweep()
		b.write("both", line(1, "x"))
		b.write("clash", line(4, "x"))
		b.write("bin", "\x00x")
	}
	whole := newBench(t, begin)
	change(whole)
	started := time.Now()
	whole.merge()
	took := time.Since(started)
	want := tree(t, whole.root)
	cut := 0
	for i := range kills {
		b := newBench(t, begin)
		change(b)
		cmd := exec.Command(os.Args[0], b.state, b.root, b.name)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		time.Sleep(time.Duration(rand.Int64N(int64(2 * took))))
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			cut++
		}
		b.merge()
		b.tidy()
		got := tree(t, b.root)
		assert.Equal(t, want, got, "kill %d", i)
	}
	t.Logf("%d of %d merges were cut off", cut, kills)
}

// What others change after the merge was worked out stays, and nothing is merged.
func TestChangedAfterThePlan(t *testing.T) {
	for name, others := range map[string]func(b *bench){
		"content": func(b *bench) { b.write("d/x", "others\n") },
		"mode":    func(b *bench) { assert.NoError(b.t, os.Chmod(filepath.Join(b.root, "m"), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a": eight, "d/x": "x\n", "m": "m\n"})
			b.forked("a", line(8, "fork"))
			b.forked("d/x", "fork\n")
			b.forked("m", "m\n")
			require.NoError(t, os.Chmod(b.upper("m"), 0o700))
			f := b.open()
			defer f.Close()
			m, err := f.Plan(t.Context())
			require.NoError(t, err)
			others(b)
			before := tree(t, b.root)
			ws, err := workspace.Open(b.root, workspace.Options{Symlinks: workspace.Block, Protect: []string{}})
			require.NoError(t, err)
			defer ws.Close()
			require.NoError(t, m.Begin("merge"))
			_, done, err := m.Changes.Commit(t.Context(), ws.Restoring())
			assert.Equal(t, tool.Conflict, tool.CodeOf(err))
			assert.False(t, done)
			assert.Equal(t, before, tree(t, b.root))
		})
	}
}

// A directory that was moved to where another was is not the one that the fork has
// seen, however old the files in it are.
func TestADirectoryInTheOthersPlace(t *testing.T) {
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprint(moved), func(t *testing.T) {
			b := newBench(t, map[string]string{"d/x": "x\n", "e/x": "of e\n"})
			b.forked("d/x", "fork\n")
			b.copiedUp("d")
			want := map[string]string{"d": "dir", "d/x": "fork\n", "e": "dir", "e/x": "of e\n"}
			require.NoError(t, os.Rename(filepath.Join(b.root, "d"), filepath.Join(b.root, "old")))
			if moved {
				require.NoError(t, os.Rename(filepath.Join(b.root, "e"), filepath.Join(b.root, "d")))
				want = map[string]string{"d": "dir", "d/x": "of e\n", "d/x.fork-one": "fork\n", "old": "dir", "old/x": "x\n"}
			} else {
				require.NoError(t, os.Rename(filepath.Join(b.root, "old"), filepath.Join(b.root, "d")))
			}
			assert.Len(t, b.merge().Conflicts, map[bool]int{false: 0, true: 1}[moved])
			assert.Equal(t, want, tree(t, b.root))
		})
	}
}

// copiedUp has a directory of the fork be a copy of the workspace's, as overlayfs
// says so.
func (b *bench) copiedUp(name string) {
	b.t.Helper()
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, filepath.Join(b.root, name), 0)
	if err == nil {
		const head = 4 + 1 + 16 // version, magic, length, flags; type; uuid
		origin := append(make([]byte, head), handle.Bytes()...)
		err = unix.Setxattr(b.upper(name), "user.overlay.origin", origin, 0)
	}
	if err != nil {
		testneed.Missing(b.t, "the file system has no handles or attributes: "+err.Error())
	}
}

// A merge that is killed before it has changed anything has merged nothing.
func TestKilledBeforeTheCommit(t *testing.T) {
	b := newBench(t, map[string]string{"a": eight})
	b.forked("a", line(8, "fork"))
	f := b.open()
	m, err := f.Plan(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Begin("merge"))
	f.Close()
	assert.Equal(t, []string{"a"}, b.merge().Changes.Names())
	assert.Equal(t, map[string]string{"a": line(8, "fork")}, tree(t, b.root))
}

// A fork has so many paths and no more; who goes beyond learns what to do.
func TestMostPaths(t *testing.T) {
	defer fork.BoundPaths(3)()
	b := newBench(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		b.forked(name, name)
	}
	b.open().Close()
	b.forked("d", "d")
	_, err := fork.Open(b.state, b.name, b.root)
	require.Equal(t, tool.TooLarge, tool.CodeOf(err), "%v", err)
	assert.Contains(t, tool.AsError(err).Suggestion, "drop the fork")
	require.NoError(t, os.Remove(b.upper("d")))
	b.merge()
	assert.Equal(t, map[string]string{"a": "a", "b": "b", "c": "c"}, tree(t, b.root))
}
