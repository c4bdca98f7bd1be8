package workspace_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// gitFiles returns git's files of the working tree.
func gitFiles(t *testing.T, dir string) []string {
	t.Helper()
	out := testgit.Run(t, dir, "ls-files", "-co", "--exclude-standard", "-z")
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// walkFiles returns Walk's.
func walkFiles(t *testing.T, w *workspace.Workspace) []string {
	t.Helper()
	var files []string
	opts := workspace.WalkOptions{Gitignore: true, Hidden: true}
	require.NoError(t, w.Walk(context.Background(), ".", opts, func(e workspace.Entry) error {
		if !e.Dir {
			files = append(files, e.Path)
		}
		return nil
	}))
	if files == nil {
		files = []string{""}
	}
	return files
}

func TestGitignoreOfKnownPatterns(t *testing.T) {
	names := []string{
		"a", "b.txt", "c.o", "d.O", "#hash", "!bang", "sp ace", "trail ", "back\\slash", "br[a]ck", "star*", "-", "]",
		"^",
		"build/x", "build/keep.txt", "src/build/y", "src/main.c", "src/main.o", "src/deep/er/z.log",
		"src/deep/er/keep.log",
		"doc/a/b/c", "doc/b", "doc/x/c", "foo/bar/baz", "foobar", "fooo/bar", "foo-1/bar", ".hidden", ".h/x", "UP/low",
		"node_modules/m/i.js",
		"pkg/node_modules/m/i.js", "é", "é1",
	}
	dir := realTemp(t)
	for _, name := range names {
		plant(t, dir, name, "x")
	}
	testgit.Run(t, dir, "init", "-q")
	w := open(t, dir, workspace.Options{})
	for _, patterns := range []string{
		"*.o", "*.[oO]", "build/", "/build", "build", "src/build/", "*/build", "**/build", "build/**",
		"**/er/*.log\n!keep.log", "doc/**/c", "doc/*/c",
		"doc/**", "/doc/**/b", "foo**/bar", "foo*/bar", "foo?/bar", "**/foo", "**", "*", "*\n!*.txt", "*\n!*/\n!*.txt",
		"/*\n!/src", "build/*\n!build/keep.txt",
		"build\n!build/keep.txt", "\\#hash", "#hash", "\\!bang", "!bang", "sp ace", "sp\\ ace", "trail ", "trail\\ ",
		"trail   ", "back\\\\slash", "br\\[a\\]ck", "br[[]a]ck",
		"star\\*", "[]-]", "[!a]", "[^a]", "[]]", "[[:alpha:]]", "[[:alpha:][:digit:]]", "[[:upper:]]*", "[[:nope:]]",
		"[[:alpha]", "[a", "[z-a]", "[a-c]", "[-a]", "[a-]", "[\\]]", "[\\a-c]",
		"a/", "a\r\nb.txt\r", "\ufeffa", "/", "//", "!", "\\", "a\\", "***", "a**", "**a", "src/**/z.log",
		"src/**/**/z.log", "src/deep/../deep", "./a", "**/", "/**", "/**/er/", "er/", "deep/er",
		"node_modules", "/node_modules/", "é", "é?", "?", "??", "*/", "!*/\n*", "foo/bar/baz", "foo/**/baz",
		"foo/bar/**/baz", "x**/c", "d*/**/c", "*\n!a\n", "UP", "up", "src/*\n!src/deep\nsrc/deep/*",
	} {
		plant(t, dir, ".gitignore", patterns)
		require.Equal(t, gitFiles(t, dir), walkFiles(t, w), "%q", patterns)
	}
}

// words makes random names and patterns from few parts, so that they match.
type words struct{ *rand.Rand }

func (r words) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r words) name() string {
	name := r.pick("a", "b", "ab", "abc", ".a", "a.b", "a b", "x")
	if r.IntN(3) == 0 {
		name += r.pick("a", ".o", "1", "-")
	}
	return name
}

func (r words) pattern() string {
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteString("!")
	}
	if r.IntN(4) == 0 {
		b.WriteString("/")
	}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString("/")
		}
		for range 1 + r.IntN(3) {
			b.WriteString(r.pick("a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "\\a", ".", r.name()))
		}
	}
	if r.IntN(4) == 0 {
		b.WriteString("/")
	}
	if r.IntN(8) == 0 {
		b.WriteString(" ")
	}
	return b.String()
}

func (r words) patterns() string {
	var lines []string
	for range 1 + r.IntN(6) {
		lines = append(lines, r.pattern())
	}
	return strings.Join(lines, "\n")
}

func (r words) grow(t *testing.T, dir string, depth int) {
	for range 2 + r.IntN(5) {
		name := filepath.Join(dir, r.name())
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		switch {
		case depth > 0 && r.IntN(2) == 0:
			require.NoError(t, os.Mkdir(name, 0o755))
			r.grow(t, name, depth-1)
		case r.IntN(10) == 0:
			require.NoError(t, os.Symlink(r.pick("a", "b", "..", "nowhere"), name))
		default:
			require.NoError(t, os.WriteFile(name, nil, 0o644))
		}
	}
	if r.IntN(3) == 0 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(r.patterns()), 0o644))
	}
}

func TestGitignoreOfGeneratedTrees(t *testing.T) {
	testneed.NotShort(t, "compares with git")
	ignored := 0
	for seed := range uint64(60) {
		r := words{rand.New(rand.NewPCG(seed, 7))}
		dir := realTemp(t)
		testgit.Run(t, dir, "init", "-q")
		r.grow(t, dir, 3)
		if r.IntN(3) == 0 {
			plant(t, dir, ".git/info/exclude", r.patterns())
		}
		w := open(t, dir, workspace.Options{})
		got := walkFiles(t, w)
		require.Equal(t, gitFiles(t, dir), got, "seed %d\n%s", seed, tree(t, dir))
		ignored += count(t, w) - len(got)
	}
	require.Greater(t, ignored, 200, "the patterns hit too little to prove anything")
}

// count counts the files, ignored or not.
func count(t *testing.T, w *workspace.Workspace) (n int) {
	t.Helper()
	opts := workspace.WalkOptions{Hidden: true, SkipDirs: []string{".git"}}
	require.NoError(t, w.Walk(context.Background(), ".", opts, func(e workspace.Entry) error {
		if !e.Dir {
			n++
		}
		return nil
	}))
	return n
}
