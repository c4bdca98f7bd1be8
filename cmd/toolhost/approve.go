package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/approval"
)

func (a *app) approveCommand() *cobra.Command {
	var asJSON, deny bool
	var reason string
	c := &cobra.Command{
		Use:   "approve [ID]",
		Short: "Approve or deny pending calls",
		Long: fmt.Sprintf(`Approve or deny calls that wait for approval.

Without an ID the pending calls are listed. With one the call is shown with the
changes it would make, and you are asked. An approval is for exactly that call in
this workspace and toolset (and in its session, if that has a name of its own),
once, within %s; "always" adds a rule that always allows it.
It works on a terminal only; --deny works anywhere.`, approval.Spoken(approval.GrantTime)),
		Example: `  toolhost approve
  toolhost approve k3f9
  toolhost approve k3f9 --deny --reason "not on a Friday"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case reason != "" && !deny:
				return usagef("Add --deny, or leave --reason out.", "--reason is for --deny")
			case deny && len(args) == 0:
				return usagef("toolhost approve lists the IDs.", "--deny needs the ID of a call")
			case deny:
				return a.deny(c.Context(), args[0], reason)
			case len(args) == 0:
				return a.listPending(c.Context(), asJSON)
			case asJSON:
				return a.lookAtPending(c.Context(), args[0])
			}
			return a.approve(c.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: the list, or with an ID the whole call")
	c.Flags().BoolVar(&deny, "deny", false, "deny the call")
	c.Flags().StringVar(&reason, "reason", "", "with --deny: what the agent is told")
	a.completeFrom(c, "", waitingCalls)
	return c
}

func (a *app) listPending(ctx context.Context, asJSON bool) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	store, err := p.Approvals()
	if err != nil {
		return err
	}
	waiting, err := store.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		for i := range waiting {
			waiting[i] = waiting[i].Public()
		}
		return writeIndented(a.out, append([]approval.Pending{}, waiting...))
	}
	if len(waiting) == 0 {
		fmt.Fprintln(a.out, "No call waits for approval.")
		return nil
	}
	return a.writeTable(func(out *bufio.Writer) {
		rows := [][4]string{{"ID", "SESSION", "EXPIRES", "CALL"}}
		for _, p := range waiting {
			rows = append(rows, [4]string{show.Line(p.ID), show.Line(cmp.Or(p.Session, "any")),
				p.Expires.Local().Format(time.TimeOnly), p.Line()})
		}
		writeRows(out, rows)
	})
}

// approve shows a waiting call, computed again from the call that would be approved, and asks the user.
func (a *app) approve(ctx context.Context, id string) error {
	if !isTerminal(a.in) || !isTerminal(a.err) {
		return usagef("Run it in a terminal, where you can see what you approve.", "toolhost approve needs a terminal")
	}
	p, pending, err := a.openPending(ctx, id)
	if err != nil {
		return err
	}
	defer p.Close()
	outcome, err := p.WouldBe(ctx, pending)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "Session: %s\nWaits until: %s\n", show.Line(cmp.Or(pending.Session, "any")),
		pending.Expires.Local().Format(time.DateTime))
	if err := a.showApproval(ctx, outcome, p.KeepQuestion); err != nil {
		return err
	}
	verdict, reason, err := a.askVerdict(ctx)
	if err != nil {
		return err
	}
	return a.decide(ctx, p, pending, verdict, reason)
}

// deny refuses a waiting call. The agent learns it when it repeats the call.
func (a *app) deny(ctx context.Context, id, reason string) error {
	p, pending, err := a.openPending(ctx, id)
	if err != nil {
		return err
	}
	defer p.Close()
	store, err := p.Approvals()
	if err != nil {
		return err
	}
	if err := store.Refuse(ctx, pending, reason); err != nil {
		return err
	}
	fmt.Fprintln(a.err, approval.Denied(pending.Tool))
	return nil
}

// openPending opens the project as the server of the waiting call has it.
func (a *app) openPending(ctx context.Context, id string) (*project.Project, approval.Pending, error) {
	for {
		p, err := a.open(ctx)
		if err != nil {
			return nil, approval.Pending{}, err
		}
		store, err := p.Approvals()
		if err == nil {
			var pending approval.Pending
			if pending, err = store.Get(ctx, id); err == nil && pending.Toolset == a.flags.toolset {
				return p, pending, nil
			}
			a.flags.toolset = pending.Toolset
		}
		p.Close()
		if err != nil {
			return nil, approval.Pending{}, err
		}
	}
}

func (a *app) decide(ctx context.Context, p *project.Project, pending approval.Pending, verdict host.Verdict,
	reason string) error {
	store, err := p.Approvals()
	if err != nil {
		return err
	}
	switch verdict {
	case host.ApproveAlways:
		remembered, err := p.Remembered()
		if err != nil {
			return err
		}
		rule, err := pending.Always()
		if err != nil {
			return err
		}
		if err := remembered.Add(rule); err != nil {
			return err
		}
	case host.ApproveOnce:
	default:
		if err := store.Refuse(ctx, pending, reason); err != nil {
			return err
		}
		return approval.NotApproved(pending.Tool)
	}
	if err := store.Approve(ctx, pending); err != nil {
		return err
	}
	fmt.Fprintln(a.err, approval.Approved())
	return nil
}

// pendingLook is a waiting call as the user must see it before deciding.
type pendingLook struct {
	approval.Pending
	// Digest is the call's; an approval is only for it.
	Digest   string     `json:"digest"`
	Question show.Parts `json:"question"`
	// Always is the rule that "always" adds, nil if impossible.
	Always *policy.Rule `json:"always,omitempty"`
}

// lookAtPending prints a waiting call, with what it would do now.
func (a *app) lookAtPending(ctx context.Context, id string) error {
	p, pending, err := a.openPending(ctx, id)
	if err != nil {
		return err
	}
	defer p.Close()
	outcome, err := p.WouldBe(ctx, pending)
	if err != nil {
		return err
	}
	look := pendingLook{pending.Public(), pending.Digest(), outcome.Question().Parts(), nil}
	if rule, err := pending.Always(); err == nil {
		look.Always = &rule
	}
	return writeIndented(a.out, look)
}
