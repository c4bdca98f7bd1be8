package search_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

func open(t *testing.T, files map[string]string) *workspace.Workspace {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ws.Close()) })
	return ws
}

func each(t *testing.T, files map[string]string, test func(t *testing.T, s *search.Searcher)) {
	t.Helper()
	test(t, search.New(open(t, files)))
}

func grep(t *testing.T, s *search.Searcher, q search.Query) *search.Matches {
	t.Helper()
	m, err := s.Grep(t.Context(), q)
	require.NoError(t, err)
	return m
}

func places(m *search.Matches) []string {
	found := []string{}
	for _, l := range m.Lines {
		found = append(found, l.Path+":"+l.Text)
	}
	return found
}

func TestGlobThatNamesAnIgnoredDirectory(t *testing.T) {
	files := map[string]string{
		".gitignore": "build/\ngen\n", "build/a.go": "hit", "build/sub/b.go": "hit", "src/gen/c.go": "hit",
		"src/d.go": "hit", ".hid/e.go": "hit",
	}
	each(t, files, func(t *testing.T, s *search.Searcher) {
		for glob, want := range map[string][]string{
			"build/*.go": {"build/a.go:hit"}, "/build/**/*.go": {"build/a.go:hit", "build/sub/b.go:hit"},
			"./build/sub/b.go": {"build/sub/b.go:hit"},
			"src/gen/*":        {"src/gen/c.go:hit"}, "src/**/*.go": {"src/d.go:hit"}, "**/*.go": {"src/d.go:hit"},
			"b*/*.go": {}, "none/*.go": {}, ".hid/*.go": {},
			"build/a.go/x": {}, "../build/*.go": {},
		} {
			assert.Equal(t, want, places(grep(t, s, search.Query{Pattern: "hit", Globs: []string{glob}})), glob)
		}
		assert.Equal(t, []string{"src/gen/c.go:hit"},
			places(grep(t, s, search.Query{Pattern: "hit", Dir: "src", Globs: []string{"gen/*.go"}})))
		assert.Empty(t, grep(t, s, search.Query{Pattern: "hit", Globs: []string{"build/*.go"}, MaxDepth: 1}).Lines)
		assert.Len(t, grep(t, s, search.Query{Pattern: "hit", Globs: []string{"build/**"}, MaxDepth: 2}).Lines, 1)
	})
}

func TestCarriageReturn(t *testing.T) {
	each(t, map[string]string{"crlf": "hit\r\nlast hit", "lf": "hit\nhit\r more\n"},
		func(t *testing.T, s *search.Searcher) {
			for pattern, want := range map[string][]string{
				`hit\r`: {"crlf:hit", "lf:hit\r more"}, "hit\r": {"crlf:hit", "lf:hit\r more"}, `hit\r$`: {"crlf:hit"},
				`\r$`:  {"crlf:hit"},
				"hit$": {"crlf:hit", "crlf:last hit", "lf:hit"},
			} {
				assert.Equal(t, want, places(grep(t, s, search.Query{Pattern: pattern})), "%q", pattern)
			}
			assert.Equal(t, []string{"crlf:hit", "lf:hit\r more"},
				places(grep(t, s, search.Query{Pattern: "hit\r", Literal: true})))
		})
}

func TestLinesWithContext(t *testing.T) {
	each(t, map[string]string{"b/x.txt": "1\n2\nhit a\n4\nhit b\n6\n7", "a.txt": "hit\r\nlast"},
		func(t *testing.T, s *search.Searcher) {
			m := grep(t, s, search.Query{Pattern: "hit", Before: 2, After: 1})
			assert.Equal(t, []search.Match{
				{Path: "a.txt", Line: 1, Text: "hit", After: []string{"last"}},
				{Path: "b/x.txt", Line: 3, Text: "hit a", Before: []string{"1", "2"}, After: []string{"4"}},
				{Path: "b/x.txt", Line: 5, Text: "hit b", Before: []string{"hit a", "4"}, After: []string{"6"}},
			}, m.Lines)
			assert.Equal(t, 3, m.Total)
			assert.Equal(t, 2, m.FilesMatched)
			assert.Equal(t, 2, m.FilesSearched)
			assert.False(t, m.Truncated)
			assert.False(t, m.TimedOut)
		})
}

func TestModes(t *testing.T) {
	files := map[string]string{"a": "x\nx\ny\n", "b": "y\n", "c": "x x\n"}
	each(t, files, func(t *testing.T, s *search.Searcher) {
		m := grep(t, s, search.Query{Pattern: "x", Mode: search.Files})
		assert.Equal(t, []search.File{{Path: "a"}, {Path: "c"}}, m.Files)
		assert.Equal(t, 2, m.Total)
		m = grep(t, s, search.Query{Pattern: "x", Mode: search.Counts})
		assert.Equal(t, []search.File{{Path: "a", Lines: 2}, {Path: "c", Lines: 1}}, m.Files)
		assert.Equal(t, 3, m.Total)
		m = grep(t, s, search.Query{Pattern: "x", Mode: search.Counts, Max: 1, Offset: 1})
		assert.Equal(t, []search.File{{Path: "c", Lines: 1}}, m.Files)
		assert.False(t, m.Truncated)
	})
}

func TestMaxKeepsTheTrueTotal(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d/e", "d.f"} {
		files[name] = strings.Repeat("hit "+name+"\n", 3)
	}
	each(t, files, func(t *testing.T, s *search.Searcher) {
		m := grep(t, s, search.Query{Pattern: "hit", Max: 4, Offset: 2})
		assert.Equal(t, []string{"a:hit a", "b:hit b", "b:hit b", "b:hit b"}, places(m))
		assert.Equal(t, 15, m.Total)
		assert.True(t, m.Truncated)
		assert.Equal(t, grep(t, s, search.Query{Pattern: "hit", Max: 4}), grep(t, s, search.Query{Pattern: "hit", Max: 4, Offset: -3}))
		m = grep(t, s, search.Query{Pattern: "hit", Max: 4, Offset: 11})
		assert.Equal(t, []string{"d.f:hit d.f", "d/e:hit d/e", "d/e:hit d/e", "d/e:hit d/e"}, places(m))
		assert.False(t, m.Truncated)
		m = grep(t, s, search.Query{Pattern: "hit", Max: 4, Offset: 100})
		assert.Empty(t, m.Lines)
		assert.Equal(t, 15, m.Total)
	})
}

func TestWhatIsSearched(t *testing.T) {
	files := map[string]string{
		"a.go": "hit", "a_test.go": "hit", "b.py": "hit", "src/c.go": "hit", "src/d/e.go": "hit", "src/d/f.md": "hit",
		".hidden": "hit", ".dir/x.go": "hit", "out.log": "hit", "build/x.go": "hit", ".gitignore": "*.log\nbuild/\n",
		".git/config": "hit", "bin.go": "hit\n\x00", "empty.go": "",
	}
	each(t, files, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			name string
			q    search.Query
			want string
		}{
			{"default", search.Query{}, "a.go a_test.go b.py src/c.go src/d/e.go src/d/f.md"},
			{"hidden", search.Query{Hidden: true},
				".dir/x.go .hidden a.go a_test.go b.py src/c.go src/d/e.go src/d/f.md"},
			{"ignored", search.Query{NoIgnore: true},
				"a.go a_test.go b.py build/x.go out.log src/c.go src/d/e.go src/d/f.md"},
			{"directory", search.Query{Dir: "src"}, "src/c.go src/d/e.go src/d/f.md"},
			{"one file", search.Query{Dir: "src/c.go"}, "src/c.go"},
			{"one ignored file", search.Query{Dir: "out.log"}, "out.log"},
			{"depth", search.Query{MaxDepth: 1}, "a.go a_test.go b.py"},
			{"name", search.Query{Globs: []string{"*.go"}}, "a.go a_test.go src/c.go src/d/e.go"},
			{"name anywhere", search.Query{Globs: []string{"**/*.go"}}, "a.go a_test.go src/c.go src/d/e.go"},
			{"path", search.Query{Globs: []string{"src/**/*.go"}}, "src/c.go src/d/e.go"},
			{"path below the directory", search.Query{Dir: "src", Globs: []string{"d/*"}}, "src/d/e.go src/d/f.md"},
			{"at the top", search.Query{Globs: []string{"/*.go"}}, "a.go a_test.go"},
			{"all", search.Query{Globs: []string{"**/*"}}, "a.go a_test.go b.py src/c.go src/d/e.go src/d/f.md"},
			{"several", search.Query{Globs: []string{"*.py", "*.md"}}, "b.py src/d/f.md"},
			{"not", search.Query{Globs: []string{"*.go", "!*_test.go"}}, "a.go src/c.go src/d/e.go"},
			{"braces", search.Query{Globs: []string{"*.{py,md}"}}, "b.py src/d/f.md"},
			{"type", search.Query{Types: []string{"py"}}, "b.py"},
			{"type and glob", search.Query{Types: []string{"go"}, Globs: []string{"a*"}}, "a.go a_test.go"},
			{"extension", search.Query{Types: []string{"md", ".py"}}, "b.py src/d/f.md"},
		} {
			c.q.Pattern, c.q.Mode = "hit", search.Files
			var got []string
			for _, f := range grep(t, s, c.q).Files {
				got = append(got, f.Path)
			}
			assert.Equal(t, c.want, strings.Join(got, " "), c.name)
		}
	})
}

func TestSymlinksAreNotFollowed(t *testing.T) {
	ws := open(t, map[string]string{"dir/a": "hit"})
	require.NoError(t, os.Symlink("dir", filepath.Join(ws.Root(), "link")))
	require.NoError(t, os.Symlink("dir/a", filepath.Join(ws.Root(), "file")))
	s := search.New(ws)
	assert.Equal(t, []string{"dir/a:hit"}, places(grep(t, s, search.Query{Pattern: "hit"})))
	assert.Equal(t, []string{"dir/a:hit"}, places(grep(t, s, search.Query{Pattern: "hit", Dir: "link"})),
		"a named one is")
}

func TestPatterns(t *testing.T) {
	each(t, map[string]string{"a": "func f(x interface{}) {\nFUNC\nfunction\n\ncost: $1 (a.b)\n"},
		func(t *testing.T, s *search.Searcher) {
			for _, c := range []struct {
				q    search.Query
				want int
			}{
				{search.Query{Pattern: "interface{}"}, 1}, {search.Query{Pattern: "f(x", Literal: true}, 1},
				{search.Query{Pattern: "a.b", Literal: true}, 1},
				{search.Query{Pattern: "a+b", Literal: true}, 0}, {search.Query{Pattern: "$1", Literal: true}, 1},
				{search.Query{Pattern: "func"}, 2},
				{search.Query{Pattern: "func", IgnoreCase: true}, 3}, {search.Query{Pattern: `\bfunc\b`}, 1},
				{search.Query{Pattern: `^$`}, 1}, {search.Query{Pattern: `^func`}, 2},
				{search.Query{Pattern: `\)$`}, 1}, {search.Query{Pattern: "f.*{$"}, 1},
				{search.Query{Pattern: "nothing"}, 0},
			} {
				assert.Equal(t, c.want, grep(t, s, c.q).Total, "%+v", c.q)
			}
		})
}

func TestErrors(t *testing.T) {
	each(t, map[string]string{"a": "x"}, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			name string
			q    search.Query
			code tool.Code
			says string
		}{
			{"empty", search.Query{}, tool.InvalidArgument, "search pattern cannot be empty"},
			{"open group", search.Query{Pattern: "(a"}, tool.InvalidArgument, "missing closing )"},
			{"open class", search.Query{Pattern: "[a"}, tool.InvalidArgument, "missing closing ]"},
			{"nothing to repeat", search.Query{Pattern: "*a"}, tool.InvalidArgument,
				"missing argument to repetition operator"},
			{"look-ahead", search.Query{Pattern: "(?=a)"}, tool.InvalidArgument, "(?= is not supported"},
			{"group of no kind", search.Query{Pattern: "(?z)a"}, tool.InvalidArgument,
				"invalid or unsupported Perl syntax"},
			{"line break", search.Query{Pattern: `a\nb`}, tool.InvalidArgument, "line break"},
			{"literal line break", search.Query{Pattern: "a\nb", Literal: true}, tool.InvalidArgument, "line break"},
			{"not UTF-8", search.Query{Pattern: "a\xff"}, tool.InvalidArgument, "invalid UTF-8"},
			{"glob", search.Query{Pattern: "x", Globs: []string{"[a"}}, tool.InvalidArgument, "[a"},
			{"missing", search.Query{Pattern: "x", Dir: "no"}, tool.NotFound, "no"},
			{"outside", search.Query{Pattern: "x", Dir: ".."}, tool.PathOutsideWorkspace, ".."},
		} {
			_, err := s.Grep(t.Context(), c.q)
			require.Error(t, err, c.name)
			assert.Equal(t, c.code, tool.CodeOf(err), c.name)
			assert.ErrorContains(t, err, c.says, c.name)
			assert.NotEmpty(t, tool.AsError(err).Suggestion, c.name)
		}
	})
}

func TestTimeUpGivesWhatWasFound(t *testing.T) {
	each(t, map[string]string{"a": "x"}, func(t *testing.T, s *search.Searcher) {
		m := grep(t, s, search.Query{Pattern: "x", Timeout: time.Nanosecond})
		assert.True(t, m.TimedOut)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		m, err := s.Grep(ctx, search.Query{Pattern: "x"})
		require.NoError(t, err)
		assert.True(t, m.TimedOut)
	})
}

// The pattern takes long for one file.
func TestSlowPatternEndsInTime(t *testing.T) {
	line := strings.Repeat("ab cd ", 50) + "\n"
	ws := open(t, map[string]string{"a": strings.Repeat(line, 60_000)})
	start := time.Now()
	m := grep(t, search.New(ws),
		search.Query{Pattern: `(\w+\s+){40}[x-z]{3}`, Timeout: 50 * time.Millisecond})
	assert.True(t, m.TimedOut)
	assert.Less(t, time.Since(start), 30*time.Second)
}

// The pattern takes minutes for one line.
func TestSlowPatternEndsWithinALine(t *testing.T) {
	ws := open(t, map[string]string{"a": strings.Repeat("ab", 8<<20) + "\n"})
	s := search.New(ws)
	start := time.Now()
	m := grep(t, s, search.Query{Pattern: `([a-z]{0,100}[0-9]?){0,9}([a-z]{0,100}){0,5}[x-z]{3}$`,
		Timeout: 50 * time.Millisecond})
	assert.True(t, m.TimedOut)
	assert.Empty(t, m.Lines)
	assert.Less(t, time.Since(start), 30*time.Second)
}

// Long lines have the same results as short ones.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("é\xff-", 40_000)
	each(t, map[string]string{"a": long + "needle\r\n", "b": "needle" + long + "\n"},
		func(t *testing.T, s *search.Searcher) {
			for pattern, want := range map[string]int{"needle$": 1, "^needle": 1, "n[e]+dle": 2, "needle\\b": 2,
				"-\ufffd": 0, "^é.-": 0, "x$": 0} {
				assert.Equal(t, want, grep(t, s, search.Query{Pattern: pattern}).Total, pattern)
			}
			m := grep(t, s, search.Query{Pattern: "n[e]+dle", MaxLine: 60})
			require.Len(t, m.Lines, 2)
			assert.Contains(t, m.Lines[0].Text, "needle")
		})
}

func TestCancelled(t *testing.T) {
	each(t, map[string]string{"a": "x"}, func(t *testing.T, s *search.Searcher) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Grep(ctx, search.Query{Pattern: "x"})
		assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
	})
}

func TestAllowedDirectory(t *testing.T) {
	further := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(further, "f.txt"), []byte("hit"), 0o644))
	ws, err := workspace.Open(t.TempDir(), workspace.Options{Allow: []string{further}})
	require.NoError(t, err)
	defer ws.Close()
	m := grep(t, search.New(ws), search.Query{Pattern: "hit", Dir: further, Globs: []string{"/f.*"}})
	require.Len(t, m.Lines, 1)
	assert.Equal(t, "f.txt", filepath.Base(m.Lines[0].Path))
	assert.True(t, filepath.IsAbs(m.Lines[0].Path))
}

func TestPatternBeyondRE2(t *testing.T) {
	for pattern, reason := range map[string]string{
		`foo(?=bar)`: "(?= is not supported", `foo(?!bar)`: "(?! is not supported",
		`(?<=a)b`: "(?<= is not supported", `(?<!a)b`: "(?<! is not supported", `(a)\1`: `\1 is not supported`,
		`(`: "missing closing )",
	} {
		_, err := search.New(open(t, nil)).Grep(t.Context(), search.Query{Pattern: pattern})
		require.Error(t, err, pattern)
		e := tool.AsError(err)
		assert.Equal(t, tool.InvalidArgument, e.Code)
		assert.Equal(t, reason, e.Details["reason"])
		assert.Equal(t, reason != "missing closing )", strings.Contains(e.Suggestion, "RE2 has no"), e.Suggestion)
	}
}
