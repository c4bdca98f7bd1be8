package sandbox

import (
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/file/realpath"
)

// preparedFor is how long the findings for one command are used for the next ones of the same policy.
const preparedFor = 3 * time.Second

// preparation has the slow findings that commands of one policy share: where secrets are, and Landlock rulesets. A
// timer drops it and closes the rulesets. A nil one keeps nothing.
type preparation struct {
	mu       sync.Mutex
	secrets  []string
	shown    []shownPlace
	rulesets map[string]keptRuleset // nil when nothing is prepared
}

// keptRuleset is a ruleset and what may be written by it.
type keptRuleset struct {
	file  *os.File
	write []string
}

// places returns secretsFor and shownInHome, up to seconds old.
func (p *preparation) places(home string) (secrets []string, shown []shownPlace) {
	find := func() ([]string, []shownPlace) {
		memo := make(realpath.Memo)
		return secretsFor(home, memo), shownInHome(home, memo)
	}
	if p == nil {
		return find()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rulesets == nil {
		time.AfterFunc(preparedFor, p.drop)
		p.rulesets = make(map[string]keptRuleset)
		p.secrets, p.shown = find()
	}
	return p.secrets, p.shown
}

func (p *preparation) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kept := range p.rulesets {
		_ = kept.file.Close()
	}
	p.secrets, p.shown, p.rulesets = nil, nil, nil
}
