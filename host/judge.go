package host

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
)

// Action is what a judge decides.
type Action string

// The three decisions. The zero Action counts as Deny.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// Proposal is a call that is about to run.
type Proposal struct {
	Tool       string
	Source     string
	Definition *tool.Definition
	// Params are valid and have their defaults.
	Params json.RawMessage
	// Argv is the command that the call would run, where the tool can tell.
	Argv []string
}

// Decision is what a judge says of a proposal, and why.
type Decision struct {
	Action Action `json:"action"`
	// Rule names the rule or default that decided.
	Rule string `json:"rule,omitempty"`
	// Reason says why, in a sentence for the caller.
	Reason string `json:"reason,omitempty"`
}

// Judge decides whether a call may run. It has no side effects and does not
// ask anybody: an Ask makes the host ask.
type Judge func(ctx context.Context, p Proposal) Decision

// Recorder keeps the record of sessions. It is safe for concurrent use.
type Recorder interface {
	// Step counts the calls of a session, from 1.
	Step(ctx context.Context, session string) (int, error)
	// Event adds an event to the session's record.
	Event(ctx context.Context, session, event string, payload any) error
	// ArtifactDir is the absolute path for a session's artifacts, "" for none.
	ArtifactDir(session string) string
}

// Approvals lets a person approve a call elsewhere, for callers that cannot
// be asked. It is safe for concurrent use.
type Approvals interface {
	// Take uses up the approval of exactly this call in that session, and
	// reports whether there was one.
	Take(ctx context.Context, session string, p Proposal) (bool, error)
	// File makes the call wait for approval. It returns a sentence that tells
	// the caller how a person approves it.
	File(ctx context.Context, session string, p Proposal, d Decision) (how string, err error)
}

// approvalKey is the key under which a request carries the user's approval.
const approvalKey = "toolhost.approval"

// Approval makes the answer that approves or refuses the call of an outcome
// whose Input.Key it is given for. Remember true asks for a lasting approval
// of exactly this call.
func Approval(yes, remember bool) tool.Answer {
	if !yes {
		return tool.Answer{Action: "decline"}
	}
	return tool.Answer{Action: "accept", Content: tool.MustMarshal(approvalContent{remember})}
}

// ApproveAll are the answers of a caller who approves its request beforehand.
func ApproveAll() map[string]tool.Answer {
	return map[string]tool.Answer{approvalKey: Approval(true, false)}
}

// IsApproval reports whether a question is the host's own, whether a call may
// run, rather than one that the tool asks.
func IsApproval(q *tool.InputRequired) bool { return q != nil && q.Key == approvalKey }

type approvalContent struct {
	Remember bool `json:"remember,omitempty"`
}
