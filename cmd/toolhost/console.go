package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/installation"
)

func (a *app) consoleCommand() *cobra.Command {
	var port uint16
	var noOpen bool
	var hub string
	c := &cobra.Command{
		Use:   "console",
		Short: "Open a web page with pending approvals and the call history",
		Long: `Open a web page with the pending approvals and the call history of all workspaces
of this user. Calls can be approved and denied there.

It prints an address that works once, for one browser, within 10 minutes. If it runs
in a terminal of a desktop, it also opens the address in your browser. Press Enter
for another address. The page is served on 127.0.0.1 and loads nothing from
elsewhere. While it is open, a call that needs approval waits a while for your
answer there if its client cannot ask you. Ctrl+C stops it. With --hub and an
operator's key (--key FILE) the page also has the pending calls of a fleet's workers.`,
		Example: `  toolhost console
  toolhost console --port 7788
  toolhost console --no-open
  toolhost console --hub nats://127.0.0.1:4222`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			run, err := a.consoleProgram(c.Context(), hub, port, !noOpen && isTerminal(a.out))
			if err != nil {
				return err
			}
			if err := a.runConsole(run); err != nil && c.Context().Err() == nil {
				return tool.Errorf(tool.Unavailable, "the console has ended: %w", err).Suggest("Start it again.")
			}
			return nil
		},
	}
	c.Flags().Uint16Var(&port, "port", 0, "the port of 127.0.0.1 to listen on (default: any that is free)")
	c.Flags().BoolVar(&noOpen, "no-open", false, "print the address, and do not open a browser")
	c.Flags().StringVar(&hub, "hub", "", "also show pending calls of this hub's workers (docs/FLEET.md)")
	c.FParseErrWhitelist.UnknownFlags = a.forFleet()
	return c
}

// consoleProgram returns the console's command for that port of 127.0.0.1, 0 for any, with a browser if
// requested and possible. With a hub it is toolhost-hub, which parses the flags itself.
func (a *app) consoleProgram(ctx context.Context, hub string, port uint16, open bool) (*exec.Cmd, error) {
	helper := installation.Console
	if hub != "" {
		helper = installation.Hub
	}
	program, err := helper.Find("")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--toolhost", self, "--port", strconv.Itoa(int(port))}
	if open {
		args = append(args, "--open")
	}
	if hub != "" {
		args = append(slices.Clone(a.args), "--toolhost", self)
	}
	run := exec.CommandContext(ctx, program, args...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	return run, nil
}

// consoleBeside runs a console, with its own listener, until ctx ends. The server does not depend on it.
func (a *app) consoleBeside(ctx context.Context) (wait func(), err error) {
	run, err := a.consoleProgram(ctx, "", 0, false)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.runConsole(run); err != nil && ctx.Err() == nil {
			a.logger.ErrorContext(ctx, "the console has ended; toolhost console starts another", "error", err)
		}
	}()
	return func() { <-ended }, nil
}

// runConsole runs the console. Its input is a pipe of this process, so that it ends with it, even if killed.
func (a *app) runConsole(run *exec.Cmd) error {
	lines, err := run.StdinPipe()
	if err != nil {
		return err
	}
	run.Stdout, run.Stderr = a.out, a.err
	if err := run.Start(); err != nil {
		return err
	}
	go func() { _, _ = io.Copy(lines, a.in) }()
	return run.Wait()
}
