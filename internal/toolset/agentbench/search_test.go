package agentbench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

func found(data map[string]any) []string {
	out := []string{}
	for _, m := range data["matches"].([]any) {
		m := m.(map[string]any)
		out = append(out, fmt.Sprintf("%s:%v:%s", m["file"], m["line"], m["content"]))
	}
	return out
}

func (f *fixture) search(t *testing.T, params any) []string {
	t.Helper()
	return found(f.succeeds(t, "search", params))
}

func TestSearchExample(t *testing.T) {
	f := newFixture(t)
	f.write(t, "src/main.py", "import sys\n\n\n# Entry point\ndef main():\n    print('hello')\n")
	f.write(t, "src/main.txt", "def main\n")
	assert.Equal(t, map[string]any{
		"matches": []any{map[string]any{
			"file": "src/main.py", "line": 5.0, "content": "def main():",
			"context_before": []any{"", "# Entry point"}, "context_after": []any{"    print('hello')"},
		}},
		"truncated": false, "total_matches": 1.0,
	}, f.succeeds(t, "search", `{"query":"def main","glob":"**/*.py","max_results":10}`))
}

func TestSearchNoMatch(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "x\n")
	assert.Equal(t, map[string]any{"matches": []any{}, "truncated": false, "total_matches": 0.0},
		f.succeeds(t, "search", `{"query":"y"}`))
}

func TestSearchQueryIsTextByDefault(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "a.b\naxb\n-e x\n$HOME\n(\n")
	assert.Equal(t, []string{"f:1:a.b"}, f.search(t, `{"query":"a.b"}`))
	assert.Equal(t, []string{"f:3:-e x"}, f.search(t, `{"query":"-e"}`))
	assert.Equal(t, []string{"f:4:$HOME"}, f.search(t, `{"query":"$HOME"}`))
	assert.Equal(t, []string{"f:5:("}, f.search(t, `{"query":"("}`))
}

func TestSearchIsRegex(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "a.b\naxb\nab\n\nlast")
	for query, want := range map[string][]string{
		"a.b":    {"f:1:a.b", "f:2:axb"},
		"^a":     {"f:1:a.b", "f:2:axb", "f:3:ab"},
		"b$":     {"f:1:a.b", "f:2:axb", "f:3:ab"},
		"^$":     {"f:4:"},
		"^last$": {"f:5:last"},
		"a|last": {"f:1:a.b", "f:2:axb", "f:3:ab", "f:5:last"},
		`b\sa`:   {},
		`\bab\b`: {"f:3:ab"},
	} {
		assert.Equal(t, want, f.search(t, map[string]any{"query": query, "is_regex": true}), query)
	}
}

func TestSearchIsCaseInsensitive(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "Error\nERROR\nerror\nother\nÜBER\nüber\n")
	assert.Len(t, f.search(t, `{"query":"eRRor"}`), 3)
	assert.Len(t, f.search(t, `{"query":"e(r)+or","is_regex":true}`), 3)
	assert.Len(t, f.search(t, `{"query":"über"}`), 2)
}

func TestSearchGlob(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a.py", "b.txt", "sub/c.py", "sub/deep/d.py", "other/e.py"} {
		f.write(t, name, "x\n")
	}
	for glob, want := range map[string][]string{
		"*.py":       {"a.py:1:x", "other/e.py:1:x", "sub/c.py:1:x", "sub/deep/d.py:1:x"},
		"**/*.py":    {"a.py:1:x", "other/e.py:1:x", "sub/c.py:1:x", "sub/deep/d.py:1:x"},
		"sub/**":     {"sub/c.py:1:x", "sub/deep/d.py:1:x"},
		"sub/*.py":   {"sub/c.py:1:x"},
		"/*.py":      {"a.py:1:x"},
		"!*.py":      {"b.txt:1:x"},
		"*.{txt,md}": {"b.txt:1:x"},
		"*.go":       {},
		"":           {"a.py:1:x", "b.txt:1:x", "other/e.py:1:x", "sub/c.py:1:x", "sub/deep/d.py:1:x"},
	} {
		assert.Equal(t, want, f.search(t, map[string]any{"query": "x", "glob": glob}), glob)
	}
	assert.Equal(t, []string{"sub/c.py:1:x"}, f.search(t, map[string]any{"query": "x", "glob": f.root + "/sub/*.py"}))
	f.fails(t, "path_escape", "leads out", "search", `{"query":"x","glob":"../*"}`)
	f.fails(t, "ripgrep_error", "does not parse", "search", `{"query":"x","glob":"[a"}`)
}

func TestSearchMaxResults(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a", strings.Repeat("x\n", 40))
	f.write(t, "b", strings.Repeat("x\n", 40))
	e := f.call(t, "search", `{"query":"x"}`)
	assert.Len(t, e.Data["matches"], 50)
	assert.Equal(t, true, e.Data["truncated"])
	assert.Equal(t, 80.0, e.Data["total_matches"])
	assert.NotEmpty(t, e.Data["hint"])
	assert.True(t, e.result.Truncated)
	data := f.succeeds(t, "search", `{"query":"x","max_results":80}`)
	assert.Len(t, data["matches"], 80)
	assert.Equal(t, false, data["truncated"])
	data = f.succeeds(t, "search", `{"query":"x","max_results":1}`)
	assert.Equal(t, []string{"a:1:x"}, found(data))
	assert.Equal(t, 80.0, data["total_matches"])
}

func TestSearchContextLines(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", strings.Replace(numbered(1, 30), "15\n", "hit\n", 1))
	for params, n := range map[string]int{`{"query":"hit"}`: 2, `{"query":"hit","context_lines":0}`: 0,
		`{"query":"hit","context_lines":10}`: 10} {
		m := f.succeeds(t, "search", params)["matches"].([]any)[0].(map[string]any)
		before, after := strs(m["context_before"]), strs(m["context_after"])
		assert.Len(t, before, n)
		assert.Len(t, after, n)
		if n > 0 {
			assert.Equal(t, "14", before[n-1])
			assert.Equal(t, "16", after[0])
			assert.Equal(t, fmt.Sprint(15-n), before[0])
		}
	}
}

func TestSearchContextAtTheEdgesAndOfNeighbours(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "x1\nx2\nend")
	data := f.succeeds(t, "search", `{"query":"x","context_lines":2}`)
	first, second := data["matches"].([]any)[0].(map[string]any), data["matches"].([]any)[1].(map[string]any)
	assert.Equal(t, []any{}, first["context_before"])
	assert.Equal(t, []any{"x2", "end"}, first["context_after"])
	assert.Equal(t, []any{"x1"}, second["context_before"])
	assert.Equal(t, []any{"end"}, second["context_after"])
}

func TestSearchLimitsOfParameters(t *testing.T) {
	f := newFixture(t)
	for _, params := range []string{`{"query":"x","context_lines":11}`, `{"query":"x","context_lines":-1}`,
		`{"query":"x","max_results":0}`, `{}`, `{"query":"x","other":1}`} {
		assert.NotEmpty(t, f.violations(t, "search", params), params)
	}
	f.fails(t, "invalid_argument", "empty", "search", `{"query":""}`)
}

func TestSearchOrder(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"b", "a/z", "a-b", "a.b", "a/b"} {
		f.write(t, name, "x\ny\nx\n")
	}
	assert.Equal(t, []string{"a-b:1:x", "a-b:3:x", "a.b:1:x", "a.b:3:x", "a/b:1:x", "a/b:3:x", "a/z:1:x", "a/z:3:x",
		"b:1:x", "b:3:x"}, f.search(t, `{"query":"x"}`))
}

func TestSearchPassesOver(t *testing.T) {
	f := newFixture(t)
	f.write(t, "binary", "x\x00x\n")
	f.write(t, "late", "x\n"+strings.Repeat("y\n", 20000)+"\x00")
	f.write(t, ".git/config", "x\n")
	f.write(t, ".hidden", "x\n")
	f.write(t, "out/ignored", "x\n")
	f.write(t, ".gitignore", "out/\n")
	f.write(t, "f", "x\n")
	f.link(t, "f", "link")
	f.link(t, f.outside(t), "dirlink")
	assert.Equal(t, []string{"f:1:x"}, f.search(t, `{"query":"x"}`))
	assert.Equal(t, []string{".hidden:1:x"}, f.search(t, `{"query":"x","glob":".h*"}`))
}

func TestSearchEncodingsAndEndings(t *testing.T) {
	f := newFixture(t)
	f.write(t, "crlf", "one\r\ntwo x\r\nthree\r\n")
	f.write(t, "utf16", "\xff\xfex\x00 \x00\xfc\x00\n\x00")
	f.write(t, "bom", "\xef\xbb\xbfx first\n")
	f.write(t, "latin", "x caf\xe9\n")
	data := f.succeeds(t, "search", `{"query":"x","context_lines":1}`)
	assert.Equal(t, []string{"bom:1:x first", "crlf:2:two x", "latin:1:x caf\ufffd", "utf16:1:x ü"}, found(data))
	assert.Equal(t, []any{"three"}, data["matches"].([]any)[1].(map[string]any)["context_after"])
}

func TestSearchRipgrepError(t *testing.T) {
	f := newFixture(t)
	e := f.fails(t, "ripgrep_error", "(", "search", `{"query":"(","is_regex":true}`)
	assert.Contains(t, e.Error.Details["suggestion"], "is_regex")
	f.fails(t, "ripgrep_error", "", "search", `{"query":"a)(b","is_regex":true}`)
	f.fails(t, "ripgrep_error", "line break", "search", `{"query":"a\nb"}`)
}

func TestSearchLongLine(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", strings.Repeat("ü", 5000)+"x\n")
	got := f.search(t, `{"query":"x"}`)
	require.Len(t, got, 1)
	assert.Less(t, len(got[0]), 5000)
	assert.True(t, strings.HasSuffix(got[0], "üx"), "what matches is shown")
	assert.Contains(t, got[0], "f:1:[... 5906 bytes] ü")
}

// The matches exceed one answer: "large outputs are truncated", as truncated and total_matches say.
func TestSearchAnswerIsBounded(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	const lines = 60_000
	f := newFixture(t)
	f.write(t, "a", strings.Repeat("needle\n", lines))
	e := f.call(t, "search", map[string]any{"query": "needle", "max_results": 1_000_000_000, "context_lines": 10})
	require.Equal(t, "success", e.Status)
	shown := len(e.Data["matches"].([]any))
	assert.Greater(t, shown, 1000)
	assert.Less(t, len(e.result.Structured), 16<<20)
	assert.Equal(t, true, e.Data["truncated"])
	assert.EqualValues(t, lines, e.Data["total_matches"])
	assert.Contains(t, e.Data["hint"], fmt.Sprintf("%d matches are left out", lines-shown))
	assert.Contains(t, e.Data["hint"], "narrow")
}

// another returns a fixture on the same files.
func (f *fixture) another(t *testing.T) *fixture {
	t.Helper()
	g := *f
	ws, err := workspace.Open(f.root, workspace.Options{Symlinks: workspace.Block})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	g.tools = map[string]tool.Tool{}
	for _, tl := range agentbench.New(agentbench.Deps{Workspace: ws}) {
		g.tools[tl.Definition().Name] = tl
	}
	return &g
}
