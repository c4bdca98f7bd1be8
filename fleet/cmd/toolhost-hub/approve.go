package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/operator"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/approval"
)

func (a *app) approveCommand() *cobra.Command {
	var link linkFlags
	var asJSON, deny bool
	var reason string
	c := &cobra.Command{
		Use:   "approve [ID]",
		Short: "Approve or deny pending calls of any worker",
		Long: fmt.Sprintf(`Approve or deny a call that waits for approval on any worker of the fleet.

Without an ID the calls that wait are listed. With one the call is shown, with
what it would change, and you are asked. An approval is for exactly that call in
its session, once, within %s. It works on a terminal only; --deny works anywhere.
It needs the key of an operator.`, approval.Spoken(approval.GrantTime)),
		Example: `  toolhost fleet approve
  toolhost fleet approve k3f9
  toolhost fleet approve k3f9 --deny --reason "not on a Friday"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case reason != "" && !deny:
				return usagef("Add --deny, or leave --reason out.", "--reason is for --deny")
			case deny && len(args) == 0:
				return usagef("toolhost fleet approve lists the IDs.", "--deny needs the ID of a call")
			}
			return a.asOperator(c.Context(), &link, func(ctx context.Context, o *operator.Operator) error {
				if len(args) == 0 {
					return listWaiting(ctx, o, asJSON)
				}
				call, err := o.Find(ctx, args[0])
				switch {
				case err != nil:
					return err
				case deny:
					return denied(ctx, o, call, reason)
				case asJSON:
					look, err := o.Look(ctx, call)
					if err != nil {
						return err
					}
					return json.NewEncoder(os.Stdout).Encode(map[string]any{"call": look.Waiting, "shown": look.Shown,
						"question": look.Question.Parts()})
				}
				return approve(ctx, o, call)
			})
		},
	}
	link.register(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line, or with an ID the whole call")
	c.Flags().BoolVar(&deny, "deny", false, "deny the call")
	c.Flags().StringVar(&reason, "reason", "", "with --deny: what the agent is told")
	return c
}

func (a *app) asOperator(ctx context.Context, flags *linkFlags, do func(context.Context, *operator.Operator) error) error {
	if flags.url == "" {
		flags.url = "nats://127.0.0.1:4222"
	}
	link, name, err := flags.link(hub.RoleOperator)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, fleetWithin)
	defer cancel()
	o, err := operator.Connect(short, link, name)
	if err != nil {
		return err
	}
	defer o.Close()
	return do(ctx, o)
}

func listWaiting(ctx context.Context, o *operator.Operator, asJSON bool) error {
	all, problems := o.Waiting(ctx)
	rows := make([]row, 0, len(all))
	for _, w := range all {
		rows = append(rows, row{fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", show.Line(w.ID), show.Line(w.Session),
			show.Line(w.Tenant), w.Worker, w.Expires.Local().Format(time.TimeOnly), show.Line(w.Call)), w})
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(rows) == 0 && !asJSON {
		fmt.Println("No call waits for approval.")
		return nil
	}
	return print(rows, "ID\tSESSION\tTENANT\tWORKER\tEXPIRES\tCALL", asJSON)
}

func denied(ctx context.Context, o *operator.Operator, call fleet.Waiting, reason string) error {
	if err := o.Deny(ctx, call, reason); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, approval.Denied(call.Tool))
	return nil
}

func approve(ctx context.Context, o *operator.Operator, call fleet.Waiting) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return usagef("Run it in a terminal, where you can see what you approve.",
			"toolhost fleet approve needs a terminal")
	}
	look, err := o.Look(ctx, call)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Worker: %s\nSession: %s\nTenant: %s\nWaits until: %s\n%s\n%s\n\n", look.Worker,
		show.Line(look.Session), show.Line(look.Tenant), look.Expires.Local().Format(time.DateTime),
		look.Question.Body(show.Width), look.Question.Headline())
	fmt.Fprint(os.Stderr, "Approve once? (y/n): ")
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(line)); word != "y" && word != "yes" {
		fmt.Fprint(os.Stderr, "Why not? The agent is told (Enter for no reason): ")
		reason, _ := in.ReadString('\n')
		if err := denied(ctx, o, call, strings.TrimSpace(reason)); err != nil {
			return err
		}
		return approval.NotApproved(call.Tool)
	}
	if err := o.Approve(ctx, look); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, approval.Approved())
	return nil
}
