package main

import (
	"context"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/operator"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/console"
	"github.com/toolhost/toolhost/internal/face/show"
)

// consoleCommand is run by toolhost console --hub, which holds its input open.
func (a *app) consoleCommand() *cobra.Command {
	var link linkFlags
	var port uint16
	var noOpen bool
	var toolhost string
	c := &cobra.Command{
		Use:   "console --hub URL",
		Short: "Open a web page with the pending approvals of this machine and of a fleet",
		Long: `Open a web page with the pending approvals of all workspaces of this user and of all
workers of a fleet, to decide them there. It needs the key of an operator.`,
		Example: `  toolhost console --hub nats://127.0.0.1:4222`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.asOperator(c.Context(), &link, func(ctx context.Context, o *operator.Operator) error {
				return console.Run(ctx, strconv.Itoa(int(port)), !noOpen && term.IsTerminal(int(os.Stdout.Fd())),
					console.Options{Toolhost: toolhost, Version: buildinfo.Read().Version, Logger: a.logger,
						Remote: away{operator.NewDesk(o)}}, os.Stdin, os.Stdout, os.Stderr)
			})
		},
	}
	link.register(c.Flags())
	c.Flags().Uint16Var(&port, "port", 0, "the port of 127.0.0.1 to listen on (default: any that is free)")
	c.Flags().BoolVar(&noOpen, "no-open", false, "print the address, and do not open a browser")
	c.Flags().StringVar(&toolhost, "toolhost", "toolhost", "the program toolhost that is asked about projects")
	_ = c.Flags().MarkHidden("toolhost")
	return c
}

type away struct{ desk *operator.Desk }

func (a away) Waiting() (calls []console.RemoteCall, problems []string) {
	all, problems := a.desk.Now()
	for _, w := range all {
		calls = append(calls, console.RemoteCall{Worker: string(w.Worker), ID: w.ID, Session: w.Session, Tenant: w.Tenant,
			Tool: w.Tool, Call: w.Call, Reason: w.Reason, Asked: w.Asked, Expires: w.Expires})
	}
	return calls, problems
}

func waitingOf(c console.RemoteCall) fleet.Waiting {
	return fleet.Waiting{ID: c.ID, Worker: fleet.Worker(c.Worker), Session: c.Session}
}

func (a away) Look(ctx context.Context, call console.RemoteCall) (show.Question, string, error) {
	look, err := a.desk.Look(ctx, waitingOf(call))
	if err != nil {
		return show.Question{}, "", err
	}
	return look.Question, look.Shown, nil
}

func (a away) Approve(ctx context.Context, call console.RemoteCall, shown string) error {
	return a.desk.Approve(ctx, &fleet.Look{Waiting: waitingOf(call), Shown: shown})
}

func (a away) Deny(ctx context.Context, call console.RemoteCall, reason string) error {
	return a.desk.Deny(ctx, waitingOf(call), reason)
}
