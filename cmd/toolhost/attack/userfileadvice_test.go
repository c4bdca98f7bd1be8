package attack

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A refusal to write through a link mentions the link, not lack of space.
func TestAdviceAboutLinksIntoGit(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, c := range map[string]struct {
		at, target string
		args       []string
	}{
		"init": {"agent.hcl", ".git/config", []string{"init", "--force"}},
		"fmt":  {"agent.hcl", ".git/untidy.hcl", []string{"fmt"}},
	} {
		a := newArena(t, map[string]string{".git/config": "[core]\n", ".git/untidy.hcl": "policy   {\n}\n"})
		a.link(c.target, c.at)
		a.arm()
		tally.note(tally.cases, "faults", "advice of "+name)
		out, err := a.run(nil, c.args...)
		require.Error(t, err, out)
		assert.Contains(t, out, "a symlink leads there", name)
		assert.Contains(t, out, "remove it", name)
		assert.NotContains(t, out, "room", name)
	}
	a := newArena(t, map[string]string{"sub": "a file\n"})
	a.arm()
	tally.note(tally.controls, "faults", "advice where no link is in the way")
	out, err := a.run(nil, "init", "--config", "sub/agent.hcl")
	require.Error(t, err, out)
	assert.NotContains(t, out, "symlink")
}
