package project

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/store/redact"
)

// LogSecrets keeps the secrets of a project out of a log. Its methods may be
// called on nil, where nothing is secret.
type LogSecrets struct {
	redactor atomic.Pointer[redact.Redactor]
}

// Store has the secrets of a redactor kept out from now on.
func (s *LogSecrets) Store(r *redact.Redactor) {
	if s != nil {
		s.redactor.Store(r)
	}
}

// keep has values kept out before there is a project.
func (s *LogSecrets) keep(values []string) { s.Store(redact.WithShapes(values)) }

// Attr takes secrets out of an attribute of the log, its message too.
func (s *LogSecrets) Attr(_ []string, attr slog.Attr) slog.Attr {
	secrets := s.redactor.Load()
	if secrets == nil {
		return attr
	}
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(attr.Key, secrets.String(value.String()))
	case slog.KindGroup:
		members := make([]slog.Attr, 0, len(value.Group()))
		for _, member := range value.Group() {
			members = append(members, s.Attr(nil, member))
		}
		return slog.Attr{Key: attr.Key, Value: slog.GroupValue(members...)}
	case slog.KindAny:
		text := fmt.Sprintf("%+v", value.Any())
		if clean := secrets.String(text); clean != text {
			return slog.String(attr.Key, clean)
		}
	}
	return attr
}

// Handler gives a handler that hands on to another what holds no secrets.
func (s *LogSecrets) Handler(to slog.Handler) slog.Handler { return &secretless{to, s} }

// secretless is a handler for which another writes.
type secretless struct {
	slog.Handler
	secrets *LogSecrets
}

// Handle implements slog.Handler.
func (h *secretless) Handle(ctx context.Context, r slog.Record) error {
	message := h.secrets.Attr(nil, slog.String(slog.MessageKey, r.Message)).Value.String()
	clean := slog.NewRecord(r.Time, r.Level, message, r.PC)
	r.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(h.secrets.Attr(nil, attr))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h *secretless) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		clean[i] = h.secrets.Attr(nil, attr)
	}
	return &secretless{h.Handler.WithAttrs(clean), h.secrets}
}

// WithGroup implements slog.Handler.
func (h *secretless) WithGroup(name string) slog.Handler {
	return &secretless{h.Handler.WithGroup(name), h.secrets}
}

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
