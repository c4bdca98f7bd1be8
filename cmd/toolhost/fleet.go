package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// fleetCommands returns the commands of toolhost-hub, which parses their arguments itself.
func (a *app) fleetCommands() (commands []*cobra.Command) {
	for _, c := range []struct{ name, short, example string }{
		{"hub", "Run the hub of a fleet: many sessions on many machines", "  toolhost hub"},
		{"worker", "Run sessions of a fleet on this machine", "  toolhost worker --hub nats://127.0.0.1:4222"},
		{"fleet", "Show and manage a fleet", "  toolhost fleet workers"},
	} {
		commands = append(commands, &cobra.Command{
			Use: c.name, Short: c.short, Example: c.example, DisableFlagParsing: true,
			Long: c.short + ".\n\nThe program toolhost-hub does it; toolhost " + c.name +
				" --help shows its flags. See docs/FLEET.md.",
			RunE: func(c *cobra.Command, args []string) error {
				return a.runHub(c.Context(), append([]string{c.Name()}, args...))
			},
		})
	}
	return commands
}

// runHub replaces this program by toolhost-hub, which finds toolhost's helpers by PATH: it may be
// installed elsewhere.
func (a *app) runHub(ctx context.Context, args []string) error {
	path, err := installation.Hub.Find("")
	if err != nil {
		return err
	}
	dirs := append(filepath.SplitList(os.Getenv("PATH")), proc.SiblingDirs()...)
	if err := os.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator))); err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{path}, args...), os.Environ())
}
