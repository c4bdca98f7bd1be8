package search_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestLikeRipgrep searches generated trees and compares with ripgrep.
func TestLikeRipgrep(t *testing.T) {
	testneed.NotShort(t, "compares with another program")
	rg := testneed.Program(t, "rg")
	trees, queries := 4, 120
	if os.Getenv("TOOLHOST_TEST_LONG") != "" {
		trees = 40
	}
	for seed := range trees {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			root := t.TempDir()
			g := &generator{t: t, r: rand.New(rand.NewPCG(uint64(seed), 1)), root: root}
			g.dir("", 0)
			ws, err := workspace.Open(root, workspace.Options{})
			require.NoError(t, err)
			defer ws.Close()
			compared := 0
			for range queries {
				q := g.query()
				q.Mode, q.Before, q.After, q.Max, q.Offset, q.Globs, q.Types = search.Lines, 0, 0, 0, 0, nil, nil
				if !q.NoIgnore {
					q.Dir = "" // ripgrep ignores what parent directories exclude
				}
				pattern, ok := search.ForRipgrep(q)
				if !ok {
					continue
				}
				found, err := search.New(ws).Grep(t.Context(), q)
				require.NoError(t, err, "%+v", q)
				got := []string{}
				for _, m := range found.Lines {
					got = append(got, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
				}
				require.Equal(t, ripgrep(t, rg, root, q, pattern), got, "%+v", q)
				compared++
			}
			require.Greater(t, compared, queries/2)
		})
	}
}

// ripgrep returns the lines that ripgrep finds, as path:line:text, without files that turn out to be binary.
func ripgrep(t *testing.T, rg, root string, q search.Query, pattern []string) []string {
	t.Helper()
	args := append([]string{"--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null",
		"--no-mmap", "--sort=path", "--line-number", "--no-ignore-dot", "--no-ignore-global", "--no-ignore-parent",
		"--no-ignore-exclude", "--no-require-git", "--glob", "!.git"}, pattern...)
	if q.Hidden {
		args = append(args, "--hidden")
	}
	if q.MaxDepth > 0 {
		args = append(args, "--max-depth", fmt.Sprint(q.MaxDepth))
	}
	if q.NoIgnore {
		args = append(args, "--no-ignore")
	} else if _, err := os.Stat(filepath.Join(root, ".git/info/exclude")); err == nil {
		args = append(args, "--ignore-file", ".git/info/exclude")
	}
	cmd := exec.Command(rg, append(args, "--", "./"+q.Dir)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) == 0 {
		err = nil
	}
	require.NoError(t, err, "%v", args)
	lines := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		name, rest, ok := strings.Cut(line, "\x00")
		if !ok {
			binary, _, _ := strings.Cut(line, ": WARNING: stopped searching binary file")
			delete(lines, binary)
			continue
		}
		rest = strings.TrimSuffix(rest, "\r")
		lines[name] = append(lines[name], filepath.Clean(name)+":"+strings.ToValidUTF8(rest, "\ufffd"))
	}
	found := []string{}
	for _, name := range slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return strings.Compare(filepath.Clean(a), filepath.Clean(b))
	}) {
		found = append(found, lines[name]...)
	}
	return found
}

// generator makes trees and matching queries.
type generator struct {
	t    *testing.T
	r    *rand.Rand
	root string
	dirs []string
}

func (g *generator) pick(choices ...string) string { return choices[g.r.IntN(len(choices))] }

func (g *generator) dir(rel string, depth int) {
	require.NoError(g.t, os.MkdirAll(filepath.Join(g.root, rel), 0o755))
	g.dirs = append(g.dirs, rel)
	if g.r.IntN(3) == 0 {
		g.write(filepath.Join(rel, ".gitignore"), g.ignoreFile())
	}
	for range g.r.IntN(12) {
		g.write(filepath.Join(rel, g.fileName()), g.content())
	}
	if g.r.IntN(3) == 0 {
		_ = os.Symlink(g.pick("a.go", ".", "..", "missing"), filepath.Join(g.root, rel, g.pick("link", "link.go")))
	}
	if depth == 0 && g.r.IntN(2) == 0 {
		require.NoError(g.t, os.MkdirAll(filepath.Join(g.root, rel, ".git/info"), 0o755))
		g.write(filepath.Join(rel, ".git/config"), "needle\n")
		g.write(filepath.Join(rel, ".git/info/exclude"), g.ignoreFile())
	}
	for range g.r.IntN(4) {
		if depth < 4 {
			g.dir(filepath.Join(rel, g.pick("src", "lib", "build", ".hidden", "a b", "été", "node_modules", "x.go")),
				depth+1)
		}
	}
}

func (g *generator) fileName() string {
	names := []string{"a.go", "b.go", "main.py", "README.md", "Makefile", "x.log", ".env", "a b.txt", "é.txt", "-e",
		"n", "t.ts", "A.GO", "a-b.c", "a.b.go", "[x].txt", "tab\t.go"}
	return g.pick(names...)
}

func (g *generator) ignoreFile() string {
	var b strings.Builder
	for range 1 + g.r.IntN(3) {
		b.WriteString(g.pick("*.log", "build/", "/lib", "!x.log", "src/*.py", "**/node_modules", "a.go", "# no",
			"*.txt", "!*.txt", ".env", "x.go/") + "\n")
	}
	return b.String()
}

func (g *generator) write(rel, content string) {
	name := filepath.Join(g.root, rel)
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		return
	}
	require.NoError(g.t, os.WriteFile(name, []byte(content), 0o644))
}

func (g *generator) content() string {
	end := g.pick("\n", "\n", "\n", "\r\n")
	var lines []string
	for range g.r.IntN(30) {
		lines = append(lines, g.line())
	}
	text := strings.Join(lines, end)
	if g.r.IntN(3) > 0 {
		text += end
	}
	switch g.r.IntN(14) {
	case 0:
		return "\xef\xbb\xbf" + text
	case 1:
		return utf16Text(text, true)
	case 2:
		return utf16Text(text, false)
	case 3:
		return text + "\x00needle\n"
	case 4:
		return text + strings.Repeat("filler line\n", 12_000) + "needle\x00\n"
	case 5:
		return text + strings.Repeat("x", 150_000) + "\nneedle TODO\n"
	case 6:
		return text + "needle caf\xe9 \xff\xfe TODO\n\xe9\nfoo(\xe9)\n"
	case 7:
		return ""
	}
	return text
}

func (g *generator) line() string {
	var words []string
	for range g.r.IntN(6) {
		words = append(words, g.pick("needle", "Needle", "NEEDLE", "TODO", "FIXME", "foo(bar)", "interface{}", "x", "é",
			"ÉTÉ", "\t", "a.b", "1234", "kelvin", "\u212aelvin", "ſharp", "日本", "$1", "\ufffd", "-", "error:", "end"))
	}
	return strings.Join(words, g.pick(" ", " ", "", "_"))
}

func utf16Text(text string, little bool) string {
	b := []byte{}
	put := func(u uint16) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	put(0xfeff)
	for _, u := range utf16.Encode([]rune(text)) {
		put(u)
	}
	return string(b)
}

func (g *generator) query() search.Query {
	q := search.Query{
		Pattern: g.pick("needle", "TODO|FIXME", "interface{}", `foo\(.*\)`, `^$`, `^needle`, `end$`, `\bfoo\b`,
			`\Beedle`, `[0-9]+`, `n.*e`, `\d{4}`, `é`, `été`, `x`, `kelvin`,
			`sharp`, `(?i)needle todo`, `.`, `..*`, `[^a-z]+$`, `\s`, `\S+\s\S+`, `needle.`, `.$`, `^.{1,3}$`, `\w+é`,
			`(needle|x) +`, `a*`, `\p{Lu}`, `[[:upper:]]{4}`, `\x{65e5}`, `e{2}d`, `(?:nee|foo)(?:dle|\()`,
			`caf.`, `caf[^x]`, `\ANeedle`, `x\z`, `(?s)a.b`, `(?-s:.)needle`, `\W`, `[\s\S]`, `$`, `^`, `-`, `-e`, `\t`,
			`[.]b`, `(`[:0]+`\(`, `needle(?P<rest>.*)`, `\x{fffd}`, `\r`, `end\r`, `e\r$`, `.\r`, `[^e]+\r$`,
			`needle\s*\r`),
		IgnoreCase: g.r.IntN(3) == 0,
		Hidden:     g.r.IntN(3) == 0,
		NoIgnore:   g.r.IntN(4) == 0,
		Mode:       search.Mode(g.r.IntN(3)),
		Before:     max(0, g.r.IntN(6)-3),
		After:      max(0, g.r.IntN(6)-3),
		MaxDepth:   max(0, g.r.IntN(6)-3),
	}
	if g.r.IntN(5) == 0 {
		q.Pattern, q.Literal = g.pick("foo(bar)", "a.b", "needle", "$1", "é", "interface{}", "\\", "[", "-"), true
	}
	if g.r.IntN(3) == 0 {
		q.Max, q.Offset = 1+g.r.IntN(20), g.r.IntN(8)
	}
	switch g.r.IntN(6) {
	case 0:
		q.Globs = []string{g.pick("*.go", "*.{go,py}", "**/*.go", "src/**", "a*", "**/*", "*", "[ab].go", "!*.go",
			"x.go", "/a.go", "é*", "*/*.md", "?.go")}
	case 1:
		q.Types = []string{g.pick("go", "py", "md", "make", "c", "ts", "log", "txt")}
	case 2:
		q.Globs = []string{g.pick("*.go", "*.md"), g.pick("*.py", "!b.go")}
	}
	if g.r.IntN(3) == 0 {
		q.Dir = filepath.ToSlash(g.dirs[g.r.IntN(len(g.dirs))])
	}
	return q
}
