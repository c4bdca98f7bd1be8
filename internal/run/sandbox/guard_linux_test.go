package sandbox

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/file/obeyed"
)

func TestKeeper(t *testing.T) {
	k := keeper{
		writable: []string{"/ws", "/plain", "/home/u/.claude", "/home/u/.kiro/settings", "/home/u/.vscode/x"}, workspace: "/ws",
		paths: []string{"/ws/tools/srv.py", "/ws/.vscode"},
		names: obeyed.ParseGlobs([]string{"agent.hcl*", ".agent/Taskfile.yml"}), cache: "/ws/.agent/cache/sandbox",
	}
	nothing := func(string) bool { return false }
	for path, want := range map[string]bool{
		"/ws/tools/srv.py": true, "/ws/tools/other.py": false, "/ws/.vscode/deep/x": true, "/ws/.vscodes": false,
		"/ws/agent.hcl": true, "/ws/a/b/agent.hcl.json": true, "/ws/a/my-agent.hcl": false, "/plain/agent.hcl": true,
		"/ws/a/.agent/Taskfile.yml": true, "/ws/Taskfile.yml": false, "/elsewhere/agent.hcl": false,
		"/ws/.git": true, "/ws/.git/config": true, "/ws/.git/config.lock": false, "/ws/.git/index": false,
		"/ws/.git/commondir": true,
		"/ws/.git/hooks":     true, "/ws/.git/hooks/pre-commit": true, "/ws/.git/info/attributes": true,
		"/ws/.git/info/exclude":      false,
		"/ws/.git/refs/heads/config": false, "/ws/.git/logs/refs/heads/hooks": false,
		"/ws/.git/objects/info/alternates": true,
		"/ws/.git/modules/a/b/config":      true, "/ws/.git/modules/a/index": false,
		"/ws/.git/modules/a/refs/heads/config": false,
		"/ws/.git/worktrees/w/config.worktree": true, "/ws/lib/.git": true, "/ws/lib/.git/config": true,
		"/plain/.git/config": true, "/plain/sub/.envrc": true, "/ws/sub/.vscode/tasks.json": true,
		"/home/u/.claude/settings.json": true, "/home/u/.claude/hooks/h": true, "/home/u/.claude/projects/p.jsonl": false,
		"/home/u/.kiro/settings/mcp.json": true, "/home/u/.kiro/settings/x": false, "/home/u/.vscode/x/y": false,
		"/ws/.agent/cache/sandbox/tmp/x/.git/config": false, "/ws/.agent/cache/sandbox/tmp/agent.hcl": false,
	} {
		assert.Equal(t, want, k.protected(path, nothing), "protected %s", path)
	}
	for path, want := range map[string]bool{
		"/ws/tools": true, "/ws": true, "/ws/src": false, "/ws/x/.agent": true, "/ws/.git/info": true,
		"/ws/.git/objects": true,
		"/ws/.git/refs":    false, "/ws/.git/index": false, "/ws/.git/index.lock": false, "/ws/.git/modules/lib": true,
		"/ws/.git/modules/lib/index": false, "/ws/.git/modules/lib/HEAD": false,
		"/ws/.git/modules/lib/objects/ab": false,
	} {
		assert.Equal(t, want, k.holds(path, nothing), "holds %s", path)
	}
}
