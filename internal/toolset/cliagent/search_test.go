package cliagent_test

import (
	"fmt"
	"os"
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

func TestListDir(t *testing.T) {
	at := func(path string) args { return args{"path": path} }
	many := func(b *bench, n int) {
		for i := range n {
			b.write(fmt.Sprintf("many/f%05d", i), "")
		}
	}
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		b.write("src/app.py", "")
		b.write("src/utils.py", "")
		b.mkdir("src/models")
		g := b.ok("list_dir", at("./src"))
		assert.Equal(t, "Contents of ./src:\n  app.py\n  utils.py\n  models/\n", g.Output)
		assert.JSONEq(t, `{"total_entries":3,"files":2,"directories":1}`, g.meta())
		assert.Empty(t, g.FilesAffected)
	})
	t.Run("default path", func(t *testing.T) {
		assert.Equal(t, ".", defaults(t, "list_dir")["path"])
		b := newBench(t)
		b.write("a", "")
		for _, params := range []args{{}, at("."), at("")} {
			assert.Equal(t, "Contents of .:\n  a\n", b.ok("list_dir", params).Output)
		}
	})
	t.Run("empty directory", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("list_dir", args{})
		assert.Equal(t, "Contents of .:\n", g.Output)
		assert.JSONEq(t, `{"total_entries":0,"files":0,"directories":0}`, g.meta())
	})
	t.Run("hidden, unicode and odd names", func(t *testing.T) {
		b := newBench(t)
		for _, name := range []string{".hidden", ".git/config", "größe", "a b", "new\nline", "Z"} {
			b.write(name, "")
		}
		assert.Equal(t, "Contents of .:\n  .hidden\n  Z\n  a b\n  größe\n  \"new\\nline\"\n  .git/\n",
			b.ok("list_dir", args{}).Output)
	})
	t.Run("symlinks count as what they lead to", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("d")
		b.write("f", "")
		b.link("d", "todir")
		b.link("f", "tofile")
		b.link("nowhere", "dangling")
		b.link("/etc", "outside")
		g := b.ok("list_dir", args{})
		assert.Equal(t, "Contents of .:\n  dangling\n  f\n  outside\n  tofile\n  d/\n  todir/\n", g.Output)
		assert.JSONEq(t, `{"total_entries":6,"files":4,"directories":2}`, g.meta())
		b.write("d/x", "")
		assert.Equal(t, "Contents of todir:\n  x\n", b.ok("list_dir", at("todir")).Output)
	})
	t.Run("limit 1000 entries", func(t *testing.T) {
		b := newBench(t)
		many(b, 1000)
		assert.NotContains(t, b.ok("list_dir", at("many")).Output, "Warning")
		b.write("many/f09999", "")
		b.mkdir("many/dir")
		g := b.ok("list_dir", at("many"))
		assert.Equal(t, 1000, strings.Count(g.Output, "\n  "))
		assert.Contains(t, g.Output,
			"\nWarning: Showing entries 1-1000 of 1002, 2 more are left out; continue with offset 1000\n")
		assert.JSONEq(t, `{"total_entries":1002,"files":1001,"directories":1}`, g.meta())
		assert.True(t, g.result.Truncated)
	})
	t.Run("offset continues", func(t *testing.T) {
		b := newBench(t)
		many(b, 1003)
		for _, offset := range []any{1000, "1000"} {
			g := b.ok("list_dir", args{"path": "many", "offset": offset})
			assert.Equal(t, "Contents of many:\n  f01000\n  f01001\n  f01002\n", g.Output)
			assert.JSONEq(t, `{"total_entries":1003,"files":1003,"directories":0}`, g.meta())
		}
		assert.Contains(t, b.ok("list_dir", args{"path": "many", "offset": 5000}).Output,
			"There are no entries from offset 1003")
		b.invalid("offset", "list_dir", args{"offset": -1})
		b.invalid("offset", "list_dir", args{"offset": "x"})
	})
	t.Run("path inside in any form", func(t *testing.T) {
		b := newBench(t)
		b.write("a/f", "")
		for _, path := range []string{"a/", "a/../a", b.path("a")} {
			assert.Equal(t, "Contents of "+path+":\n  f\n", b.ok("list_dir", at(path)).Output)
		}
	})
	t.Run("error not a directory", func(t *testing.T) {
		b := newBench(t)
		b.write("file.txt", "")
		b.fails("not_a_directory", "Error: Path 'file.txt' is not a directory", "list_dir", at("file.txt"))
	})
	t.Run("error path not found", func(t *testing.T) {
		newBench(t).fails("file_not_found", "Error: Path 'missing' not found", "list_dir", at("missing"))
	})
	t.Run("error path outside working directory", func(t *testing.T) {
		b := newBench(t)
		b.link("..", "out")
		for _, path := range []string{"..", "/etc", "out"} {
			b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory", "list_dir",
				at(path))
		}
	})
	t.Run("error permission denied", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{}, workspace.Options{Symlinks: workspace.Block})
		b.mkdir("d")
		b.link("d", "link")
		b.fails("permission_denied", "Error: Cannot list directory - permission denied", "list_dir", at("link"))
	})
	t.Run("error permission denied by the system", func(t *testing.T) {
		testneed.NotSuperuser(t)
		b := newBench(t)
		b.mkdir("d")
		require.NoError(t, os.Chmod(b.path("d"), 0))
		b.fails("permission_denied", "Error: Cannot list directory - permission denied", "list_dir", at("d"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("path: must be a string", "list_dir", args{"path": 1})
		b.invalid("recursive: is not a known parameter", "list_dir", args{"recursive": true})
	})
	t.Run("definition", func(t *testing.T) { checkDefinition(t, "list_dir", tool.ReadOnly, `{"path":"string"}`) })
}

func TestFileSearch(t *testing.T) {
	find := func(pattern string) args { return args{"pattern": pattern} }
	tree := func(t *testing.T) *bench {
		b := newBench(t)
		for _, name := range []string{"main.go", "cmd/main.go", "internal/agent.go", "internal/deep/x.go", "a.py",
			".github/ci.yml", ".git/config.go", "build/out.go", "docs/größe.md"} {
			b.write(name, "")
		}
		b.write(".gitignore", "build/\n")
		return b
	}
	t.Run("success", func(t *testing.T) {
		g := tree(t).ok("file_search", find("**/*.go"))
		assert.Equal(t, "Found 4 files matching '**/*.go':\n  cmd/main.go\n  internal/agent.go\n  internal/deep/x.go\n  main.go", g.Output)
		assert.JSONEq(t, `{"matches":4,"pattern":"**/*.go"}`, g.meta())
		assert.Empty(t, g.FilesAffected)
	})
	t.Run("patterns", func(t *testing.T) {
		b := tree(t)
		for pattern, want := range map[string][]string{
			"*.go": {"main.go"}, "./*.go": {"main.go"}, "cmd/main.go": {"cmd/main.go"}, "*/main.go": {"cmd/main.go"},
			"internal/**":    {"internal/agent.go", "internal/deep/x.go"},
			"**/{x,main}.go": {"cmd/main.go", "internal/deep/x.go", "main.go"},
			"[a-b].py":       {"a.py"}, "**/größe.*": {"docs/größe.md"}, "**/*.yml": {".github/ci.yml"},
			"?.py":                  {"a.py"},
			b.path("cmd") + "/*.go": {"cmd/main.go"}, "cmd/../*.py": {"a.py"},
		} {
			g := b.ok("file_search", find(pattern))
			assert.Equal(t, fmt.Sprintf("Found %d files matching '%s':\n  %s", len(want), pattern,
				strings.Join(want, "\n  ")), g.Output)
		}
	})
	t.Run("base_path", func(t *testing.T) {
		b := tree(t)
		for _, base := range []string{"internal", "./internal/", b.path("internal")} {
			g := b.ok("file_search", args{"pattern": "**/*.go", "base_path": base})
			assert.Equal(t, "Found 2 files matching '**/*.go':\n  internal/agent.go\n  internal/deep/x.go", g.Output)
		}
		assert.Contains(t, b.ok("file_search", args{"pattern": "*.go", "base_path": ""}).Output, "  main.go")
	})
	t.Run("default base_path", func(t *testing.T) { assert.Equal(t, ".", defaults(t, "file_search")["base_path"]) })
	t.Run("no match", func(t *testing.T) {
		b := tree(t)
		for _, pattern := range []string{"*.rs", "nowhere/*.go", "main.go/*", "cmd"} {
			g := b.ok("file_search", find(pattern))
			assert.Equal(t, "No files found matching pattern '"+pattern+"'", g.Output)
			assert.JSONEq(t, `{"matches":0,"pattern":"`+pattern+`"}`, g.meta())
		}
	})
	t.Run("git and ignored files are left out", func(t *testing.T) {
		g := tree(t).ok("file_search", find("**/*"))
		assert.NotContains(t, g.Output, ".git/")
		assert.NotContains(t, g.Output, "build")
		assert.Contains(t, g.Output, "  .github/ci.yml\n  .gitignore\n")
	})
	t.Run("symlinks to files are found, to directories not followed", func(t *testing.T) {
		b := newBench(t)
		b.write("d/x.go", "")
		b.link("d", "ld.go")
		b.link("d/x.go", "lf.go")
		b.link("/etc/passwd", "out.go")
		b.link(".", "d/loop")
		assert.Equal(t, "Found 2 files matching '**/*.go':\n  d/x.go\n  lf.go",
			b.ok("file_search", find("**/*.go")).Output)
		assert.Equal(t, "Found 1 files matching '*':\n  ld.go/x.go",
			strings.Replace(b.ok("file_search", args{"pattern": "*", "base_path": "ld.go"}).Output, "\n  ld.go/loop",
				"", 1))
	})
	t.Run("warning too many results", func(t *testing.T) {
		b := newBench(t)
		for i := range 2000 {
			b.write(fmt.Sprintf("f%04d.txt", i), "")
		}
		g := b.ok("file_search", find("*.txt"))
		assert.True(t, strings.HasPrefix(g.Output, "Found 2000 files matching '*.txt':\n  f0000.txt\n"))
		assert.Contains(t, g.Output, "\n  f0999.txt\nWarning: Found 2000 matches, showing first 1000\n")
		assert.Equal(t, 1000, strings.Count(g.Output, "\n  "))
		assert.JSONEq(t, `{"matches":2000,"pattern":"*.txt"}`, g.meta())
		assert.True(t, g.result.Truncated)
	})
	t.Run("depth limit 20 levels", func(t *testing.T) {
		b := newBench(t)
		at20 := strings.Repeat("d/", 19) + "f"
		b.write(at20, "")
		g := b.ok("file_search", find("**/f"))
		assert.Equal(t, "Found 1 files matching '**/f':\n  "+at20, g.Output)
		b.write(strings.Repeat("d/", 20)+"f", "")
		g = b.ok("file_search", find("**/f"))
		assert.Equal(t, "Found 1 files matching '**/f':\n  "+at20+
			"\nWarning: Directories more than 20 levels deep were not searched; name one as base_path", g.Output)
		g = b.ok("file_search", find(strings.Repeat("d/", 20)+"f*"))
		assert.Contains(t, g.Output, "No files found")
		assert.Contains(t, b.ok("file_search", args{"pattern": "**/f", "base_path": "d"}).Output, "Found 2 files")
	})
	t.Run("timeout gives partial results", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{SearchTimeout: time.Nanosecond}, workspace.Options{})
		b.write("f", "")
		g := b.ok("file_search", find("*"))
		assert.Contains(t, g.Output, "\nWarning: Search timed out after 1e-09s, returning partial results")
	})
	t.Run("error invalid pattern", func(t *testing.T) {
		b := newBench(t)
		for _, pattern := range []string{"**/*[.go", "{a", "", `a\`} {
			b.fails("invalid_pattern", "Error: Invalid glob pattern '"+pattern+"'", "file_search", find(pattern))
		}
	})
	t.Run("error base_path", func(t *testing.T) {
		b := newBench(t)
		b.write("f", "")
		b.link("..", "out")
		base := func(path string) args { return args{"pattern": "*", "base_path": path} }
		for _, path := range []string{"..", "/etc", "out"} {
			b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory", "file_search",
				base(path))
		}
		b.fails("file_not_found", "Error: Path 'missing' not found", "file_search", base("missing"))
		b.fails("not_a_directory", "Error: Path 'f' is not a directory", "file_search", base("f"))
	})
	t.Run("error pattern outside working directory", func(t *testing.T) {
		b := newBench(t)
		b.link("..", "out")
		for _, pattern := range []string{"../*", "/etc/*", "a/../../*"} {
			b.fails("path_outside_working_dir", "Error: Path '"+pattern+"' is outside working directory", "file_search",
				find(pattern))
		}
		b.fails("path_outside_working_dir", "Error: Path 'out' is outside working directory", "file_search",
			find("out/*"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("pattern: is required", "file_search", args{})
		b.invalid("pattern: must be a string", "file_search", args{"pattern": 1})
		b.invalid("base_path: must be a string", "file_search", args{"pattern": "*", "base_path": 1})
		b.invalid("max: is not a known parameter", "file_search", args{"pattern": "*", "max": 1})
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, "file_search", tool.ReadOnly, `{"pattern":"string","base_path":"string"}`, "pattern")
	})
}
