package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestATypoIsNoRefusal gives an invalid answer: the question is asked again.
func TestATypoIsNoRefusal(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "tool \"paint\" {\n  description = \"Paint. Returns: it.\"\n" +
		"  command { argv = [\"echo\", \"painted\"] }\n}\n" + askFirst})
	screen, code := onTerminal(t, dir, "yse\ny\n", []string{"TOOLHOST_TRUST=1", "TOOLHOST_SANDBOX=off"}, "call",
		"paint")
	assert.Zero(t, code, screen)
	assert.Equal(t, 2, strings.Count(screen, "Approve? (y/n/always): "), screen)
	assert.Contains(t, screen, "Answer y for this once, always for exactly this call from now on, or n.")
	assert.Contains(t, screen, "Approve? (y/n/always): painted\n", "it runs after the second answer")
}

// TestErrorsAreMarkedOnATerminal covers the contract whose errors are texts for programs: on a terminal
// they have the mark of all other errors.
func TestErrorsAreMarkedOnATerminal(t *testing.T) {
	screen, code := onTerminal(t, t.TempDir(), "", nil, "--color", "never", "call", "--toolset", "ocode", "nosuch")
	assert.NotZero(t, code)
	assert.Contains(t, screen, "✗ There is no tool named \"nosuch\"")
}

// A command does not read from toolhost's terminal, at no sandbox level.
func TestCommandsHaveNoTerminal(t *testing.T) {
	for _, level := range []string{"off", "landlock", ""} {
		env := []string{"TOOLHOST_TRUST=1"}
		if level != "" {
			env = append(env, "TOOLHOST_SANDBOX="+level)
		}
		screen, code := onTerminal(t, t.TempDir(), "", env, "call", "--toolset", "cliagent", "run_in_terminal",
			"command=read x </dev/tty; for n in 0 1 2; do test -t $n && echo terminal; done; echo over", "timeout_seconds=60")
		assert.Zero(t, code, "%s: %s", level, screen)
		assert.Regexp(t, `(?i)cannot open /dev/tty|/dev/tty: no such device`, screen, level)
		assert.NotRegexp(t, `(?m)^terminal`, screen, level)
		assert.Contains(t, screen, "over", level)
	}
}
