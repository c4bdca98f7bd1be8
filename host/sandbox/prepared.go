package sandbox

import (
	"os"
	"sync"
	"time"
)

// preparedFor is how long what was found out for one command holds for the
// next ones of the same policy.
const preparedFor = 3 * time.Second

// keptRulesets bounds how many rulesets are kept at a time.
const keptRulesets = 16

// preparation is what the commands of one policy have in common and what takes
// a while to find out: where secrets lie, and a Landlock ruleset. A nil one
// keeps nothing.
type preparation struct {
	mu       sync.Mutex
	found    time.Time
	secrets  []string
	rulesets map[string]*keptRuleset
}

// keptRuleset is a ruleset and what may be written by it. Its file is closed
// when nobody refers to it any more.
type keptRuleset struct {
	file  *os.File
	write []string
}

// secretsOf gives Secrets, as they were seconds ago at most.
func (p *preparation) secretsOf(home string) []string {
	if p == nil {
		return Secrets(home)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.found) > preparedFor {
		p.found, p.secrets, p.rulesets = now, Secrets(home), make(map[string]*keptRuleset)
	}
	return p.secrets
}

func (p *preparation) ruleset(key string) *keptRuleset {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rulesets[key]
}

// keepRuleset reports whether it was kept.
func (p *preparation) keepRuleset(key string, kept *keptRuleset) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rulesets) >= keptRulesets || p.rulesets == nil {
		return false
	}
	p.rulesets[key] = kept
	return true
}
