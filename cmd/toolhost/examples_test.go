package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
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
				words := shellWords(t, line)
				require.Equal(t, "toolhost", words[0], line)
				found, rest, err := commandTree().Find(words[1:])
				require.NoError(t, err, line)
				if c.HasSubCommands() { // its examples are of those
					require.Contains(t, found.CommandPath()+" ", c.CommandPath()+" ", line)
				} else {
					require.Equal(t, c.CommandPath(), found.CommandPath(), line)
				}
				require.NoError(t, found.ParseFlags(rest), line)
				assert.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
			}
		})
	}
}

// shellWords are the words of a line as a shell gives them to a program.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	require.NoError(t, err, line)
	require.Len(t, file.Stmts, 1, line)
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	require.True(t, ok, line)
	words, err := expand.Fields(&expand.Config{Env: expand.ListEnviron(os.Environ()...)}, call.Args...)
	require.NoError(t, err, line)
	return words
}
