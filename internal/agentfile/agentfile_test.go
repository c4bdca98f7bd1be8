package agentfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/trust"
)

func TestRebase(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := func(name string) string {
		path := filepath.Join(base, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(path, 0o755))
		return path
	}
	for _, c := range []struct {
		from, to string
		globs    []string
		want     []string
	}{
		{"a", "a", []string{"x/**"}, []string{"x/**"}},
		{"a/b", "a", []string{"x", "**/*.go"}, []string{"b/x", "b/**/*.go"}},
		{"a/[b]", "a", []string{"x"}, []string{`\[b]/x`}},
		{"a", "a/b", []string{"b/x"}, []string{"x"}},
		{"a", "a/b", []string{"c/x", "x"}, nil},
		{"a", "a/b", []string{"b"}, []string{"**"}},
		{"a", "a/b", []string{"B/x"}, []string{"x"}},
		{"a", "a/b", []string{"*/x"}, []string{"x"}},
		{"a", "a/b/c", []string{"b/*/x"}, []string{"x"}},
		{"a", "a/b", []string{"**/x"}, []string{"**/x", "x"}},
		{"a", "a/b", []string{"{b,c}/x"}, []string{"**"}},
		{"a", "a/b", []string{`\b/x`}, []string{"**"}},
		{"a", "z", []string{"**"}, nil},
	} {
		assert.ElementsMatch(t, c.want, rebase(c.globs, dir(c.from), dir(c.to)), "%v of %s in %s", c.globs, c.from,
			c.to)
	}
}

// What was approved goes on to restrict, whatever becomes of the file.
func TestWhatWasApprovedRestricts(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws := filepath.Join(base, "ws")
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "src", "deep"), 0o755))
	store, file := trust.Open(filepath.Join(base, "trust")), filepath.Join(ws, config.FileName)
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), []byte(content), 0o600))
	}
	const approved = `workspace { root = "src" }
permissions { grant = [] }
sandbox {
  level = "docker"
  image = "x"
  read  = ["src/vendor"]
}
toolset "review" { tools = ["read_file", "rg"] }
tool "x" {
  write = ["/opt"]
  command { argv = ["sh", "build.sh"] }
}
`
	write(config.FileName, approved)
	find := func(dir string) *Standing {
		s, diags := Find(Options{Dir: dir, Store: store})
		require.False(t, diags.HasErrors(), "%v", diags)
		return s
	}
	assert.Equal(t, Unapproved, find(ws).State)
	require.NoError(t, Approve(store, file, []byte(approved), nil))
	s := find(ws)
	assert.Equal(t, Approved, s.State)
	assert.Len(t, s.Config.Tools, 1)

	restricts := func(state State, tools []string) {
		t.Helper()
		s := find(ws)
		assert.Equal(t, state, s.State)
		assert.Empty(t, s.Config.Tools)
		assert.Equal(t, filepath.Join(ws, "src"), s.Config.Workspace.Root, "the root")
		assert.Equal(t, []tool.Permission{}, s.Config.Granted, "nothing is granted")
		assert.Equal(t, "full", s.Config.Sandbox.Level)
		assert.Contains(t, s.Config.Keep, filepath.Join(ws, "src", "build.sh"))
		assert.Contains(t, s.Config.Keep, filepath.Join(ws, "src", "vendor"))
		require.Len(t, s.Config.Toolsets, 1)
		assert.Equal(t, tools, s.Config.Toolsets[0].Tools)
	}
	write(config.FileName, approved+"# more\n")
	restricts(Changed, []string{"read_file", "rg"})
	write(config.FileName, "toolset \"review\" { tools = [\"rm\", \"rg\"] }\n")
	restricts(Changed, []string{"rg"})
	require.NoError(t, os.Remove(file))
	restricts(Missing, []string{"read_file", "rg"})
	assert.Equal(t, filepath.Join(ws, "src", "deep"), find(filepath.Join(ws, "src", "deep")).Config.Workspace.Root,
		"below it")
	require.NoError(t, store.Revoke(file))
	assert.Equal(t, None, find(ws).State)
}
