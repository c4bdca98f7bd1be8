package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// The user's decisions do not count if tools could have written them.
func TestDecisionsInATreeOfTools(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, allow := range map[string]string{"the directory itself": "config", "a directory above": ".",
		"by a link": "link", "another one": "elsewhere"} {
		a := newArena(t, map[string]string{"kept": ""})
		a.write(a.home, "elsewhere/x", "", 0o644)
		_ = os.Symlink("config", filepath.Join(a.home, "link"))
		sum := sha256.Sum256([]byte(a.ws))
		rule := fmt.Sprintf(`{"version":1,"workspace":%q,"added":"2026-01-01T00:00:00Z","rule":{"name":"planted",`+
			`"tool":"rm","action":"allow"}}`, a.ws)
		a.write(a.home, "config/toolhost/rules/"+hex.EncodeToString(sum[:])[:16]+"/planted.json", rule, 0o600)
		a.write(a.ws, "agent.hcl",
			fmt.Sprintf("workspace {\n  allow = [%q]\n}\npolicy {\n  dangerous = \"ask\"\n}\n",
				filepath.Join(a.home, allow)), 0o644)
		a.arm()
		r := a.cli(nil, "", "rm", `{"args":"kept"}`)
		if name == "another one" {
			control(t, "trust", "a rule where no tool writes", checkWhole, a.ran())
			continue
		}
		assert.NotEmpty(t, r.code, name)
		assert.Empty(t, a.ran(), "%s: %s", name, r.text)
	}
}
