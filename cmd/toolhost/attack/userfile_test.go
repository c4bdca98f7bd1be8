package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A repository's links lead no file that toolhost writes for the user out of it, or to what git runs. A
// pipe there does not block.
func TestLinksOfWhatTheUserHasWritten(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	type planted struct {
		name, target string // "" means a pipe
		args         []string
	}
	untidy := "policy   {\n}\n"
	cases := []planted{
		{"agent.hcl", "../outside/agent.hcl", []string{"init"}},
		{"agent.hcl", "../outside/new.hcl", []string{"init", "--force"}},
		{"agent.hcl", "../outside/untidy.hcl", []string{"init", "--force"}},
		{"agent.hcl", "../outside/untidy.hcl", []string{"fmt"}},
		{"agent.hcl", "../outside/untidy.hcl", []string{"fmt", "agent.hcl"}},
		{"agent.hcl", ".git/config", []string{"init", "--force"}},
		{"pipe.hcl", "", []string{"init", "--force", "--config", "pipe.hcl"}},
		{"pipe.hcl", "", []string{"fmt", "pipe.hcl"}},
		{"hello", "../outside/empty", []string{"plugin", "new", "hello", "--sdk", "."}},
	}
	for _, c := range cases {
		name := c.args[0] + " over " + c.name + " to " + c.target
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "faults", name)
			a := newArena(t, map[string]string{".git/config": "[core]\n"})
			a.write(a.out, "untidy.hcl", untidy, 0o644)
			require.NoError(t, os.Mkdir(filepath.Join(a.out, "empty"), 0o755))
			if c.target != "" {
				a.link(c.target, c.name)
			} else {
				a.pipeAt(c.name)
			}
			a.whole[".git/config"] = []string{"[core]\n"}
			a.arm()
			out, err := a.run(nil, c.args...)
			require.Error(t, err, out)
			if c.target == "" {
				require.NoError(t, os.Remove(filepath.Join(a.ws, c.name)), "it is there as it was")
			}
			assert.Empty(t, a.inspect(out))
		})
	}
	a := newArena(t, map[string]string{"real/agent.hcl": untidy})
	a.link("real/agent.hcl", "agent.hcl")
	a.arm()
	tally.note(tally.controls, "faults", "a link that stays in the repository")
	out, err := a.run(nil, "fmt")
	require.NoError(t, err, out)
	now, err := os.ReadFile(filepath.Join(a.ws, "real", "agent.hcl"))
	require.NoError(t, err)
	assert.NotEqual(t, untidy, string(now))
}
