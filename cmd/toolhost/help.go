package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// everyday is the group of commands that help shows with a line each.
const everyday = "Everyday commands"

func (a *app) addCommands(root *cobra.Command) {
	daily := []*cobra.Command{a.initCommand(), a.listCommand(), a.describeCommand(), a.callCommand(), a.installCommand(),
		a.serveCommand(), a.trustCommand(), a.logCommand(), a.undoCommand(), a.doctorCommand()}
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{everyday, daily},
		{"agents", []*cobra.Command{a.schemaCommand(), a.uninstallCommand()}},
		{"agent.hcl", []*cobra.Command{a.addCommand(), a.validateCommand(), a.fmtCommand()}},
		{"approvals", []*cobra.Command{a.consoleCommand(), a.approveCommand(), a.explainCommand(), a.rulesCommand()}},
		{"history", []*cobra.Command{a.eventsCommand(), a.showCommand(), a.diffCommand(), a.redoCommand(), a.pruneCommand(),
			a.forgetCommand()}},
		{"tasks", []*cobra.Command{a.psCommand(), a.killCommand()}},
		{"sources", []*cobra.Command{a.pluginCommand(), a.mcpCommand()}},
		{"fleet", a.fleetCommands()},
		{"toolhost", []*cobra.Command{a.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, command := range group.commands {
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID("toolhost")
	root.SetCompletionCommandGroupID("toolhost")
	rest := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != root {
			rest(c, args)
			return
		}
		fmt.Fprint(c.OutOrStdout(), overview(root, daily))
	})
}

// overview returns the program's help: the daily commands with a line each, the others by name, so that
// it fits on a screen.
func overview(root *cobra.Command, daily []*cobra.Command) string {
	commands := make(map[string][]*cobra.Command)
	for _, c := range root.Commands() {
		commands[c.GroupID] = append(commands[c.GroupID], c)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\nUsage: toolhost COMMAND [ARGUMENTS]\n\n%s:\n", root.Long, everyday)
	for _, c := range daily {
		fmt.Fprintf(&out, "  %-12s%s\n", c.Name(), c.Short)
	}
	out.WriteString("\nMore commands:\n")
	for _, group := range root.Groups() {
		if group.ID == everyday {
			continue
		}
		var names []string
		for _, c := range commands[group.ID] {
			names = append(names, c.Name())
		}
		slices.Sort(names)
		fmt.Fprintf(&out, "  %-12s%s\n", group.ID, strings.Join(names, ", "))
	}
	fmt.Fprintf(&out, "\nFlags of all commands:\n%s\ntoolhost COMMAND --help shows a command's arguments, flags and examples.\n",
		root.PersistentFlags().FlagUsages())
	return out.String()
}
