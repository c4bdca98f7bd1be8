package clemini_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
)

// source is a bench on a part of Go's own source: a real tree, available wherever the test runs.
func source(t testing.TB) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(filepath.Join(goroot(t), "src", "net"))
	require.NoError(t, err)
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	b := newBenchOf(t, clemini.Deps{Workspace: ws,
		Tasks: background.Open(t.TempDir(), background.Options{})})
	b.root = root
	return b
}

func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// grepQueries returns 60 searches: patterns by ways to search.
func grepQueries() []args {
	patterns := []string{"func ", `^package \w+`, `Err[A-Z]\w*`, "TODO|BUG", `\bio\.EOF\b`, `return nil, err$`,
		"[0-9]{4}", `"[^"]*\\n"`, "(?i)deadline", `x{2,}`, "ü", `\(\)\s*\{`}
	var queries []args
	for i, pattern := range patterns {
		queries = append(queries,
			args{"pattern": pattern},
			args{"pattern": pattern, "directory": []string{"http", "textproto", "netip", "url"}[i%4],
				"context": 1 + i%3},
			args{"pattern": pattern, "type": []string{"go", "txt", "md", "html"}[i%4],
				"output_mode": "files_with_matches"},
			args{"pattern": pattern, "file_pattern": []string{"*_test.go", "*.go", "t*.go", "*.pem"}[i%4],
				"output_mode": "count"},
			args{"pattern": strings.ToUpper(strings.Map(onlyLetters, pattern+"eof")), "case_insensitive": true,
				"before_context": i % 2, "after_context": i % 3},
		)
	}
	return queries
}

func onlyLetters(c rune) rune {
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ' ' {
		return c
	}
	return -1
}

// rgArgs returns ripgrep's arguments for a query, as a person would write them.
func rgArgs(q args) []string {
	out := []string{"--no-config", "--hidden", "--sort", "path", "--no-heading", "--with-filename", "--line-number",
		"--color=never", "--crlf"}
	number := func(name string, fallback int) string {
		if v, ok := q[name]; ok {
			return fmt.Sprint(v)
		}
		return fmt.Sprint(fallback)
	}
	around, _ := q["context"].(int)
	out = append(out, "-B", number("before_context", around), "-A", number("after_context", around))
	if q["case_insensitive"] == true {
		out = append(out, "-i")
	}
	if v, ok := q["type"]; ok {
		out = append(out, "-t", v.(string))
	}
	if v, ok := q["file_pattern"]; ok {
		out = append(out, "-g", v.(string))
	}
	dir := "."
	if v, ok := q["directory"]; ok {
		dir = v.(string)
	}
	return append(out, "-e", q["pattern"].(string), dir)
}

// rgLines runs ripgrep and returns its matching lines as file:line:text, and
// its context lines as file-line-text.
func rgLines(t testing.TB, dir string, q args) (matching, around []string) {
	t.Helper()
	cmd := exec.Command("rg", append([]string{"--null"}, rgArgs(q)...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
		require.NoError(t, err, "%v", q)
	}
	for line := range strings.Lines(string(out)) {
		name, rest, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if !found {
			continue // between groups
		}
		name = strings.TrimPrefix(name, "./")
		at := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
		text := strings.TrimSuffix(rest[at+1:], "\r")
		if rest[at] == ':' {
			matching = append(matching, name+":"+rest[:at]+":"+text)
		} else {
			around = append(around, name+"-"+rest[:at]+"-"+text)
		}
	}
	return matching, around
}

func TestGrepAgainstRipgrep(t *testing.T) {
	testneed.NotShort(t, "compares with another program")
	testneed.Program(t, "rg")
	b := source(t)
	found := 0
	for _, q := range grepQueries() {
		want, around := rgLines(t, b.root, q)
		got := b.ok("grep", q)
		found += len(want)
		switch q["output_mode"] {
		case "files_with_matches":
			assert.Equal(t, filesOf(want), asTexts(got["matches"]), "%v", q)
			assert.EqualValues(t, len(filesOf(want)), got["total_found"], "%v", q)
		case "count":
			assert.Equal(t, countsOf(want), countTexts(got["matches"]), "%v", q)
			assert.EqualValues(t, len(want), got["total_found"], "%v", q)
		default:
			lines, beside := lineTexts(got["matches"])
			require.True(t, slices.Equal(want, lines), "%v: %d and %d lines", q, len(want), len(lines))
			assert.EqualValues(t, len(want), got["total_found"], "%v", q)
			for _, line := range around {
				require.True(t, beside[line], "%v: %s", q, line)
			}
		}
	}
	assert.Greater(t, found, 20_000, "the queries find something")
}

func filesOf(lines []string) []string {
	files := []string{}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		files = append(files, name)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func countsOf(lines []string) []string {
	counts := map[string]int{}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		counts[name]++
	}
	out := []string{}
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(out)
	return out
}

func asTexts(v any) []string {
	out := []string{}
	for _, item := range v.([]any) {
		out = append(out, item.(string))
	}
	return out
}

func countTexts(v any) []string {
	out := []string{}
	for _, item := range v.([]any) {
		object := item.(map[string]any)
		out = append(out, fmt.Sprintf("%s %v", object["file"], object["count"]))
	}
	slices.Sort(out)
	return out
}

// lineTexts returns matches in ripgrep's form, and their context.
func lineTexts(v any) (lines []string, beside map[string]bool) {
	beside = map[string]bool{}
	for _, item := range v.([]any) {
		m := item.(map[string]any)
		number := int(m["line"].(float64))
		lines = append(lines, fmt.Sprintf("%s:%d:%s", m["file"], number, m["content"]))
		before, _ := m["before"].([]any)
		for i, text := range before {
			beside[fmt.Sprintf("%s-%d-%s", m["file"], number-len(before)+i, text)] = true
		}
		after, _ := m["after"].([]any)
		for i, text := range after {
			beside[fmt.Sprintf("%s-%d-%s", m["file"], number+1+i, text)] = true
		}
	}
	return lines, beside
}

func globQueries() []args {
	var queries []args
	for _, pattern := range []string{
		"*", "*.go", "**", "**/*", "**/*.go", "**/*_test.go", "http/*", "http/*.go", "http/**/*.go", "**/testdata/**",
		"**/testdata/*", "*/testdata/*",
		"?*.go", "[a-d]*.go", "[!a-d]*.go", "{dial,dnsclient}*.go", "**/{url,addr}*.go", "http/**/internal/*",
		"nothing/**", "**/*.{pem,txt,md}", "**/a*/**", "http/http*/*.go",
		"**/[0-9]*", "*_{linux,unix}.go", "**/*_linux*.go", "**/h2*", "**/README*", "**/*.golden", "**/.*", "*.*.*",
		"**/doc.go",
	} {
		queries = append(queries, args{"pattern": pattern})
	}
	for _, dir := range []string{"http", "mail", "internal", "rpc", "smtp"} {
		queries = append(queries, args{"pattern": "**/*.go", "directory": dir}, args{"pattern": "*", "directory": dir})
	}
	return queries[:40]
}

// bashGlob expands a pattern with bash and returns the regular files.
func bashGlob(t testing.TB, root string, q args) []string {
	t.Helper()
	dir, _ := q["directory"].(string)
	pattern := filepath.Join(dir, q["pattern"].(string))
	cmd := exec.Command("bash", "-O", "globstar", "-O", "nullglob", "-O", "dotglob", "-c", "printf '%s\\0' "+pattern)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	require.NoError(t, err)
	files := []string{}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if info, err := os.Lstat(filepath.Join(root, string(name))); err == nil && info.Mode()&fs.ModeType == 0 &&
			len(name) > 0 {
			files = append(files, string(name))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func TestGlobAgainstBash(t *testing.T) {
	testneed.NotShort(t, "compares with another program")
	testneed.Program(t, "bash")
	b := source(t)
	queries := globQueries()
	require.Len(t, queries, 40)
	found := 0
	for _, q := range queries {
		want := bashGlob(t, b.root, q)
		got := b.ok("glob", q)
		assert.Equal(t, want, asTexts(got["matches"]), "%v", q)
		assert.EqualValues(t, len(want), got["total_found"])
		found += len(want)
		part := maps.Clone(q)
		part["offset"], part["head_limit"] = len(want)/2, 7
		half := asTexts(b.ok("glob", part)["matches"])
		assert.Equal(t, want[len(want)/2:min(len(want), len(want)/2+7)], half, "%v", q)
	}
	assert.Greater(t, found, 1000)
}
