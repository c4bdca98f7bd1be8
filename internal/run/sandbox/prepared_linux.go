package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

const keptRulesets = 16

// ruleset returns a descriptor of the ruleset kept for key, or nil.
func (p *preparation) ruleset(key string) (file *os.File, write []string, err error) {
	if p == nil {
		return nil, nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept, ok := p.rulesets[key]; ok {
		file, err = duplicate(kept.file)
		write = kept.write
	}
	return file, write, err
}

// keepRuleset keeps a duplicate of the ruleset, if there is room.
func (p *preparation) keepRuleset(key string, file *os.File, write []string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.rulesets[key]; ok || p.rulesets == nil || len(p.rulesets) >= keptRulesets {
		return
	}
	if own, err := duplicate(file); err == nil {
		p.rulesets[key] = keptRuleset{own, write}
	}
}

func duplicate(file *os.File) (*os.File, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	ctlErr := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if ctlErr != nil {
		return nil, ctlErr
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}
