package workspace_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// operation is one way to access a path.
type operation struct {
	name string
	// nofollow operations are about a symlink itself.
	nofollow bool
	run      func(w *workspace.Workspace, path string) (string, error)
}

func operations() []operation {
	ctx := context.Background()
	data := []byte("attack")
	noText := func(err error) (string, error) { return "", err }
	return []operation{
		{"ReadFile", false, func(w *workspace.Workspace, p string) (string, error) {
			got, _, err := w.ReadFile(p, 0)
			return string(got), err
		}},
		{"Open", false, func(w *workspace.Workspace, p string) (string, error) {
			f, err := w.Open(p)
			if err != nil {
				return "", err
			}
			defer f.Close()
			buf := make([]byte, 100)
			n, _ := f.Read(buf)
			return string(buf[:n]), nil
		}},
		{"Stat", false,
			func(w *workspace.Workspace, p string) (string, error) { _, err := w.Stat(p); return noText(err) }},
		{"ReadDir", false,
			func(w *workspace.Workspace, p string) (string, error) { _, err := w.ReadDir(p); return noText(err) }},
		{"WriteFile", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.WriteFile(p, data, workspace.WriteOptions{})
			return noText(err)
		}},
		{"WriteFile with parents", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.WriteFile(p, data, workspace.WriteOptions{Parents: true})
			return noText(err)
		}},
		{"Append", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.Append(p, data, workspace.WriteOptions{Parents: true})
			return noText(err)
		}},
		{"Update", false, func(w *workspace.Workspace, p string) (string, error) {
			var got string
			err := w.Update(p, func(old []byte, _ fs.FileInfo) ([]byte, error) { got = string(old); return data, nil })
			return got, err
		}},
		{"Mkdir", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.Mkdir(p+"/new", true)
			return noText(err)
		}},
		{"Chmod", false, func(w *workspace.Workspace, p string) (string, error) { return noText(w.Chmod(p, 0o777)) }},
		{"Walk", false, func(w *workspace.Workspace, p string) (string, error) {
			return noText(w.Walk(ctx, p, workspace.WalkOptions{}, func(workspace.Entry) error { return nil }))
		}},
		{"Check read", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.Check(p, workspace.Read)
			return noText(err)
		}},
		{"Check write", false, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.Check(p, workspace.Write)
			return noText(err)
		}},
		{"Batch create", false, func(w *workspace.Workspace, p string) (string, error) {
			return noText(w.Batch(ctx, []workspace.Change{{Kind: workspace.Create, Path: p, Data: data}}))
		}},
		{"Batch replace", false, func(w *workspace.Workspace, p string) (string, error) {
			return noText(w.Batch(ctx, []workspace.Change{{Kind: workspace.Replace, Path: p, Data: data}}))
		}},
		{"Remove", true, func(w *workspace.Workspace, p string) (string, error) { return noText(w.Remove(p)) }},
		{"RemoveDir", true, func(w *workspace.Workspace, p string) (string, error) { return noText(w.RemoveDir(p)) }},
		{"Rename from", true,
			func(w *workspace.Workspace, p string) (string, error) { return noText(w.Rename(p, "stolen", true)) }},
		{"Rename to", true,
			func(w *workspace.Workspace, p string) (string, error) { return noText(w.Rename("in.txt", p, true)) }},
		{"Lstat", true,
			func(w *workspace.Workspace, p string) (string, error) { _, err := w.Lstat(p); return noText(err) }},
		{"Batch delete", true, func(w *workspace.Workspace, p string) (string, error) {
			return noText(w.Batch(ctx, []workspace.Change{{Kind: workspace.Delete, Path: p}}))
		}},
		{"Check remove", true, func(w *workspace.Workspace, p string) (string, error) {
			_, err := w.Check(p, workspace.Remove)
			return noText(err)
		}},
	}
}

// outsidePaths are paths that lead out; those that end in a symlink only for
// operations that follow it.
func outsidePaths(a *arena) []struct {
	path    string
	endLink bool
} {
	long := strings.Repeat("../", 300)
	type c = struct {
		path    string
		endLink bool
	}
	return []c{
		{"..", false}, {"../outside/f.txt", false}, {"d/../../outside/f.txt", false},
		{"./.././outside//f.txt", false}, {long + "etc/passwd", false}, {"/etc/passwd", false}, {"/", false},
		{a.outside + "/f.txt", false}, {a.ws + "/../outside/f.txt", false}, {a.ws + "x/f.txt", false},
		{"../wsx/f.txt", false},
		{"filelink", true}, {"dirlink/f.txt", false}, {"dirlink/none.txt", false}, {"dirlink/no/ne.txt", false},
		{"abslink", true}, {"absdir/f.txt", false}, {"chain1", true}, {"dangling", true}, {"danglingabs", true},
		{"deep/rel/f.txt", false}, {"d/uplink/outside/f.txt", false}, {"d/inner/f.txt", false}, {"prefixlink", true},
		{"rootlink/etc/passwd", false}, {"dirlink/../outside/../../outside/f.txt", false},
		{"proc/root/etc/passwd", false},
	}
}

func plantLinks(t *testing.T, a *arena) {
	a.link(t, "../outside/f.txt", "filelink")
	a.link(t, "../outside", "dirlink")
	a.link(t, a.outside+"/f.txt", "abslink")
	a.link(t, a.outside, "absdir")
	a.link(t, "chain2", "chain1")
	a.link(t, "d/chain3", "chain2")
	a.link(t, "../../outside/f.txt", "d/chain3")
	a.link(t, "../outside/created.txt", "dangling")
	a.link(t, a.outside+"/created.txt", "danglingabs")
	a.link(t, "../../outside", "deep/rel")
	a.link(t, "../..", "d/uplink")
	a.link(t, "../dirlink", "d/inner")
	a.link(t, a.ws+"x/f.txt", "prefixlink")
	a.link(t, "/", "rootlink")
	a.link(t, "/proc/self", "proc")
}

func TestNothingOutsideIsReached(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			a := newArena(t)
			plantLinks(t, a)
			w := a.open(t, workspace.Options{})
			for _, c := range outsidePaths(a) {
				if c.endLink && op.nofollow {
					continue
				}
				got, err := op.run(w, c.path)
				require.Error(t, err, c.path)
				require.Equal(t, tool.PathOutsideWorkspace, tool.CodeOf(err), "%s: %v", c.path, err)
				require.Contains(t, err.Error(), strings.TrimSuffix(c.path, "/new"))
				require.NotContains(t, got, secret, c.path)
			}
			require.True(t, a.intact(t), "something outside has changed")
			require.NoFileExists(t, filepath.Join(a.outside, "created.txt"))
			requireNoTemp(t, a.base)
		})
	}
}

// A naive implementation leaks on the same paths, so they are attacks.
func TestNaiveChecksLeak(t *testing.T) {
	a := newArena(t)
	plantLinks(t, a)
	n := naive{root: a.ws}
	got, err := n.read("../wsx/f.txt")
	require.NoError(t, err)
	assert.Contains(t, string(got), secret, "the sibling prefix")
	require.NoError(t, n.write("dangling", []byte("attack")))
	assert.FileExists(t, filepath.Join(a.outside, "created.txt"), "the dangling link")
	require.NoError(t, os.Link(filepath.Join(a.outside, "f.txt"), filepath.Join(a.ws, "hard")))
	require.NoError(t, n.write("hard", []byte("attack")))
	assert.False(t, a.intact(t))
	assert.Equal(t, "attack", content(t, a.outside, "f.txt"), "the hard link")
}

func TestSymlinksInsideAreFollowed(t *testing.T) {
	a := newArena(t)
	a.link(t, "in.txt", "rel")
	a.link(t, a.ws+"/in.txt", "abs")
	a.link(t, a.ws+"/d", "absdir")
	a.link(t, "../in.txt", "d/up")
	a.link(t, "../../ws/in.txt", "d/outandback")
	a.link(t, "d/../in.txt", "dots")
	a.link(t, "abs", "chain")
	a.link(t, ".", "self")
	a.link(t, "d/sub/..", "dlink")
	a.link(t, "d/new.txt", "dangling")
	w := a.open(t, workspace.Options{})
	for _, path := range []string{"rel", "abs", "absdir/f.txt", "d/up", "d/outandback", "dots", "chain",
		"self/self/in.txt", "dlink/f.txt"} {
		got, _, err := w.ReadFile(path, 0)
		require.NoError(t, err, path)
		assert.Equal(t, "inside", string(got), path)
	}
	_, err := w.WriteFile("chain", []byte("changed"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, "changed", content(t, a.ws, "in.txt"))
	for _, link := range []string{"chain", "abs"} {
		info, err := os.Lstat(filepath.Join(a.ws, link))
		require.NoError(t, err)
		assert.NotZero(t, info.Mode()&fs.ModeSymlink, link)
	}
	created, err := w.WriteFile("dangling", []byte("new"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.True(t, created)
	assert.Equal(t, "new", content(t, a.ws, "d/new.txt"))

	real, err := w.Check("absdir/sub/../f.txt", workspace.Write)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(a.ws, "d/f.txt"), real)
	require.NoError(t, w.Remove("absdir"))
	assert.FileExists(t, filepath.Join(a.ws, "d/f.txt"))
}

func TestSymlinkLoop(t *testing.T) {
	a := newArena(t)
	a.link(t, "loop2", "loop1")
	a.link(t, "loop1", "loop2")
	a.link(t, "me/x", "me")
	w := a.open(t, workspace.Options{})
	for _, path := range []string{"loop1", "loop2/x", "me", "me/y"} {
		_, _, err := w.ReadFile(path, 0)
		requireCode(t, tool.InvalidArgument, err)
	}
}

func TestSymlinksBlocked(t *testing.T) {
	a := newArena(t)
	a.link(t, "in.txt", "link")
	a.link(t, "d", "dl")
	w := a.open(t, workspace.Options{Symlinks: workspace.Block})
	for _, path := range []string{"link", "dl/f.txt", "dl/none"} {
		_, _, err := w.ReadFile(path, 0)
		requireCode(t, tool.Blocked, err)
		_, err = w.WriteFile(path, nil, workspace.WriteOptions{})
		requireCode(t, tool.Blocked, err)
		assert.Equal(t, "symlink", tool.AsError(err).Details["reason"])
	}
	_, _, err := w.ReadFile("in.txt", 0)
	require.NoError(t, err)
	require.NoError(t, w.Remove("link"))
	assert.FileExists(t, filepath.Join(a.ws, "in.txt"))
}

func TestAllowedDirectories(t *testing.T) {
	a := newArena(t)
	a.link(t, "../outside/f.txt", "link")
	w := a.open(t, workspace.Options{Allow: []string{"../outside"}})
	for _, path := range []string{"link", "../outside/f.txt", a.outside + "/f.txt"} {
		got, _, err := w.ReadFile(path, 0)
		require.NoError(t, err)
		assert.Equal(t, secret, string(got))
	}
	rel, err := w.Rel("../outside/f.txt")
	require.NoError(t, err)
	assert.Equal(t, filepath.ToSlash(a.outside)+"/f.txt", rel)
	_, _, err = w.ReadFile("../wsx/f.txt", 0)
	requireCode(t, tool.PathOutsideWorkspace, err)
	found, err := w.Glob(context.Background(), a.outside+"/*.txt", workspace.GlobOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{a.outside + "/f.txt", a.outside + "/only.txt"}, found)

	_, err = workspace.Open(a.ws, workspace.Options{Allow: []string{"../nowhere"}})
	requireCode(t, tool.NotFound, err)
}

func TestUnusualNames(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	for _, name := range []string{"a b", "-rf", "nl\nname", "tab\t", "bad\xff\xfeutf8", "cafe\u0301", "caf\u00e9",
		"back\\slash", "~", "...", "*"} {
		_, err := w.WriteFile(name, []byte(name), workspace.WriteOptions{})
		require.NoError(t, err, "%q", name)
		assert.Equal(t, name, content(t, dir, name))
	}
	entries, err := w.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, entries, 11)
	for name, code := range map[string]tool.Code{
		"":                                  tool.InvalidArgument,
		"a\x00b":                            tool.InvalidArgument,
		strings.Repeat("n", 256):            tool.InvalidArgument,
		strings.Repeat("long/", 100_000):    tool.InvalidArgument,
		"/etc/passwd\x00" + dir + "/a b":    tool.InvalidArgument,
		"a b/below":                         tool.NotADirectory,
		"none/" + strings.Repeat("n", 5000): tool.NotFound,
	} {
		_, err := w.WriteFile(name, nil, workspace.WriteOptions{})
		requireCode(t, code, err)
	}
	_, err = w.WriteFile("none/"+strings.Repeat("n", 5000), nil, workspace.WriteOptions{Parents: true})
	requireCode(t, tool.InvalidArgument, err)
	assert.NoDirExists(t, filepath.Join(dir, "none"), "what was made for a file that failed")
}
