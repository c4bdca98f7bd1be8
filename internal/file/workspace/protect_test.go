package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

func protectedArena(t *testing.T) *arena {
	a := newArena(t)
	plant(t, a.ws,
		".git/hooks/pre-commit", "protected", ".agent/Taskfile.yml", "protected", ".agent/notes.md", "free",
		"agent.hcl", "protected", ".envrc", "protected", ".vscode/tasks.json", "protected", ".mcp.json", "protected",
		"vendor/lib/.git/config", "protected", "vendor/lib/code.go", "free", "sub/agent.hcl", "protected",
		"x/Taskfile.yml", "free")
	a.link(t, ".git", "gitlink")
	a.link(t, ".git/config", "conflink")
	a.link(t, a.ws+"/.agent", "d/agentlink")
	return a
}

func TestProtectedIsNotWritten(t *testing.T) {
	paths := []string{
		".git/config", ".git/new", ".git/hooks/pre-commit", ".GIT/config", ".Git/new", "d/../.git/config",
		".agent/Taskfile.yml",
		".AGENT/taskfile.YML", "agent.hcl", "AGENT.HCL", "agent.hcl.json", "agent.lock.hcl", ".envrc",
		".vscode/tasks.json", ".mcp.json",
		"gitlink/config", "gitlink/hooks/new", "conflink", "d/agentlink/Taskfile.yml", "vendor/lib/.git/config",
		".git./config", ".git /config", "git~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/config",
		"agent.hcl:stream", ".envrc.",
		".\u212Aenvrc/../.envrc", ".agent/runs/cli/events.jsonl", ".agent/RUNS/new",
		"sub/agent.hcl", "sub/AGENT.hcl.json", "sub/agent.hcl.new", "d/agent.hcl", "d/agent.lock.hcl",
		"d/.agent/Taskfile.yml",
		".claude/settings.json", ".cursor/mcp.json",
	}
	for _, op := range operations() {
		if op.name == "ReadFile" || op.name == "Open" || op.name == "Stat" || op.name == "Lstat" ||
			op.name == "ReadDir" ||
			op.name == "Walk" || op.name == "Check read" {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			a := protectedArena(t)
			w := a.open(t, workspace.Options{})
			before := tree(t, a.ws)
			for _, path := range paths {
				if op.nofollow && path == "conflink" {
					continue // the link itself may be removed
				}
				_, err := op.run(w, path)
				require.Error(t, err, path)
				if op.name == "Mkdir" && tool.CodeOf(err) == tool.NotADirectory {
					continue // below a protected file
				}
				require.Equal(t, tool.PermissionDenied, tool.CodeOf(err), "%s: %v", path, err)
				require.Contains(t, tool.AsError(err).Suggestion, "workspace.protect in agent.hcl", path)
				require.NotEmpty(t, tool.AsError(err).Details["pattern"], path)
			}
			require.Equal(t, before, tree(t, a.ws))
		})
	}
}

// A link with a protected name decides by its target what agents may do.
func TestLinksOfProtectedNamesAreNotWrittenThrough(t *testing.T) {
	a := newArena(t)
	plant(t, a.ws, "plain.hcl", "mine")
	a.link(t, "plain.hcl", "agent.hcl")
	a.link(t, "plain.hcl", "free.hcl")
	w := a.open(t, workspace.Options{})
	_, err := w.WriteFile("agent.hcl", []byte("theirs"), workspace.WriteOptions{})
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err), "%v", err)
	assert.Equal(t, "mine", content(t, a.ws, "plain.hcl"))
	_, err = w.WriteFile("free.hcl", []byte("theirs"), workspace.WriteOptions{})
	require.NoError(t, err, "the control: another link is written through")
	assert.Equal(t, "theirs", content(t, a.ws, "plain.hcl"))
}

func TestProtectedCanBeRead(t *testing.T) {
	a := protectedArena(t)
	w := a.open(t, workspace.Options{})
	for _, path := range []string{".git/config", "conflink", "gitlink/hooks/pre-commit", "agent.hcl",
		"d/agentlink/Taskfile.yml"} {
		got, _, err := w.ReadFile(path, 0)
		require.NoError(t, err)
		assert.Equal(t, "protected", string(got))
	}
	for _, path := range []string{".agent/notes.md", "vendor/lib/code.go", ".gitignore", "agent.md", "d/agents.hcl"} {
		_, err := w.WriteFile(path, []byte("changed"), workspace.WriteOptions{})
		require.NoError(t, err, path)
	}
}

func TestProtectedParentsStay(t *testing.T) {
	a := protectedArena(t)
	w := a.open(t, workspace.Options{})
	before := tree(t, a.ws)
	for _, path := range []string{".git", ".agent", ".AGENT/.", ".vscode", "vendor", "vendor/lib", "."} {
		if path == ".AGENT/." {
			continue // another name on a case-sensitive file system
		}
		requireCode(t, tool.PermissionDenied, w.Rename(path, "elsewhere", false))
		_, err := w.Check(path, workspace.Remove)
		requireCode(t, tool.PermissionDenied, err)
		_, err = w.Check(path, workspace.Read)
		require.NoError(t, err)
	}
	// A move cannot make anything protected.
	requireCode(t, tool.PermissionDenied, w.Rename("x/Taskfile.yml", ".agent/Taskfile.yml", true))
	requireCode(t, tool.PermissionDenied, w.Rename("d", ".vscode", true))
	require.Equal(t, before, tree(t, a.ws))

	require.NoError(t, os.RemoveAll(filepath.Join(a.ws, ".agent")))
	requireCode(t, tool.PermissionDenied, w.Rename("x", ".agent", false))
	_, err := w.Check(".", workspace.Write)
	require.NoError(t, err, "the root is a place to copy into")
	requireCode(t, tool.PermissionDenied, w.Rename("sub", "moved", false))
	require.NoError(t, w.Rename("x", "moved", false))
	require.NoError(t, w.Remove("gitlink"))
	assert.FileExists(t, filepath.Join(a.ws, ".git/config"))
}

func TestProtectIsConfigurable(t *testing.T) {
	a := protectedArena(t)
	w := a.open(t, workspace.Options{Protect: []string{"secrets", "**/.env", "/anchored/*.pem", "star*/**"}})
	for path, ok := range map[string]bool{
		".git/config": true, "secrets": false, "secrets/deep/key": false, "d/.env": false, ".ENV": false,
		"d/.env.sample":  true,
		"anchored/a.pem": false, "starry": false, "star/x": false, "d/a.pem": true,
	} {
		_, err := w.WriteFile(path, []byte("x"), workspace.WriteOptions{Parents: true})
		if ok {
			require.NoError(t, err, path)
		} else {
			requireCode(t, tool.PermissionDenied, err)
		}
	}
	_, err := workspace.Open(a.ws, workspace.Options{Protect: []string{"[broken"}})
	requireCode(t, tool.InvalidArgument, err)

	none := a.open(t, workspace.Options{Protect: []string{}})
	_, err = none.WriteFile("agent.hcl", []byte("x"), workspace.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, none.Rename(".git", "old.git", false))
	err = none.Batch(context.Background(), []workspace.Change{{Kind: workspace.Rename, Path: ".", To: "x"}})
	requireCode(t, tool.PermissionDenied, err)
}

// Names are literal, whatever characters they have.
func TestProtectedNames(t *testing.T) {
	a := newArena(t)
	for _, name := range []string{"[id].sh", "a{b.sh", "a}b.sh", `a\b.sh`, "*.sh"} {
		w, err := workspace.Open(a.ws, workspace.Options{Protect: []string{regexlimit.EscapeGlob(name)}})
		require.NoError(t, err, name)
		_, err = w.WriteFile(name, []byte("x"), workspace.WriteOptions{})
		assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err), name)
		_, err = w.WriteFile("i.sh", []byte("x"), workspace.WriteOptions{})
		assert.NoError(t, err, name)
		require.NoError(t, w.Close())
	}
}
