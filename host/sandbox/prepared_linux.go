package sandbox

import "github.com/toolhost/toolhost/host/sandbox/launch"

// program gives the system call filter's program.
func (p *preparation) program(f launch.Filter) string {
	if p == nil {
		return f.Program()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text, made := p.programs[f]
	if !made {
		if p.programs == nil {
			p.programs = make(map[launch.Filter]string)
		}
		text = f.Program()
		p.programs[f] = text
	}
	return text
}
