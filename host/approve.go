package host

import (
	"cmp"
	"context"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// approve requires the answer that the judge asked for.
func (c *call) approve(ctx context.Context) error {
	switch {
	case c.reviewed != nil:
		return c.approveReview(ctx)
	case c.outcome.Decision.Action != Ask:
		return nil
	}
	return c.approveCall(ctx)
}

// approveCall asks for the answer, or applies it.
func (c *call) approveCall(ctx context.Context) error {
	if answer, given := c.request.Answers[ApprovalKey]; given {
		return c.answeredApproval(ctx, answer)
	}
	if v, reason := c.saidElsewhere(ctx); v != "" {
		return c.decidedElsewhere(ctx, v, reason)
	}
	if !c.request.CanAsk {
		return c.wait(ctx, answeredByNobody, "no one is there to ask")
	}
	q := c.outcome.Question()
	return &tool.InputRequired{Key: ApprovalKey,
		Form: tool.Form{Message: q.Headline() + "\n" + q.Why(), Schema: approvalForm}}
}

func (c *call) decidedElsewhere(ctx context.Context, v Verdict, reason string) error {
	if v == Refuse {
		c.decided(ctx, "refused elsewhere")
		return Refused(c.entry.Name, reason)
	}
	c.decided(ctx, "approved elsewhere")
	return nil
}

const askedAlready = "asked already"

// AskedAlready answers a question for approval that is not asked, since the user sees that of an equal call.
func AskedAlready() tool.Answer { return tool.Answer{Action: askedAlready} }

func (c *call) answeredApproval(ctx context.Context, answer tool.Answer) error {
	if answer.Action == askedAlready {
		c.decided(ctx, answeredNothing)
		return tool.Errorf(tool.Denied, "the user is being asked about the same call of %s already", c.entry.Name).
			Suggest("Nothing was run. Wait for the result of the other call; call again only if it has to run twice.")
	}
	v, reason := verdict(answer)
	switch v {
	case ApproveOnce:
		c.decided(ctx, "approved")
		return nil
	case ApproveAlways:
		c.decided(ctx, c.remember(ctx))
		return nil
	case Refuse:
		c.decided(ctx, "refused")
		return Refused(c.entry.Name, reason)
	}
	return c.wait(ctx, answeredNothing, cmp.Or(reason, "the question was closed without an answer"))
}

// Refused returns the error of a call that the user refused, with the reason for the agent, which may be empty.
func Refused(name, reason string) *tool.Error {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return tool.Errorf(tool.Denied, "the user did not approve the call of %s", name).
			Suggest("Do not repeat the call; ask the user what to do instead.")
	}
	return tool.Errorf(tool.Denied, "the user did not approve the call of %s and says: %s", name, reason).
		Suggest("Do not repeat the call; do what the user says instead.").With("reason", reason)
}

// wait ends an undecided call. If possible, it waits for the user to approve it in a terminal.
func (c *call) wait(ctx context.Context, answer, why string) error {
	how, reason := c.request.HowToApprove, c.outcome.Decision.Reason
	if how == "" {
		how = "Ask the user to allow it with a policy rule in agent.hcl."
	}
	if said, err := c.file(ctx); err != nil {
		c.host.logger.WarnContext(ctx, "the call cannot wait for approval", "tool", c.entry.Name, "error", err)
		e := tool.AsError(err)
		reason += "; nor can it wait for toolhost approve: " + e.Message
		how += " So that calls can wait: " + e.Suggestion
	} else if said != "" {
		how = said
		if v, reason := c.watched(ctx); v != "" {
			return c.decidedElsewhere(ctx, v, reason)
		}
	}
	c.decided(ctx, answer)
	return tool.Errorf(tool.Denied, "the call of %s needs approval and %s: %s", c.entry.Name, why, reason).
		Suggest("%s", how).With("rule", c.outcome.Decision.Rule)
}

// approver returns where calls wait, nil if this one cannot.
func (c *call) approver() Approvals {
	if !c.request.ApproveLater {
		return nil
	}
	return c.host.options.Approvals
}

// binding returns the session that an approval is for, "" for any.
func (c *call) binding() string {
	if c.request.Anonymous {
		return ""
	}
	return c.session.name
}

// saidElsewhere consumes the user's decision in a terminal, which is for one call.
func (c *call) saidElsewhere(ctx context.Context) (v Verdict, reason string) {
	approvals := c.approver()
	if approvals == nil {
		return "", ""
	}
	proposal, err := c.proposal(ctx)
	if err == nil {
		v, reason, err = approvals.Take(ctx, c.binding(), *proposal)
	}
	if err != nil {
		c.host.logger.WarnContext(ctx, "approvals cannot be read", "tool", c.entry.Name, "error", err)
		return "", ""
	}
	return v, reason
}

// watched returns the decision of a user who watches the waiting calls.
func (c *call) watched(ctx context.Context) (v Verdict, reason string) {
	approvals, ok := c.approver().(Watched)
	if !ok {
		return "", ""
	}
	proposal, err := c.proposal(ctx)
	if err == nil {
		v, reason, err = approvals.Wait(ctx, c.binding(), *proposal)
	}
	if err != nil {
		c.host.logger.WarnContext(ctx, "approvals cannot be read", "tool", c.entry.Name, "error", err)
		return "", ""
	}
	return v, reason
}

// file makes the call wait for approval, and returns how the user approves it.
func (c *call) file(ctx context.Context) (how string, err error) {
	approvals := c.approver()
	if approvals == nil {
		return "", nil
	}
	proposal, err := c.proposal(ctx)
	if err != nil {
		return "", err
	}
	c.filed = true
	return approvals.File(ctx, c.binding(), *proposal, c.outcome.Decision)
}

// remember stores a lasting approval and returns what to record of the answer. A failure does not stop the
// call.
func (c *call) remember(ctx context.Context) string {
	if c.host.options.Remember == nil {
		return "approved"
	}
	proposal, err := c.proposal(ctx)
	if err == nil {
		err = c.host.options.Remember(ctx, *proposal)
	}
	if err != nil {
		c.host.logger.WarnContext(ctx, "the approval was not stored", "tool", c.entry.Name, "error", err)
		return "approved"
	}
	return answeredForGood
}
