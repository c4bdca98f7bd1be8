package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commands are all commands that do something, with those below them.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	if c.HasParent() && !c.Hidden && c.Name() != "help" {
		all = append(all, c)
	}
	return all
}

// commandTree makes the command tree again, as a run of the program does.
func commandTree() *cobra.Command {
	root := new(app).root()
	root.InitDefaultCompletionCmd()
	explainUsage(root)
	return root
}

// TestEveryCommandHasExamples wants examples in every help page, and each to
// be a call of that command which the program takes: a command that there is,
// with flags and arguments that it has.
func TestEveryCommandHasExamples(t *testing.T) {
	for _, c := range commands(commandTree()) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			require.NotEmpty(t, c.Example)
			for line := range strings.Lines(c.Example) {
				calls := toolhostCalls(t, line)
				require.Len(t, calls, 1, line)
				words := calls[0]
				found, _, err := commandTree().Find(words[1:])
				require.NoError(t, err, line)
				if c.HasSubCommands() { // its examples are of those
					require.Contains(t, found.CommandPath()+" ", c.CommandPath()+" ", line)
				} else {
					require.Equal(t, c.CommandPath(), found.CommandPath(), line)
				}
				parsesAsCall(t, words)
			}
		})
	}
}
