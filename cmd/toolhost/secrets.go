package main

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/toolhost/toolhost/host/record"
)

// keepSecret has values taken out of results, the record and the log, beside
// those of before.
func (p *project) keepSecret(values []string) {
	p.host.Redact(values)
	p.recorder.Redact(values)
	p.app.redactor.Store(p.recorder.Redactor())
}

// pluginSecrets are settings that plugins declare as sensitive. A plugin may be
// started while the host is being made.
type pluginSecrets struct {
	mu     sync.Mutex
	values []string
	ready  bool // the host takes further ones by itself
}

// keepPluginSecrets has settings of a plugin shown nowhere.
func (p *project) keepPluginSecrets(values []string) {
	p.pluginSecrets.mu.Lock()
	defer p.pluginSecrets.mu.Unlock()
	p.recorder.Redact(values)
	p.app.redactor.Store(p.recorder.Redactor())
	if p.pluginSecrets.ready {
		p.host.Redact(values)
		return
	}
	p.pluginSecrets.values = append(p.pluginSecrets.values, values...)
}

// handOver gives the host what was kept before there was one.
func (p *project) handOver() {
	p.pluginSecrets.mu.Lock()
	defer p.pluginSecrets.mu.Unlock()
	p.pluginSecrets.ready = true
	p.host.Redact(p.pluginSecrets.values)
}

// keepSecret has values taken out of the log before there is a project.
func (a *app) keepSecret(values []string) { a.redactor.Store(record.NewRedactor(values)) }

// redactAttr takes secrets out of an attribute of the log, its message too.
func (a *app) redactAttr(_ []string, attr slog.Attr) slog.Attr {
	secrets := a.redactor.Load()
	if secrets == nil {
		return attr
	}
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(attr.Key, secrets.String(value.String()))
	case slog.KindAny:
		text := fmt.Sprintf("%+v", value.Any())
		if clean := secrets.String(text); clean != text {
			return slog.String(attr.Key, clean)
		}
	}
	return attr
}
