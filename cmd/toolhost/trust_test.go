package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A running server keeps the approved file, says so when a tool of only the new file is called, and
// applies an approval by itself.
func TestARunningServerKeepsWhatWasApproved(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	env := environment(home, "TOOLHOST_TRUST=")
	plant(t, dir, texts{"agent.hcl": extra("one")})
	cmd := program(t, dir, "serve")
	cmd.Env = env
	s := serveCommand(t, cmd)
	s.hello()
	trust := func(args ...string) {
		told := s.noted(listChanged)
		c := program(t, dir, append([]string{"trust"}, args...)...)
		c.Env = env
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		s.until("the list", func() bool { return s.notedLocked(listChanged) > told })
	}
	answer := func(tool string) string {
		m := s.wait(s.startCall(tool, `{}`))
		if m.Error != nil {
			return fmt.Sprintf("%+v", *m.Error)
		}
		return string(m.Result)
	}
	assert.Contains(t, answer("one"), "is not approved")
	assert.Contains(t, answer("one"), "toolhost trust")
	trust("--yes")
	assert.Equal(t, "hi\n", s.call("one", `{}`).text())

	plant(t, dir, texts{"agent.hcl": extra("one") + extra("two")})
	s.until("word in the log", func() bool { return strings.Contains(s.stderr.String(), "the approved version is still in force") })
	assert.Equal(t, "hi\n", s.call("one", `{}`).text(), "what was approved goes on, tools too")
	assert.Contains(t, answer("two"), "has changed since the user approved it")
	trust("--yes")
	assert.Equal(t, "hi\n", s.call("two", `{}`).text())
	trust("--revoke")
	assert.Contains(t, answer("one"), "is not approved")
}
