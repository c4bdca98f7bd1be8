package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commands returns all commands that do something.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	if c.HasParent() && !c.Hidden && c.Name() != "help" {
		all = append(all, c)
	}
	return all
}

func commandTree() *cobra.Command {
	root := new(app).root()
	root.InitDefaultCompletionCmd()
	explainUsage(root)
	return root
}

// TestEveryCommandHasExamples checks that every help page has examples, which are valid calls of that
// command.
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
				if c.HasSubCommands() { // its examples are for those
					require.Contains(t, found.CommandPath()+" ", c.CommandPath()+" ", line)
				} else {
					require.Equal(t, c.CommandPath(), found.CommandPath(), line)
				}
				parsesAsCall(t, words)
			}
		})
	}
}
