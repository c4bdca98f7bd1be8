package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// walked lists what Walk visits; directories end in a slash, links in @.
func walked(t *testing.T, w *workspace.Workspace, dir string, opts workspace.WalkOptions) []string {
	t.Helper()
	var got []string
	require.NoError(t, w.Walk(context.Background(), dir, opts, func(e workspace.Entry) error {
		switch {
		case e.Dir:
			got = append(got, e.Path+"/")
		case e.Symlink:
			got = append(got, e.Path+"@")
		default:
			got = append(got, e.Path)
		}
		return nil
	}))
	return got
}

func TestWalk(t *testing.T) {
	a := newArena(t)
	plant(t, a.ws, "d.txt", "", "d-x", "", "d0", "", ".hidden/f", "", "node_modules/x.js", "", "d/node_modules/y.js",
		"", ".toolhost-tmp-1-0123456789abcdef", "")
	a.link(t, "d", "dirlink")
	a.link(t, "in.txt", "filelink")
	a.link(t, "../outside", "out")
	w := a.open(t, workspace.Options{})
	skip := []string{"node_modules", ".git"}
	assert.Equal(t, []string{
		".hidden/", ".hidden/f", "d/", "d-x", "d.txt", "d/f.txt", "d/sub/", "d/sub/g.txt", "d0", "dirlink@",
		"filelink@", "in.txt", "out@",
	}, walked(t, w, ".", workspace.WalkOptions{Hidden: true, SkipDirs: skip}))
	assert.Equal(t, []string{"d/f.txt", "d/node_modules/", "d/sub/"},
		walked(t, w, "d", workspace.WalkOptions{MaxDepth: 1}))
	assert.Equal(t, []string{"d/f.txt", "d/node_modules/", "d/node_modules/y.js"},
		walked(t, w, "dirlink", workspace.WalkOptions{SkipDirs: []string{"d/s*"}}))

	ctx := context.Background()
	var got []string
	require.NoError(t, w.Walk(ctx, ".", workspace.WalkOptions{}, func(e workspace.Entry) error {
		got = append(got, e.Path)
		switch e.Path {
		case "d":
			return fs.SkipDir
		case "filelink":
			return fs.SkipAll
		}
		return nil
	}))
	assert.Equal(t, []string{"d", "d-x", "d.txt", "d0", "dirlink", "filelink"}, got)

	boom := errors.New("boom")
	require.ErrorIs(t, w.Walk(ctx, ".", workspace.WalkOptions{}, func(workspace.Entry) error { return boom }), boom)
	none := func(workspace.Entry) error { return nil }
	requireCode(t, tool.NotFound, w.Walk(ctx, "none", workspace.WalkOptions{}, none))
	requireCode(t, tool.NotADirectory, w.Walk(ctx, "in.txt", workspace.WalkOptions{}, none))
	requireCode(t, tool.TooLarge, w.Walk(ctx, ".", workspace.WalkOptions{MaxEntries: 5}, none))
	requireCode(t, tool.InvalidArgument, w.Walk(ctx, ".", workspace.WalkOptions{SkipDirs: []string{"[x"}}, none))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	requireCode(t, tool.Cancelled, w.Walk(cancelled, ".", workspace.WalkOptions{}, none))
}

func TestWalkSkipsSeveral(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "d/f", "", "d-x/f", "", "d.x/f", "", "e/f", "")
	w := open(t, dir, workspace.Options{})
	var got []string
	require.NoError(t, w.Walk(context.Background(), ".", workspace.WalkOptions{}, func(e workspace.Entry) error {
		got = append(got, e.Path)
		if strings.HasPrefix(e.Path, "d") {
			return fs.SkipDir
		}
		return nil
	}))
	assert.Equal(t, []string{"d", "d-x", "d.x", "e", "e/f"}, got)
}

func TestWalkIsSortedByPath(t *testing.T) {
	for seed := range uint64(20) {
		r := words{rand.New(rand.NewPCG(seed, 3))}
		dir := realTemp(t)
		r.grow(t, dir, 3)
		w := open(t, dir, workspace.Options{})
		var got, want []string
		require.NoError(t,
			w.Walk(context.Background(), ".", workspace.WalkOptions{Hidden: true}, func(e workspace.Entry) error {
				got = append(got, e.Path)
				return nil
			}))
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path != dir {
				want = append(want, strings.TrimPrefix(path, dir+"/"))
			}
			return err
		}))
		slices.Sort(want)
		require.Equal(t, want, got)
	}
}

func TestWalkIsBoundedInDepth(t *testing.T) {
	dir := realTemp(t)
	deep := strings.Repeat("d/", workspace.DefaultMaxDepth+10)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, deep), 0o755))
	w := open(t, dir, workspace.Options{})
	var skipped []string
	opts := workspace.WalkOptions{OnSkip: func(path string, err error) {
		requireCode(t, tool.TooLarge, err)
		skipped = append(skipped, path)
	}}
	assert.Len(t, walked(t, w, ".", opts), workspace.DefaultMaxDepth)
	assert.Equal(t, []string{strings.TrimSuffix(strings.Repeat("d/", workspace.DefaultMaxDepth), "/")}, skipped)
}

func TestGitignoreFromBelow(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, ".gitignore", "*.log\n/top\n/d/x\n", "d/.gitignore", "!keep.log\n", "d/e/a.log", "", "d/e/keep.log",
		"", "d/e/top", "", "d/x", "", "d/e/f", "")
	w := open(t, dir, workspace.Options{})
	assert.Equal(t, []string{"d/e/f", "d/e/keep.log", "d/e/top"},
		walked(t, w, "d/e", workspace.WalkOptions{Gitignore: true}))
	assert.Equal(t, []string{"d/e/", "d/e/f", "d/e/keep.log", "d/e/top"},
		walked(t, w, "d", workspace.WalkOptions{Gitignore: true}))
}

func TestGlobLikeDoublestar(t *testing.T) {
	patterns := []string{
		"*", "**", "**/*", "a*", "*.o", "**/*.b", "?", "[ab]", "[!a]*", "{a,b}", "{a,b}/*", "{a/a,b/**}", "a/*", "a/**",
		"*/a", "*/*", "**/a", "**/a/**", "a/**/b",
		"**/{a,b}/*", "*/[a-b]*/**", "a b*", "a\\ b*", ".*", "**/.*", "ab", "ab/a", "none", "none/*", "**/*.{o,b}",
		"{,a}*", "a/{b,ab}/**/*",
	}
	hits := 0
	for seed := range uint64(20) {
		r := words{rand.New(rand.NewPCG(seed, 5))}
		dir := realTemp(t)
		r.grow(t, dir, 3)
		removeLinks(t, dir) // doublestar follows them
		w := open(t, dir, workspace.Options{})
		for _, pattern := range patterns {
			want, err := doublestar.Glob(os.DirFS(dir), pattern)
			require.NoError(t, err)
			want = slices.DeleteFunc(want, func(s string) bool { return s == "." })
			slices.Sort(want)
			want = slices.Compact(want)
			for _, p := range []string{pattern, "./" + pattern, dir + "/" + pattern} {
				got, err := w.Glob(context.Background(), p, workspace.GlobOptions{})
				require.NoError(t, err)
				require.ElementsMatch(t, want, got, "seed %d: %s", seed, p)
				require.True(t, slices.IsSorted(got), "%s: %q", p, got)
			}
			hits += len(want)
		}
	}
	require.Greater(t, hits, 1000)
}

func removeLinks(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d.Type()&fs.ModeSymlink != 0 {
			return os.Remove(path)
		}
		return err
	}))
}

func TestGlob(t *testing.T) {
	a := newArena(t)
	plantLinks(t, a)
	plant(t, a.ws, ".gitignore", "*.tmp\n", "x.tmp", "", "d/y.tmp", "", "[z]", "")
	a.link(t, "d", "inlink")
	w := a.open(t, workspace.Options{})
	ctx := context.Background()
	glob := func(pattern string, opts workspace.GlobOptions) []string {
		got, err := w.Glob(ctx, pattern, opts)
		require.NoError(t, err, pattern)
		return got
	}
	all := workspace.GlobOptions{}
	assert.Equal(t, []string{"d/f.txt", "d/sub/g.txt", "in.txt"}, glob("**/*.txt", all))
	assert.Equal(t, []string{"d/sub"}, glob("d/*/", all))
	assert.Equal(t, []string{"d/f.txt"}, glob("d/../d/*.txt", all))
	assert.Equal(t, []string{"inlink/f.txt"}, glob("inlink/*.txt", all))
	assert.Equal(t, []string{"inlink/sub", "inlink/sub/g.txt"}, glob("inlink/sub/**", all))
	assert.Equal(t, []string{"[z]"}, glob("\\[z]", all))
	assert.Equal(t, []string{"in.txt"}, glob("in.txt", all))
	assert.Equal(t, []string{"d"}, glob("d/", all))
	assert.Equal(t, []string{}, glob("in.txt/", all))
	assert.Equal(t, []string{}, glob("nothing*", all))
	assert.Equal(t, []string{}, glob("none/deeper/*", all))
	assert.Equal(t, []string{}, glob("in.txt/*", all))
	assert.Equal(t, []string{}, glob("**/*.tmp", workspace.GlobOptions{Gitignore: true}))
	assert.Equal(t, []string{"d/f.txt"}, glob("**/*.txt", workspace.GlobOptions{Max: 1}))
	assert.Equal(t, []string{"d/f.txt", "d/sub/g.txt"},
		glob("d/**/*.txt", workspace.GlobOptions{FilesOnly: true, Gitignore: true}))
	assert.NotContains(t, glob("**", workspace.GlobOptions{NoHidden: true}), ".git")
	assert.Contains(t, glob("**", all), ".git/config")
	for _, pattern := range []string{"../*", "../outside/*", "/etc/*", "/*", a.outside + "/**", "dirlink/*",
		"absdir/**", "d/../../outside/*", "d/inner/*", "../**/f.txt", a.ws + "x/*"} {
		_, err := w.Glob(ctx, pattern, all)
		requireCode(t, tool.PathOutsideWorkspace, err)
	}
	for _, pattern := range []string{"[a", "{a", "*/../..", "{..,d}/*", "{../outside,d}/*", "d*/../../outside/*", "",
		"a\x00*", "\\../x*", ".{.,x}/outside/*", "[.]./outside/*", "?./outside/f*"} {
		got, err := w.Glob(ctx, pattern, all)
		if err == nil {
			assert.Empty(t, got, pattern)
			continue
		}
		assert.Contains(t, []tool.Code{tool.InvalidArgument, tool.PathOutsideWorkspace}, tool.CodeOf(err), pattern)
	}
	assert.True(t, a.intact(t))
}
