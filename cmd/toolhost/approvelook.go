package main

import (
	"context"

	"github.com/toolhost/toolhost/internal/keep/approval"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/show"
)

// pendingLook is a call that waits as a person is to see it before deciding.
type pendingLook struct {
	approval.Pending
	// Digest is the call's; an approval is for it alone.
	Digest   string     `json:"digest"`
	Question show.Parts `json:"question"`
	// Always is the rule that "always" adds.
	Always policy.Rule `json:"always"`
}

// lookAtPending prints a call that waits, with what it would do now.
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
	return writeIndented(a.out, pendingLook{pending, pending.Digest(), outcome.Question().Parts(),
		policy.Exactly(pending.Toolset, pending.Tool, pending.Params)})
}
