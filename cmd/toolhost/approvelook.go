package main

import (
	"context"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/approval"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/show"
)

// wouldBe is what the call that waits would do now. A call that could not run if
// it were approved is an error.
func wouldBe(ctx context.Context, p *project.Project, pending approval.Pending) (*host.Outcome, error) {
	request := host.Request{Tool: pending.Tool, DryRun: true, Shown: pending.Effects}
	request.Params, request.Answers = host.WithoutAnswers(pending.Params)
	outcome := p.Host.Session("cli").Call(ctx, request)
	if outcome.Err != nil {
		return nil, tool.Errorf(outcome.Err.Code, "the call of %s would fail: %s", pending.Tool, outcome.Err.Message).
			Suggest("Nothing was approved. %s", outcome.Err.Suggestion)
	}
	if outcome.Decision.Action == host.Deny {
		return nil, tool.Errorf(tool.Denied, "the policy denies the call of %s: %s", pending.Tool,
			outcome.Decision.Reason).
			Suggest("Change the rule %q in agent.hcl first.", outcome.Decision.Rule)
	}
	return outcome, nil
}

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
	outcome, err := wouldBe(ctx, p, pending)
	if err != nil {
		return err
	}
	return writeIndented(a.out, pendingLook{pending, pending.Digest(), outcome.Question().Parts(),
		policy.Exactly(pending.Toolset, pending.Tool, pending.Params)})
}
