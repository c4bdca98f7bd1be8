package cliagent_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
)

func TestGrepSearch(t *testing.T) {
	text := func(pattern string) args { return args{"pattern": pattern} }
	regex := func(pattern string) args { return args{"pattern": pattern, "is_regex": true} }
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		b.write("app.py", strings.Repeat("\n", 14)+"# TODO: implement\n")
		b.write("lib/x.py", "# TODO a\nx\n    # TODO b")
		for i := range 8 {
			b.write(fmt.Sprintf("f%d", i), "nothing\n")
		}
		g := b.ok("grep_search", text("TODO"))
		assert.Equal(t, "Found 3 matches for 'TODO':\n  app.py:15: # TODO: implement\n  lib/x.py:1: # TODO a\n"+
			"  lib/x.py:3:     # TODO b", g.Output)
		assert.JSONEq(t, `{"total_matches":3,"files_searched":10,"pattern":"TODO"}`, g.meta())
		assert.Empty(t, g.FilesAffected)
	})
	t.Run("default is_regex false takes the text as it is", func(t *testing.T) {
		assert.Equal(t, false, defaults(t, "grep_search")["is_regex"])
		b := newBench(t)
		b.write("f", "a.b\naxb\n(x\n$1 [a] \\d *\n")
		assert.Equal(t, "Found 1 matches for 'a.b':\n  f:1: a.b", b.ok("grep_search", text("a.b")).Output)
		for _, special := range []string{"(x", "$1", "[a]", `\d`, "*", "]"} {
			assert.Contains(t, b.ok("grep_search", text(special)).Output, "Found 1 matches for '"+special+"'")
		}
	})
	t.Run("is_regex", func(t *testing.T) {
		b := newBench(t)
		b.write("f.go", "func Main() {\r\n\tx := 42\r\n}\r\n")
		assert.Equal(t, `Found 1 matches for '^func [A-Z]\w+\(\) \{$':`+"\n  f.go:1: func Main() {",
			b.ok("grep_search", regex(`^func [A-Z]\w+\(\) \{$`)).Output)
		assert.Contains(t, b.ok("grep_search", regex(`\d+`)).Output, "f.go:2: \tx := 42")
		assert.Contains(t, b.ok("grep_search", regex(`(?i)MAIN|zzz`)).Output, "Found 1 matches")
		assert.Contains(t, b.ok("grep_search", regex("^$")).Output, "No matches")
	})
	t.Run("case matters", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "todo\n")
		assert.Equal(t, "No matches found for 'TODO'", b.ok("grep_search", text("TODO")).Output)
	})
	t.Run("no match", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "x")
		b.write("empty", "")
		g := b.ok("grep_search", text("needle"))
		assert.Equal(t, "No matches found for 'needle'", g.Output)
		assert.JSONEq(t, `{"total_matches":0,"files_searched":2,"pattern":"needle"}`, g.meta())
	})
	t.Run("file_pattern", func(t *testing.T) {
		b := newBench(t)
		for _, name := range []string{"a.py", "src/b.py", "src/deep/c.py", "d.go"} {
			b.write(name, "x\n")
		}
		for pattern, want := range map[string]string{
			"*.py": "a.py src/b.py src/deep/c.py", "src/*.py": "src/b.py", "src/**/*.py": "src/b.py src/deep/c.py",
			"**/*.go": "d.go", "*.{py,go}": "a.py d.go src/b.py src/deep/c.py", "./src/*": "src/b.py",
			b.path("src") + "/*.py": "src/b.py", "*.rs": "",
		} {
			g := b.ok("grep_search", args{"pattern": "x", "file_pattern": pattern})
			files := []string{}
			for _, line := range strings.Split(g.Output, "\n")[1:] {
				files = append(files, strings.TrimSuffix(strings.TrimSpace(line), ":1: x"))
			}
			assert.Equal(t, want, strings.Join(files, " "), pattern)
			assert.EqualValues(t, len(files), g.Metadata["files_searched"])
		}
	})
	t.Run("default max_results 100", func(t *testing.T) {
		assert.Equal(t, "100", fmt.Sprint(defaults(t, "grep_search")["max_results"]))
		b := newBench(t)
		b.write("a", strings.Repeat("x\n", 60))
		b.write("b", strings.Repeat("x\n", 90))
		g := b.ok("grep_search", text("x"))
		assert.Equal(t, 100, strings.Count(g.Output, "\n  "))
		assert.Contains(t, g.Output, "\n  b:40: x\nWarning: Found 150 matches, showing first 100\n")
		assert.JSONEq(t, `{"total_matches":150,"files_searched":2,"pattern":"x"}`, g.meta())
		assert.True(t, g.result.Truncated)
	})
	t.Run("max_results 1 and 1000", func(t *testing.T) {
		b := newBench(t)
		b.write("a", strings.Repeat("x\n", 1100))
		assert.Contains(t, b.ok("grep_search", args{"pattern": "x", "max_results": 1}).Output,
			":\n  a:1: x\nWarning: Found 1100 matches, showing first 1\n")
		assert.Equal(t, 1000,
			strings.Count(b.ok("grep_search", args{"pattern": "x", "max_results": 1000}).Output, "\n  "))
	})
	t.Run("max_results must be between 1 and 1000", func(t *testing.T) {
		b := newBench(t)
		b.invalid("max_results: must be at least 1", "grep_search", args{"pattern": "x", "max_results": 0})
		b.invalid("max_results: must be at most 1000", "grep_search", args{"pattern": "x", "max_results": 1001})
	})
	t.Run("binary files are skipped", func(t *testing.T) {
		b := newBench(t)
		b.write("bin", "needle\x00")
		b.write("text", "needle")
		g := b.ok("grep_search", text("needle"))
		assert.Equal(t, "Found 1 matches for 'needle':\n  text:1: needle", g.Output)
	})
	t.Run("git and ignored files are left out, hidden ones not", func(t *testing.T) {
		b := newBench(t)
		for _, name := range []string{".git/HEAD", "node_modules/x.js", ".env.sample"} {
			b.write(name, "needle\n")
		}
		b.write(".gitignore", "node_modules\n")
		assert.Equal(t, "Found 1 matches for 'needle':\n  .env.sample:1: needle",
			b.ok("grep_search", text("needle")).Output)
	})
	t.Run("symlinks are not followed", func(t *testing.T) {
		b := newBench(t)
		b.write("d/f", "needle\n")
		b.link("d", "ld")
		b.link("d/f", "lf")
		b.link(b.outside("secret", "needle"), "out")
		assert.Equal(t, "Found 1 matches for 'needle':\n  d/f:1: needle", b.ok("grep_search", text("needle")).Output)
	})
	t.Run("encodings, no final newline, unicode names", func(t *testing.T) {
		b := newBench(t)
		b.write("größe.txt", "世界 é")
		b.write("latin1", "caf\xe9 needle")
		b.write("utf16", "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00")
		assert.Contains(t, b.ok("grep_search", text("世")).Output, "  größe.txt:1: 世界 é")
		assert.Equal(t, "Found 2 matches for 'needle':\n  latin1:1: caf\uFFFD needle\n  utf16:1: needle",
			b.ok("grep_search", text("needle")).Output)
	})
	t.Run("long lines are cut and counted once", func(t *testing.T) {
		b := newBench(t)
		b.write("min.js", strings.Repeat("needle;", 100000)+"\nneedle\n")
		g := b.ok("grep_search", text("needle"))
		assert.Contains(t, g.Output, "Found 2 matches")
		assert.Contains(t, g.Output, "more bytes]\n  min.js:2: needle")
		assert.Less(t, len(g.Output), 2000)
	})
	t.Run("error invalid regex", func(t *testing.T) {
		b := newBench(t)
		b.fails("invalid_regex", "Error: Invalid regex pattern: unclosed group", "grep_search", regex("(abc"))
		b.fails("invalid_regex", "Error: Invalid regex pattern: unclosed character class", "grep_search", regex("[abc"))
		b.fails("invalid_regex", "Error: Invalid regex pattern: unopened group", "grep_search", regex("abc)"))
		b.fails("invalid_regex", "Error: Invalid regex pattern: missing argument to repetition operator: *",
			"grep_search", regex("*a"))
	})
	t.Run("error invalid file_pattern", func(t *testing.T) {
		newBench(t).fails("invalid_pattern", "Error: Invalid glob pattern '*[.go'", "grep_search",
			args{"pattern": "x", "file_pattern": "*[.go"})
	})
	t.Run("warning timeout returns partial results", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{SearchTimeout: time.Nanosecond}, workspace.Options{})
		b.write("f", "x")
		g := b.ok("grep_search", text("x"))
		assert.Contains(t, g.Output, "Warning: Search timed out after 1e-09s, returning partial results")
		assert.True(t, g.result.Truncated)
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("pattern: is required", "grep_search", args{})
		b.invalid("pattern: must not be empty", "grep_search", text(""))
		b.invalid("is_regex: must be a boolean", "grep_search", args{"pattern": "x", "is_regex": "yes"})
		b.invalid("max_results: must be an integer", "grep_search", args{"pattern": "x", "max_results": 1.5})
		b.invalid("path: is not a known parameter", "grep_search", args{"pattern": "x", "path": "."})
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, "grep_search", tool.ReadOnly,
			`{"pattern":"string","is_regex":"boolean","file_pattern":"string","max_results":"integer"}`, "pattern")
	})
}

// TestGrepLikeRipgrep compares with ripgrep on a tree with common difficulties.
func TestGrepLikeRipgrep(t *testing.T) {
	rg := testneed.Program(t, "rg")
	b := newBench(t)
	b.mkdir(".git")
	b.write(".gitignore", "*.log\n!keep.log\nbuild/\n")
	for i := range 40 {
		b.write(fmt.Sprintf("d%d/f%d.txt", i%7, i), strings.Repeat("alpha beta\r\n\ngamma\n", i)+"alpha")
	}
	for _, name := range []string{"x.log", "keep.log", "build/out.txt", ".hidden/f", "bin"} {
		b.write(name, "alpha\n")
	}
	b.write("bin", "alpha\x00\n")
	b.link("d1", "link")
	for _, pattern := range []string{"alpha", "^alpha$", "a{1}lpha|gamma", "^$", "mm."} {
		cmd := exec.Command(rg, "--no-config", "--hidden", "--glob=!.git", "--sort=path", "--line-number",
			"--no-heading", "--color=never", "--crlf", "-e", pattern)
		cmd.Dir = b.root
		out, err := cmd.Output()
		require.NoError(t, err)
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		g := b.ok("grep_search", args{"pattern": pattern, "is_regex": true, "max_results": 1000})
		var have []string
		for _, line := range strings.Split(g.Output, "\n") {
			if match, ok := strings.CutPrefix(line, "  "); ok {
				have = append(have, strings.Replace(match, ": ", ":", 1))
			}
		}
		for i := range want {
			want[i] = strings.TrimSuffix(want[i], "\r")
		}
		assert.EqualValues(t, len(want), g.Metadata["total_matches"], pattern)
		assert.Subset(t, want, have, pattern)
	}
}
