package agentfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/project/trust"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// The approved text stays in force, whatever happens to the file.
func TestTheApprovedTextStaysInForce(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws := filepath.Join(base, "ws")
	deep := filepath.Join(ws, "src", "deep")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(ws, ".git"), 0o755))
	store, file := trust.Open(filepath.Join(base, "trust")), filepath.Join(ws, config.FileName)
	write := func(path, content string) { require.NoError(t, os.WriteFile(path, []byte(content), 0o600)) }
	const approved = "workspace {\n  root  = \"src\"\n  allow = [\"linked\"]\n}\ntool \"x\" {\n  command { argv = [\"x\"] }\n}\n"
	write(file, approved)
	find := func(dir string) *Standing {
		t.Helper()
		s, diags := Find(Options{Dir: dir, Store: store})
		require.False(t, diags.HasErrors(), "%v", diags)
		return s
	}
	ineffective := func(dir, path string) {
		t.Helper()
		s := find(dir)
		assert.Equal(t, Unapproved, s.State)
		assert.Equal(t, path, s.Path)
		assert.True(t, s.Config.ReadOnly)
	}
	inForce := func(dir string, state State) {
		t.Helper()
		s := find(dir)
		assert.Equal(t, state, s.State)
		assert.Len(t, s.Config.Tools, 1)
		assert.Equal(t, filepath.Join(ws, "src"), s.Config.Workspace.Root)
		assert.Equal(t, state == Moved, s.Config.ReadOnly)
	}
	ineffective(ws, file)
	assert.Equal(t, config.Workspace{Root: deep}, find(deep).Config.Workspace)
	assert.Empty(t, find(ws).Config.Tools)
	write(file, "not HCL {")
	ineffective(ws, file)
	require.NoError(t, os.Remove(file))
	testneed.Symlink(t, "missing", file)
	ineffective(ws, file)
	require.NoError(t, os.Remove(file))

	write(file, approved)
	require.NoError(t, Approve(store, file, []byte(approved), nil))
	inForce(ws, Approved)
	inForce(deep, Approved)
	for _, text := range []string{approved + "# more\n", "", "not HCL {", "tool \"y\" {}\n"} {
		write(file, text)
		inForce(ws, Changed)
	}

	write(file, approved)
	require.NoError(t, os.Symlink(base, filepath.Join(ws, "linked")))
	inForce(ws, Moved)
	require.NoError(t, os.Remove(filepath.Join(ws, "linked")))

	nearer := filepath.Join(ws, "src", config.FileName)
	write(nearer, "")
	ineffective(deep, nearer)
	s := find(deep)
	assert.Len(t, s.Config.Tools, 1, "the rules of the file above hold")
	assert.Equal(t, filepath.Join(ws, "src"), s.Config.Workspace.Root)
	require.NoError(t, os.Remove(nearer))

	require.NoError(t, os.Mkdir(filepath.Join(deep, ".git"), 0o755))
	inForce(deep, Approved) // a repository below changes nothing
	require.NoError(t, os.Remove(file))
	assert.Equal(t, None, find(deep).State)
	inForce(ws, Missing)
	require.NoError(t, store.Revoke(file))
	assert.Equal(t, None, find(ws).State)
	assert.False(t, find(ws).Config.ReadOnly)
}
