package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// What an operator can ask about calls that wait for approval.
const (
	DecideList    = "list"
	DecideLook    = "look"
	DecideApprove = "approve"
	DecideDeny    = "deny"
)

// Decide is an operator's request to a worker.
type Decide struct {
	Action string `json:"action"`
	// Worker is the asked run of a worker, Operator the asker.
	Worker   Worker `json:"worker,omitempty"`
	Operator string `json:"operator,omitempty"`
	// ID identifies the request. The answer goes to its subject.
	ID string `json:"id"`
	// Session and Call are the call, as the list names it.
	Session string `json:"session,omitempty"`
	Call    string `json:"call,omitempty"`
	// Shown is that of the Look that was decided on.
	Shown string `json:"shown,omitempty"`
	// Reason is for the agent, if the call is denied.
	Reason string `json:"reason,omitempty"`
}

// Decided is a worker's answer.
type Decided struct {
	Waiting []Waiting `json:"waiting,omitempty"`
	// More is set if further calls are not listed.
	More  bool        `json:"more,omitempty"`
	Look  *Look       `json:"look,omitempty"`
	Error *tool.Error `json:"error,omitempty"`
}

// Waiting is a call that waits for approval.
type Waiting struct {
	ID      string    `json:"id"`
	Worker  Worker    `json:"worker"`
	Session string    `json:"session"` // its key
	Tenant  string    `json:"tenant"`
	Tool    string    `json:"tool"`
	Call    string    `json:"call"` // in one line
	Reason  string    `json:"reason,omitempty"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
}

// Look is a waiting call as the user sees it before deciding: what would happen is determined for each look.
type Look struct {
	Waiting
	Question show.Question `json:"question"`
	// Digest is the call's.
	Digest string `json:"digest"`
	// Shown is the digest of the call and all that is shown of it, see ShownDigest.
	Shown string `json:"shown"`
}

// ShownDigest returns a digest of a call, by its digest, and of what is shown of it, the same
// after transmission.
func ShownDigest(call string, question show.Question) string {
	var sent show.Question
	said := tool.MustMarshal(question)
	if json.Unmarshal(said, &sent) == nil { // JSON replaces bytes that are not text
		said = tool.MustMarshal(sent)
	}
	sum := sha256.Sum256(append([]byte(call+"\x00"), said...))
	return hex.EncodeToString(sum[:])
}
