package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func plantFile(t *testing.T, root, name string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o644))
}

func TestPlanted(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".git/HEAD", ".git/config", "old/.git/config", "a/b/c.txt", ".agent/cache/x/y"} {
		plantFile(t, root, name)
	}
	p := NewPlanted(root, []string{".envrc", ".vscode", ".cursor/mcp.json"},
		[]string{"agent.hcl*", ".agent/Taskfile.yml"})
	p.Begin()
	require.Empty(t, p.End(), "what was there is not new")

	for _, name := range []string{
		"a/b/agent.hcl", "a/agent.hcl.json", "new/deep/.git/config", "file/.git", ".envrc", ".vscode/tasks.json",
		".cursor/mcp.json",
		"a/.agent/Taskfile.yml", ".git/commondir", ".git/refs/x", "a/.envrc", ".agent/cache/x/agent.hcl",
	} {
		plantFile(t, root, name)
	}
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(root, "a", "b", ".git")))
	var names []string
	for _, said := range p.End() {
		names = append(names, strings.Fields(said)[0])
	}
	assert.ElementsMatch(t, []string{
		"a/b/agent.hcl", "a/agent.hcl.json", "new/deep/.git", "file/.git", ".envrc", ".vscode", ".cursor/mcp.json",
		"a/.agent/Taskfile.yml", ".git/commondir", "a/b/.git",
	}, names)
	assert.NoFileExists(t, filepath.Join(root, ".git", "commondir"))
	assert.FileExists(t, filepath.Join(root, ".git", "config"))
	assert.FileExists(t, filepath.Join(root, "new", "deep", ".git", "config"), "what the user may have made stays")
	assert.Empty(t, p.End(), "each is told once")
}

// The root counts as one of the directories that are looked at.
func TestPlantedFarAway(t *testing.T) {
	root := t.TempDir()
	dir := func(n int) string { return fmt.Sprintf("d%04d", n) }
	for n := range mostDirectories {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir(n)), 0o755))
	}
	p := NewPlanted(root, nil, []string{"agent.hcl*"})
	p.Begin()
	last, beyond := dir(mostDirectories-2), dir(mostDirectories-1)
	plantFile(t, root, last+"/agent.hcl")
	plantFile(t, root, beyond+"/agent.hcl")
	said := strings.Join(p.End(), "\n")
	assert.Contains(t, said, last+"/agent.hcl is new")
	assert.NotContains(t, said, beyond)
}

// Who makes a repository where there is none is not disturbed.
func TestPlantedWithoutARepository(t *testing.T) {
	root := t.TempDir()
	p := NewPlanted(root, nil, nil)
	p.Begin()
	plantFile(t, root, ".git/HEAD")
	plantFile(t, root, ".git/config")
	assert.Len(t, p.End(), 1)
	assert.FileExists(t, filepath.Join(root, ".git", "config"))
}

// A directory that was changed long ago is not read again, whatever time a
// program gives it.
func TestPlantedWithAChangedTime(t *testing.T) {
	root := t.TempDir()
	plantFile(t, root, "a/x")
	p := NewPlanted(root, nil, nil)
	p.Begin()
	p.dirs["a"] = directory{changed: 1} // as if it had been read another time
	plantFile(t, root, "a/.git")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(root, "a"), old, old))
	assert.Len(t, p.End(), 1)
}

func BenchmarkPlanted(b *testing.B) {
	root := b.TempDir()
	for i := range 500 {
		dir := filepath.Join(root, "d"+string(rune('a'+i%26)), "e"+string(rune('a'+i/26)))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	}
	p := NewPlanted(root, nil, []string{"agent.hcl*"})
	p.Begin()
	time.Sleep(settled)
	p.End()
	for b.Loop() {
		p.End()
	}
}
