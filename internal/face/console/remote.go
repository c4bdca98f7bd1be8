package console

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// RemoteInbox has the waiting calls of a fleet's workers, which find out what a call would do and carry
// out the decision.
type RemoteInbox interface {
	// Waiting returns the known waiting calls, and why others are unknown. It does not block.
	Waiting() (calls []RemoteCall, problems []string)
	// Look finds out again what the call is and would do. shown identifies it.
	Look(ctx context.Context, call RemoteCall) (question show.Question, shown string, err error)
	// Approve lets the call run once, if it still is what Look showed.
	Approve(ctx context.Context, call RemoteCall, shown string) error
	Deny(ctx context.Context, call RemoteCall, reason string) error
}

// RemoteCall is a call waiting elsewhere, as that worker reports it.
type RemoteCall struct {
	Worker, ID, Session, Tenant, Tool, Call, Reason string
	Asked, Expires                                  time.Time
}

// remoteSpace begins the Space of a call that waits on a worker.
const remoteSpace = "worker/"

// line returns the call as the page has it. Its texts are foreign.
func (c RemoteCall) line() waitingCall {
	return waitingCall{Key: remoteSpace + c.Worker + "/" + c.ID, Space: remoteSpace + c.Worker, ID: c.ID,
		Root: "worker " + show.SanitizeLine(c.Worker, show.MostName), Worker: show.SanitizeLine(c.Worker, show.MostName),
		Tenant: show.SanitizeLine(c.Tenant, show.MostName), Tool: show.SanitizeLine(c.Tool, show.MostName),
		Call: show.Fit(show.Page.Line(c.Call), mostLine), Session: show.SanitizeLine(c.Session, show.MostName),
		Reason: show.SanitizeLine(c.Reason, mostLine), Digest: digestOf(tool.MustMarshal(c)), Asked: c.Asked,
		Expires: c.Expires}
}

// waitingRemote returns the calls that wait elsewhere.
func (s *Server) waitingRemote() (calls []waitingCall, problems []string) {
	if s.options.Remote == nil {
		return nil, nil
	}
	remote, unread := s.options.Remote.Waiting()
	for _, call := range remote {
		calls = append(calls, call.line())
	}
	for _, problem := range unread {
		problems = append(problems, shownText(problem))
	}
	return calls, problems
}

// findRemote returns the call that waits elsewhere; nil for a space of this machine.
func (s *Server) findRemote(space, id string) (*RemoteCall, error) {
	if s.options.Remote == nil || len(space) <= len(remoteSpace) || space[:len(remoteSpace)] != remoteSpace {
		return nil, nil
	}
	calls, _ := s.options.Remote.Waiting()
	for _, call := range calls {
		if remoteSpace+call.Worker == space && call.ID == id {
			return &call, nil
		}
	}
	return nil, tool.Errorf(tool.NotFound, "no call waits there as %q: it was decided on, has waited too long, or its "+
		"session has moved", show.SanitizeLine(id, show.MostName)).Suggest("A call that is made again waits again.")
}

// lookAway returns the whole call for the page, and its identification at the worker.
func (s *Server) lookAway(ctx context.Context, call RemoteCall) (l look, shown string, err error) {
	l = look{waitingCall: call.line()}
	question, shown, err := s.options.Remote.Look(ctx, call)
	if err != nil {
		e := tool.AsError(err)
		if e.Code == tool.NotFound {
			return l, "", err
		}
		l.Problem = shownText(e.Message + ". " + e.Suggestion)
		question = show.Question{Tool: call.Tool, Title: call.Call, Reason: call.Reason}
	}
	l.Question = tool.MustMarshal(question.Parts())
	l.Shown = digestOf([]byte(l.Digest), []byte(shown), l.Question, []byte(l.Problem))
	return l, shown, nil
}

// decideAway passes on a user's decision.
func (s *Server) decideAway(ctx context.Context, call RemoteCall, d decision) error {
	switch {
	case d.Verdict == "always":
		return tool.Errorf(tool.InvalidArgument, "a call of a fleet's worker can be allowed once only").
			Suggest("Allow it once, or write a rule into the agent.hcl of its workspace.")
	case call.line().Digest != d.Digest:
		return changedSince()
	case d.Verdict == "deny":
		if err := reasonFits(d.Reason); err != nil {
			return err
		}
		return s.options.Remote.Deny(ctx, call, d.Reason)
	}
	l, shown, err := s.lookAway(ctx, call)
	if err != nil {
		return err
	}
	if l.Shown != d.Shown {
		return changedSince()
	}
	if l.Problem != "" {
		return tool.Errorf(tool.Denied, "%s", l.Problem).Suggest("It can be denied.")
	}
	return s.options.Remote.Approve(ctx, call, shown)
}
