package host

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Action is a judge's decision.
type Action string

// The decisions. The zero Action counts as Deny.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
	// Review makes the call run in a view of the workspace. Limits or the user decide on its changes.
	Review Action = "review"
)

// Proposal is a call that is about to run.
type Proposal struct {
	Tool       string
	Source     string
	Definition *tool.Definition
	// Params are valid and have their defaults.
	Params json.RawMessage
	// Shown are the parameters without writeOnly values, for the user; nil if there are no such values.
	Shown json.RawMessage
	// Argv is the command that the call would run, if the tool can tell.
	Argv []string
	// Effects is the digest of the changes of a call that was made in a view: an approval is for these only.
	Effects string
	// Connect is "HOST:PORT" if the proposal is a connection of the tool's processes.
	Connect string
	// Client is the client's name for itself.
	Client string
}

// Decision is a judge's decision on a proposal, and why.
type Decision struct {
	Action Action `json:"action"`
	// Rule names the rule or default that decided.
	Rule string `json:"rule,omitempty"`
	// Reason is a sentence for the caller.
	Reason string `json:"reason,omitempty"`
	// Review are limits within which changes of a call under review need no approval: all must hold.
	Review []Bounds `json:"review,omitempty"`
}

// Judge decides whether a call may run, without side effects. The host asks the user for an Ask.
type Judge func(ctx context.Context, p Proposal) Decision

// Recorder keeps the record of sessions. It is safe for concurrent use.
type Recorder interface {
	// Step counts the calls of a session, from 1.
	Step(ctx context.Context, session string) (int, error)
	// Event adds an event to the session's record. A payload may have a method Kept() (call string, event, more
	// any, name string, content any) for records that keep more: the call's request id, the event's fields
	// without the rest, further fields, and what is kept whole, such as parameters or result.
	Event(ctx context.Context, session, event string, payload any) error
	// ArtifactDir returns the absolute path of a session's artifacts, or "".
	ArtifactDir(session string) string
}

// Approvals lets the user approve a call elsewhere. It is safe for concurrent use.
type Approvals interface {
	// Take consumes the decision on exactly this call in that session; the verdict is empty if there is none.
	// An empty session is for callers without one: the decision is then for the call from anywhere.
	Take(ctx context.Context, session string, p Proposal) (v Verdict, reason string, err error)
	// File makes the call wait for approval. It returns a sentence on how the user approves it.
	File(ctx context.Context, session string, p Proposal, d Decision) (how string, err error)
}

// Watched are Approvals that a user may be watching.
type Watched interface {
	Approvals
	// Wait returns the decision on a filed call as soon as it is made, while the user watches the waiting
	// calls, and no longer than callers wait. The verdict is empty if there is none.
	Wait(ctx context.Context, session string, p Proposal) (v Verdict, reason string, err error)
}

// ApprovalKey is the key of the user's approval in a request.
const ApprovalKey = "toolhost.approval"

// Verdict is a person's decision on a call that needs approval.
type Verdict string

// The verdicts. Any other answer decides nothing.
const (
	ApproveOnce   Verdict = "once"
	ApproveAlways Verdict = "always" // exactly this call, from now on
	Refuse        Verdict = "deny"
)

// approvalContent is the content of an accepted answer under ApprovalKey.
type approvalContent struct {
	Decision Verdict `json:"decision"`
	// Reason is the user's message to the agent, or why there is no decision.
	Reason string `json:"reason,omitempty"`
}

// approvalForm asks for approval. There is no default, and the first choice, which some clients preselect,
// refuses.
var approvalForm = json.RawMessage(`{"type":"object","properties":{` + decisionField + `,` +
	`"reason":{"type":"string","title":"Message to the agent (optional), such as why not","maxLength":2000}` +
	`},"required":["decision"]}`)

const decisionField = `"decision":{"type":"string","title":"Decision","oneOf":[` +
	`{"const":"deny","title":"Do not allow"},` +
	`{"const":"once","title":"Allow this once"},` +
	`{"const":"always","title":"Always allow exactly this call"}]}`

// The two halves of the form, for clients that cannot show it whole.
var (
	DecisionForm = json.RawMessage(`{"type":"object","properties":{` + decisionField + `},"required":["decision"]}`)
	ReasonForm   = json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","title":"Message to ` +
		`the agent","maxLength":2000}},"required":["reason"]}`)
)

// mostReason bounds a person's reason, in bytes.
const mostReason = 8000

// Approval answers a question for approval. The agent gets the reason of a refusal, which may be empty.
func Approval(v Verdict, reason string) tool.Answer {
	return tool.Answer{Action: "accept", Content: tool.MustMarshal(approvalContent{v, reason})}
}

// Refuses reports whether an answer is a refusal without a reason for the agent yet.
func Refuses(answer tool.Answer) bool {
	v, reason := verdict(answer)
	return v == Refuse && reason == "" && answer.Accepted()
}

// Undecided answers a question for approval that the user did not decide, and why.
func Undecided(why string) tool.Answer {
	return tool.Answer{Action: "cancel", Content: tool.MustMarshal(approvalContent{Reason: why})}
}

// ApproveAll returns the answers of a caller who approves its request beforehand.
func ApproveAll() map[string]tool.Answer {
	return map[string]tool.Answer{ApprovalKey: Approval(ApproveOnce, "")}
}

// OwnKey reports whether a key is one of the host's own questions, not a tool's.
func OwnKey(key string) bool {
	return key == ApprovalKey || key == reviewKey || strings.HasPrefix(key, connectKey)
}

// IsApproval reports whether a question is the host's own: whether a call may run.
func IsApproval(q *tool.InputRequired) bool { return q != nil && q.Key == ApprovalKey }

// verdict parses the answer to a question for approval; without an explicit choice the verdict is empty.
func verdict(answer tool.Answer) (v Verdict, reason string) {
	var content approvalContent
	if len(answer.Content) > 0 && json.Unmarshal(answer.Content, &content) != nil {
		content = approvalContent{}
	}
	reason = truncate.Shorten(content.Reason, mostReason)
	switch {
	case answer.Action == "decline":
		return Refuse, reason
	case !answer.Accepted():
		return "", reason
	}
	switch content.Decision {
	case ApproveOnce, ApproveAlways, Refuse:
		return content.Decision, reason
	}
	return "", "the answer chose nothing"
}
