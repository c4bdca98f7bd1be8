package project

import (
	"sync"
)

// keepSecret has values taken out of results, the record and the log, beside
// those of before.
func (p *Project) keepSecret(values []string) {
	p.Host.Redact(values)
	p.Recorder.Redact(values)
	p.options.OnSecrets(p.Recorder.Redactor())
}

// pluginSecrets are settings that plugins declare as sensitive. A plugin may be
// started while the host is being made.
type pluginSecrets struct {
	mu     sync.Mutex
	values []string
	ready  bool // the host takes further ones by itself
}

// keepPluginSecrets has settings of a plugin shown nowhere.
func (p *Project) keepPluginSecrets(values []string) {
	p.pluginSecrets.mu.Lock()
	defer p.pluginSecrets.mu.Unlock()
	p.Recorder.Redact(values)
	p.options.OnSecrets(p.Recorder.Redactor())
	if p.pluginSecrets.ready {
		p.Host.Redact(values)
		return
	}
	p.pluginSecrets.values = append(p.pluginSecrets.values, values...)
}

// handOver gives the host what was kept before there was one.
func (p *Project) handOver() {
	p.pluginSecrets.mu.Lock()
	defer p.pluginSecrets.mu.Unlock()
	p.pluginSecrets.ready = true
	p.Host.Redact(p.pluginSecrets.values)
}
