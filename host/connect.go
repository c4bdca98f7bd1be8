package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// approveSession allows the connection until the session ends.
const approveSession Verdict = "session"

// connectForm asks about a connection. There is no default, and the first choice, which some clients preselect,
// refuses.
var connectForm = json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","title":"Decision",` +
	`"oneOf":[{"const":"deny","title":"no"},{"const":"once","title":"for this call"},` +
	`{"const":"session","title":"for this session"},{"const":"always","title":"always"}]}},"required":["decision"]}`)

// reachKey is a connection that a person has allowed for a session.
type reachKey struct{ session, tool, to string }

// networkLog returns a log of the connections of the call's processes.
func (c *call) networkLog(ctx context.Context) *network.Log {
	return &network.Log{Learn: c.request.Learn, Ask: func(to string) (string, error) { return c.reach(ctx, to) }}
}

// reach asks the user about a connection that a process of the call wants to make.
func (c *call) reach(ctx context.Context, to string) (approved string, err error) {
	key := reachKey{c.session.name, c.entry.Name, to}
	if _, allowed := c.host.reached.Load(key); allowed {
		return "for the session", nil
	}
	proposal, err := c.proposal(ctx)
	if err != nil {
		return "", err
	}
	proposal.Connect = to
	question := Connecting{Proposal: *proposal, Session: c.binding(), Approvals: c.approver(), Remember: c.host.options.Remember}
	answer, given := c.request.Answers[connectKey+to]
	if given || c.request.AskNow != nil || c.request.CanAsk {
		question.AskNow = func(ctx context.Context) (v Verdict, err error) {
			switch {
			case given:
			case c.request.AskNow == nil:
				c.asking.mu.Lock()
				defer c.asking.mu.Unlock()
				c.asking.connects = append(c.asking.connects, to)
				return "", errAskedAfter
			default:
				answer, err = c.request.AskNow(ctx, c.connectQuestion(to, "a process of the call wants it"))
			}
			v = connectVerdict(answer)
			if err == nil && v == approveSession {
				c.host.reached.Store(key, true)
			}
			return v, err
		}
	}
	return c.host.Connect(ctx, question)
}

// connectKey is the prefix of the key of the user's answer about a connection in a request.
const connectKey = "toolhost.connect "

var errAskedAfter = errors.New("the user is asked when the call has ended")

func (c *call) connectQuestion(to, why string) tool.Form {
	o := Outcome{Tool: c.outcome.Tool, Definition: c.outcome.Definition, Params: c.tool.Params, Connect: to}
	o.Decision.Reason = why
	q := o.Question()
	return tool.Form{Message: q.Headline() + "\n" + q.Why(), Schema: connectForm}
}

// askAfter asks about the refused connections of a failed call, if the face could not ask while it ran. With
// the answers it runs again.
func (c *call) askAfter(err error) error {
	c.asking.mu.Lock()
	defer c.asking.mu.Unlock()
	if err == nil || len(c.asking.connects) == 0 || errors.Is(err, tool.ErrInputRequired) {
		return err
	}
	var all []*tool.InputRequired
	for _, to := range c.asking.connects {
		all = append(all, &tool.InputRequired{Key: connectKey + to,
			Form: c.connectQuestion(to, "the call has failed without it, and runs again after your answer")})
	}
	first := *all[0]
	first.Also = all[1:]
	return &first
}

// connectVerdict parses the answer to a question about a connection.
func connectVerdict(answer tool.Answer) Verdict {
	var content approvalContent
	if json.Unmarshal(answer.Content, &content) == nil && answer.Accepted() && content.Decision == approveSession {
		return approveSession
	}
	v, _ := verdict(answer)
	return v
}

// Connecting is a connection to decide on.
type Connecting struct {
	Proposal Proposal
	// Session is the session that an approval is for, "" for any.
	Session string
	// Approvals is where the connection waits; nil if it cannot.
	Approvals Approvals
	// AskNow asks the user at once. May be nil.
	AskNow func(context.Context) (Verdict, error)
	// Remember stores what the user allows always. May be nil.
	Remember func(ctx context.Context, p Proposal) error
}

// Connect decides on a connection: by a rule, an earlier decision, the user's answer now, or one given
// elsewhere while the user watches. It returns how it was approved, or why not.
func (h *Host) Connect(ctx context.Context, q Connecting) (approved string, err error) {
	d := Decision{Action: Ask, Reason: "a process of " + q.Proposal.Tool + " wants to reach " + q.Proposal.Connect}
	if judge := h.options.Judge; judge != nil {
		d = judge(ctx, q.Proposal)
	}
	switch d.Action {
	case Allow:
		return "by rule " + d.Rule, nil
	case Ask:
	default:
		return "", errors.New(d.Reason)
	}
	if q.Approvals != nil {
		v, reason, err := q.Approvals.Take(ctx, q.Session, q.Proposal)
		if err != nil {
			h.logger.WarnContext(ctx, "approvals cannot be read", "tool", q.Proposal.Tool, "error", err)
		}
		if v != "" {
			return connectSaid(v, reason)
		}
	}
	if q.AskNow != nil {
		v, err := q.AskNow(ctx)
		if errors.Is(err, errAskedAfter) {
			return "", network.ErrUndecided
		}
		if err == nil && v == ApproveAlways && q.Remember != nil {
			if err := q.Remember(ctx, q.Proposal); err != nil {
				h.logger.WarnContext(ctx, "the approval was not stored", "tool", q.Proposal.Tool, "error", err)
			}
		}
		if err == nil && v != "" {
			return connectSaid(v, "")
		}
	}
	return h.connectLater(ctx, q, d)
}

// connectLater makes a connection wait for a decision elsewhere.
func (h *Host) connectLater(ctx context.Context, q Connecting, d Decision) (approved string, err error) {
	if q.Approvals == nil {
		return "", network.ErrUndecided
	}
	how, err := q.Approvals.File(ctx, q.Session, q.Proposal, d)
	if err != nil {
		h.logger.WarnContext(ctx, "a connection cannot wait for approval", "tool", q.Proposal.Tool, "error", err)
		return "", network.ErrUndecided
	}
	if watched, ok := q.Approvals.(Watched); ok {
		if v, reason, err := watched.Wait(ctx, q.Session, q.Proposal); err == nil && v != "" {
			return connectSaid(v, reason)
		}
	}
	return "", fmt.Errorf("%w. %s", network.ErrUndecided, how)
}

// connectSaid returns a person's decision in the record's terms.
func connectSaid(v Verdict, reason string) (approved string, err error) {
	switch v {
	case ApproveOnce:
		return "once", nil
	case ApproveAlways:
		return "always", nil
	case approveSession:
		return "for the session", nil
	}
	if reason != "" {
		return "", fmt.Errorf("the user refused it and says: %s", reason)
	}
	return "", errors.New("the user refused it")
}
