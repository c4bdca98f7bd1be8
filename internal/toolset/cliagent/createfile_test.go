package cliagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
)

func TestCreateFile(t *testing.T) {
	create := func(path, content string) args { return args{"path": path, "content": content} }
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		content := strings.Repeat("x", 125)
		g := b.ok("create_file", create("hello.py", content))
		assert.Equal(t, "Created file: hello.py (125 bytes)", g.Output)
		assert.Equal(t, []string{"hello.py"}, g.FilesAffected)
		assert.Nil(t, g.Metadata)
		assert.Equal(t, content, b.read("hello.py"))
	})
	t.Run("missing directories are created", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("create_file", create("a/b/c.txt", "x"))
		assert.Equal(t, []string{"a/b/c.txt"}, g.FilesAffected)
		assert.Equal(t, "x", b.read("a/b/c.txt"))
	})
	t.Run("content is written as it is", func(t *testing.T) {
		b := newBench(t)
		for i, content := range []string{"", "no newline", "a\r\nb\r\n", "Grüße 世界 🎉\n", "a\x00b", "$1 \\1 $&",
			"\ufefftext", "e\u0301"} {
			name := fmt.Sprintf("f%d", i)
			g := b.ok("create_file", create(name, content))
			assert.Equal(t, fmt.Sprintf("Created file: %s (%d bytes)", name, len(content)), g.Output)
			assert.Equal(t, content, b.read(name))
		}
	})
	t.Run("unicode and odd names", func(t *testing.T) {
		b := newBench(t)
		for _, name := range []string{"größe.txt", "e\u0301.txt", "mit leer.txt", "-dash", "a'b\"c", "*?"} {
			b.ok("create_file", create(name, "x"))
			assert.Equal(t, "x", b.read(name))
		}
	})
	t.Run("path absolute inside", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("create_file", create(b.path("abs.txt"), "x"))
		assert.Equal(t, []string{"abs.txt"}, g.FilesAffected)
	})
	t.Run("path with dots that stays inside", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("sub")
		g := b.ok("create_file", create("sub/../../ws/x.txt", "x"))
		assert.Equal(t, []string{"x.txt"}, g.FilesAffected)
	})
	t.Run("path through a symlink inside", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("real")
		b.link("real", "link")
		b.ok("create_file", create("link/x.txt", "x"))
		assert.Equal(t, "x", b.read("real/x.txt"))
	})
	t.Run("content limit 10MB", func(t *testing.T) {
		b := newBench(t)
		b.ok("create_file", create("max.txt", strings.Repeat("x", 10<<20)))
		b.fails("invalid_parameter", "Error: Content of 10485761 bytes is larger than the limit of 10MB",
			"create_file", create("more.txt", strings.Repeat("x", 10<<20+1)))
	})
	t.Run("error path outside working directory", func(t *testing.T) {
		b := newBench(t)
		b.link("..", "out")
		for _, path := range []string{"../etc/passwd", "/etc/passwd-x", "a/../../x", "out/x", b.root + "-sibling/x"} {
			b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory", "create_file",
				create(path, "x"))
		}
	})
	t.Run("error file already exists", func(t *testing.T) {
		b := newBench(t)
		b.write("test.txt", "old")
		b.link("nowhere", "dangling")
		for _, path := range []string{"test.txt", "./test.txt", "dangling"} {
			b.fails("file_exists", "Error: File '"+path+"' already exists. Use replace_string_in_file to modify",
				"create_file", create(path, "new"))
		}
		assert.Equal(t, "old", b.read("test.txt"))
	})
	t.Run("error path is a directory", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("src")
		b.fails("is_a_directory", "Error: Path 'src' is a directory", "create_file", create("src", "x"))
		b.fails("is_a_directory", "Error: Path '.' is a directory", "create_file", create(".", "x"))
		b.fails("invalid_parameter", "Error: Path 'new/' names a directory", "create_file", create("new/", "x"))
	})
	t.Run("error parent is a file", func(t *testing.T) {
		b := newBench(t)
		b.write("f.txt", "")
		below := b.fails("not_a_directory", "Error: Path 'f.txt' is not a directory", "create_file",
			create("f.txt/x", "x"))
		assert.Contains(t, below.Error.Suggestion, "It is a file")
	})
	t.Run("error permission denied protected", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{}, workspace.Options{Protect: []string{"protected.txt", ".git/**"}})
		for _, path := range []string{"protected.txt", "PROTECTED.TXT", ".git/hooks/pre-commit"} {
			b.fails("permission_denied", "Error: Cannot create file '"+path+"' - permission denied", "create_file",
				create(path, "x"))
		}
	})
	t.Run("error permission denied by the system", func(t *testing.T) {
		testneed.NotSuperuser(t)
		b := newBench(t)
		b.mkdir("ro")
		require.NoError(t, os.Chmod(b.path("ro"), 0o555))
		b.fails("permission_denied", "Error: Cannot create file 'ro/x' - permission denied", "create_file",
			create("ro/x", "x"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("path: is required", "create_file", args{"content": "x"})
		b.invalid("content: is required", "create_file", args{"path": "x"})
		b.invalid("path: must be a string", "create_file", args{"path": 1, "content": "x"})
		b.invalid("content: must be a string", "create_file", args{"path": "x", "content": []int{1}})
		b.invalid("path: must not be empty", "create_file", create("", "x"))
		b.invalid("mode: is not a known parameter", "create_file", args{"path": "x", "content": "", "mode": 1})
		b.invalid("NUL", "create_file", create("a\x00b", "x"))
	})
	t.Run("plan shows a diff", func(t *testing.T) {
		b := newBench(t)
		plan, err := b.tools["create_file"].(tool.Planner).Plan(t.Context(),
			&tool.Call{Params: tool.MustMarshal(create("a/x.txt", "one\ntwo\n"))})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/x.txt"}, plan.FilesAffected)
		assert.Contains(t, plan.Preview, "+++ b/a/x.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n")
		assert.NoFileExists(t, b.path("a/x.txt"))
	})
	t.Run("long names are refused", func(t *testing.T) {
		b := newBench(t)
		b.invalid("name is too long", "create_file", create(strings.Repeat("n", 300), "x"))
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, "create_file", tool.SafeWrite, `{"path":"string","content":"string"}`, "path", "content")
	})
}

func TestCreateDirectory(t *testing.T) {
	at := func(path string) args { return args{"path": path} }
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("create_directory", at("src/models"))
		assert.Equal(t, "Created directory: src/models", g.Output)
		assert.Equal(t, []string{"src/models"}, g.FilesAffected)
		assert.JSONEq(t, `{"created_parents":["src"]}`, g.meta())
		assert.DirExists(t, b.path("src/models"))
	})
	t.Run("parents in order", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("a")
		assert.JSONEq(t, `{"created_parents":["a/b","a/b/c"]}`, b.ok("create_directory", at("a/b/c/d")).meta())
	})
	t.Run("no parents", func(t *testing.T) {
		assert.JSONEq(t, `{"created_parents":[]}`, newBench(t).ok("create_directory", at("a")).meta())
	})
	t.Run("no error if the directory exists", func(t *testing.T) {
		b := newBench(t)
		b.mkdir("src")
		b.link("src", "link")
		for _, path := range []string{"src", "./src/", ".", "link"} {
			g := b.ok("create_directory", at(path))
			assert.Equal(t, "Directory already exists: "+path, g.Output)
			assert.Empty(t, g.FilesAffected)
			assert.JSONEq(t, `{"created_parents":[]}`, g.meta())
		}
	})
	t.Run("path absolute inside", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, []string{"x/y"}, b.ok("create_directory", at(b.path("x/y"))).FilesAffected)
	})
	t.Run("unicode", func(t *testing.T) {
		b := newBench(t)
		b.ok("create_directory", at("größe/世界"))
		assert.DirExists(t, b.path("größe/世界"))
	})
	t.Run("error path is a file", func(t *testing.T) {
		b := newBench(t)
		b.write("test.txt", "x")
		b.fails("file_exists", "Error: Path 'test.txt' exists as a file, cannot create directory", "create_directory",
			at("test.txt"))
	})
	t.Run("error parent is a file", func(t *testing.T) {
		b := newBench(t)
		b.write("d/test.txt", "x")
		b.fails("file_exists", "Error: Path 'd/test.txt' exists as a file, cannot create directory", "create_directory",
			at("d/test.txt/a/b"))
	})
	t.Run("error path outside working directory", func(t *testing.T) {
		b := newBench(t)
		b.link("..", "out")
		for _, path := range []string{"../x", "/tmp/x-y-z", "out/x"} {
			b.fails("path_outside_working_dir", "Error: Path '"+path+"' is outside working directory",
				"create_directory", at(path))
		}
		assert.NoDirExists(t, filepath.Join(b.outer, "x"))
	})
	t.Run("error permission denied protected", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{}, workspace.Options{Protect: []string{".git/**"}})
		b.fails("permission_denied", "Error: Cannot create directory - permission denied", "create_directory",
			at(".git/hooks"))
	})
	t.Run("error permission denied by the system", func(t *testing.T) {
		testneed.NotSuperuser(t)
		b := newBench(t)
		b.mkdir("ro")
		require.NoError(t, os.Chmod(b.path("ro"), 0o555))
		b.fails("permission_denied", "Error: Cannot create directory - permission denied", "create_directory",
			at("ro/x"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("path: is required", "create_directory", args{})
		b.invalid("path: must be a string", "create_directory", args{"path": true})
		b.invalid("path: must not be empty", "create_directory", at(""))
		b.invalid("parents: is not a known parameter", "create_directory", args{"path": "x", "parents": true})
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, "create_directory", tool.SafeWrite, `{"path":"string"}`, "path")
	})
}
