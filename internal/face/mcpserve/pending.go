package mcpserve

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// pendingFor is how long an input-required question counts as shown: a client that gives up does not
// say so.
const pendingFor = time.Minute

// pending are the approval questions that users see now, one for one exact call of a session.
type pending struct {
	mu     sync.Mutex
	byCall map[string]pendingQuestion
}

type pendingQuestion struct {
	nonce string // of the question
	until time.Time
}

// addQuestion stores a question for a time; false if the user is already asked about the same call by a
// question other than follows.
func (p *pending) addQuestion(call, nonce, follows string, lasts time.Duration) bool {
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

// end forgets the questions about a call, by the digest that begins its key.
func (p *pending) end(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.byCall, func(call string, _ pendingQuestion) bool { return strings.HasPrefix(call, digest) })
}
