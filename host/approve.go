package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
)

// approve demands the answer that the judge asked for.
func (c *call) approve(ctx context.Context) error {
	if c.outcome.Decision.Action != Ask {
		return nil
	}
	answer, given := c.request.Answers[approvalKey]
	switch {
	case given && answer.Accepted():
		c.decided(ctx, c.remember(ctx, answer))
		return nil
	case given:
		c.decided(ctx, "refused")
		return tool.Errorf(tool.Denied, "the user did not approve the call of %s", c.entry.Name).
			Suggest("Do not repeat the call; ask the user what to do instead.")
	case !c.request.CanAsk:
		return c.approvedElsewhere(ctx)
	}
	return &tool.InputRequired{Key: approvalKey, Form: tool.Form{
		Message: fmt.Sprintf("Approve the call of %s? %s", c.entry.Name, c.outcome.Decision.Reason),
	}}
}

// approvedElsewhere is approve where the caller cannot be asked: a person may
// have approved the call in a terminal, or is to do so.
func (c *call) approvedElsewhere(ctx context.Context) error {
	how := c.request.HowToApprove
	if how == "" {
		how = "Ask the operator to allow it with a policy rule in agent.hcl."
	}
	if approvals := c.host.options.Approvals; approvals != nil && c.request.ApproveLater {
		taken, said, err := c.takeApproval(ctx, approvals)
		switch {
		case err != nil:
			c.host.logger.WarnContext(ctx, "the call cannot wait for approval", "tool", c.entry.Name, "error", err)
		case taken:
			c.decided(ctx, "approved elsewhere")
			return nil
		default:
			how = said
		}
	}
	c.decided(ctx, "nobody to ask")
	return tool.Errorf(tool.Denied, "the call of %s needs approval and nobody can be asked: %s", c.entry.Name, c.outcome.Decision.Reason).
		Suggest("%s", how).With("rule", c.outcome.Decision.Rule)
}

func (c *call) takeApproval(ctx context.Context, approvals Approvals) (taken bool, how string, err error) {
	proposal, err := c.proposal(ctx)
	if err != nil {
		return false, "", err
	}
	if taken, err = approvals.Take(ctx, c.session.name, *proposal); taken || err != nil {
		return taken, "", err
	}
	how, err = approvals.File(ctx, c.session.name, *proposal, c.outcome.Decision)
	return false, how, err
}

// remember stores a lasting approval, and says what the record is to say of
// the answer. A failure is no reason to refuse the call that was just approved.
func (c *call) remember(ctx context.Context, answer tool.Answer) string {
	var content approvalContent
	if len(answer.Content) > 0 {
		_ = json.Unmarshal(answer.Content, &content)
	}
	if !content.Remember || c.host.options.Remember == nil {
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
	return "approved for good"
}
