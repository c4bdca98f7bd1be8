package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestAGrantOfAnAgentsDirectory grants and allows the directories of the user's own agents. What those
// obey stays unchanged; other files can be changed.
func TestAGrantOfAnAgentsDirectory(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const script = "cd ../home; echo x > .claude/settings.json; mkdir .claude/hooks; echo x > .claude/hooks/h; " +
		"mkdir q; echo x > q/mcp.json; mv q .kiro/settings; mkdir .kiro/settings; echo x > .kiro/settings/mcp.json; " +
		"echo x > .codex/config.toml; echo x > .claude/notes.md; echo x > .codex/notes.md; true"
	obeyed := []string{".claude/settings.json", ".claude/hooks/h", ".kiro/settings/mcp.json", ".codex/config.toml"}
	prepare := func(t *testing.T, s stance) *arena {
		a := newArenaFor(t, s, nil)
		for _, dir := range []string{".claude", ".kiro", ".codex"} {
			require.NoError(t, os.MkdirAll(filepath.Join(a.home, dir), 0o755))
		}
		granted := strings.Replace(planting, "  param ", "  write = [\"../home/.claude\", \"../home/.kiro\"]\n  param ", 1)
		a.write(a.ws, "agent.hcl", "workspace { allow = [\"../home/.codex\"] }\n"+granted+s.block(), 0o644)
		a.arm()
		return a
	}
	made := func(a *arena) (found []violation) {
		for _, name := range obeyed {
			if _, err := os.Lstat(filepath.Join(a.home, name)); err == nil {
				found = append(found, violation{checkWhole, name})
			}
		}
		return found
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "protect", s.String()+" the user's own agents by a grant")
			a := prepare(t, s)
			r := a.cli(nil, "", "plant", planted(t, script))
			assert.True(t, a.cli(nil, "", "write_file", `{"path":"../home/.codex/config.toml","content":"x"}`).failed)
			assert.Empty(t, made(a), "%s", r.said)
			for _, name := range []string{".claude/notes.md", ".codex/notes.md"} {
				assert.FileExists(t, filepath.Join(a.home, name), "%s", r.said)
			}
		})
	}
	a := prepare(t, usual())
	a.asUser(script)
	found := made(a)
	control(t, "protect", "the user's own agents", checkWhole, found)
	assert.Len(t, found, len(obeyed))
}
