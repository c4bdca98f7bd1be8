package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A masked file of the workspace cannot be moved to where the next command would see it.
func TestMaskedFilesAreNotMoved(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	moves := []string{"mv a b", "mv a/c a/d", "mv a/c/notes a/n", "mv keys/token shown", "mv keys k",
		"ln keys/token shown", "mkdir k; mv keys/* k", "rm -r a keys"}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			hcl := fmt.Sprintf("sandbox {\n  level = %q\n  mask  = [\"a/c/notes\", \"keys/token\"]\n}\n", s.level)
			a := newArenaFor(t, s, map[string]string{"agent.hcl": hcl, "a/c/plain": "fine\n", "keys/plain": "fine\n"})
			a.write(a.ws, "a/c/notes/n", "not-for-tools\n", 0o600)
			a.write(a.ws, "keys/token", "not-for-tools\n", 0o600)
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			look := func(tool, params, name string) {
				tally.note(tally.cases, "sandbox", s.String()+" "+name)
				r := h.call(tool, params)
				assert.NotContains(t, strings.Join(r.said, "\n"), "not-for-tools", name)
				assert.Empty(t, h.inspect(r), name)
			}
			for _, move := range moves {
				look("run_in_terminal", command(t, move+"; grep -r --exclude-dir=.agent not-for ."),
					"the command "+move)
				look("run_in_terminal", command(t, "grep -r --exclude-dir=.agent not-for ."), "the command after "+move)
				look("grep_search", `{"pattern":"not-for"}`, "a search after "+move)
			}
			assert.Empty(t, h.stop())
			require.NoError(t, os.Rename(filepath.Join(a.ws, "a"), filepath.Join(a.ws, "moved")))
			tally.note(tally.controls, "sandbox", s.String()+": the user moves what is masked")
			r := a.cli(nil, "cliagent", "run_in_terminal", command(t, "grep -r --exclude-dir=.agent not-for ."))
			assert.Contains(t, strings.Join(r.said, "\n"), "not-for-tools")
		})
	}
}

// A grant in a masked directory shows nothing else of it.
func TestAGrantInAMaskedDirectory(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			hcl := fmt.Sprintf("sandbox {\n  level = %q\n  mask  = [\"vault\"]\n  read  = [\"vault/x/y\"]\n}\n",
				s.level)
			a := newArenaFor(t, s, map[string]string{
				"agent.hcl": hcl, "vault/n": "not-for-tools\n", "vault/x/n": "not-for-tools\n",
				"vault/x/z/n": "not-for-tools\n", "vault/x/y/granted": "granted\n",
			})
			a.arm()
			tally.note(tally.cases, "sandbox", s.String()+" beside a grant in a masked directory")
			r := a.cli(nil, "cliagent", "run_in_terminal",
				command(t, "cat vault/n vault/x/n vault/x/z/n; echo more > vault/x/z/n; cat vault/x/y/granted"))
			assert.NotContains(t, strings.Join(r.said, "\n"), "not-for-tools")
			assert.Contains(t, strings.Join(r.said, "\n"), "granted", "the control: what is granted is seen")
			kept, err := os.ReadFile(filepath.Join(a.ws, "vault/x/z/n"))
			require.NoError(t, err)
			assert.Equal(t, "not-for-tools\n", string(kept))
		})
	}
}
