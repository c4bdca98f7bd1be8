package sandbox

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// preparedFor is how long the findings for one command are reused for the same policy.
const preparedFor = 3 * time.Second

// preparation has slow findings that commands of one policy share: where secrets are, and Landlock rulesets. A
// timer drops them and closes the rulesets. A nil preparation keeps nothing.
type preparation struct {
	mu       sync.Mutex
	secrets  []string
	shown    []shownPlace
	own      []string               // toolhost's own directories that existed
	rulesets map[string]keptRuleset // nil when nothing is prepared
}

type keptRuleset struct {
	file  *os.File
	write []string
}

// places returns secretsFor and shownInHome, up to preparedFor old, but never from before one of toolhost's own
// directories was made: it would not be hidden.
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
	own := slices.DeleteFunc(userdir.Private(), func(dir string) bool {
		_, err := os.Lstat(dir)
		return err != nil
	})
	if p.rulesets != nil && !slices.Equal(own, p.own) {
		p.forget()
	}
	if p.rulesets == nil {
		time.AfterFunc(preparedFor, p.drop)
		p.rulesets, p.own = make(map[string]keptRuleset), own
		p.secrets, p.shown = find()
	}
	return p.secrets, p.shown
}

func (p *preparation) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}

// forget drops the findings. The lock must be held.
func (p *preparation) forget() {
	for _, kept := range p.rulesets {
		_ = kept.file.Close()
	}
	p.secrets, p.shown, p.rulesets = nil, nil, nil
}
