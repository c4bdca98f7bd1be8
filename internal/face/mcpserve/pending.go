package mcpserve

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// pendingFor is how long a question that went out as an input-required result counts as one that the user sees: a
// client that gives it up says nothing.
const pendingFor = time.Minute

// pending are the questions for approval that users see now. One question is put for one exact call of a session.
type pending struct {
	mu     sync.Mutex
	byCall map[string]pendingQuestion
}

type pendingQuestion struct {
	nonce string // of the question
	until time.Time
}

// callKey names an exact call of a session: its arguments, and the answers that it was given.
func callKey(link *link, in *requestInfo, request host.Request, outcome *host.Outcome) string {
	return digest(link, in) + string(tool.MustMarshal(outcome.Again(request, nil).Answers))
}

// put notes a question for the time given. It reports false where the user is asked about the same call already, by
// another question than the one that this one follows.
func (p *pending) put(call, nonce, follows string, lasts time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.byCall, func(_ string, q pendingQuestion) bool { return q.until.Before(now) })
	if known, ok := p.byCall[call]; ok && known.nonce != follows {
		return false
	}
	if p.byCall == nil {
		p.byCall = make(map[string]pendingQuestion)
	}
	p.byCall[call] = pendingQuestion{nonce, now.Add(lasts)}
	return true
}

// end forgets the questions about a call, by the digest that its key begins with.
func (p *pending) end(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.byCall, func(call string, _ pendingQuestion) bool { return strings.HasPrefix(call, digest) })
}
