package project

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/store/redact"
)

// LogSecrets removes a project's secrets from a log. Nil is valid and has no secrets.
type LogSecrets struct {
	redactor atomic.Pointer[redact.Redactor]
}

// Store sets the redactor.
func (s *LogSecrets) Store(r *redact.Redactor) {
	if s != nil {
		s.redactor.Store(r)
	}
}

// Attr removes secrets from a log attribute, including the message.
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

// Handler returns a handler that removes secrets before it passes records to another.
func (s *LogSecrets) Handler(to slog.Handler) slog.Handler { return &secretless{to, s} }

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

// pluginSecrets are plugins' sensitive settings. A plugin may start while the host is being made.
type pluginSecrets struct {
	mu     sync.Mutex
	values []string
	ready  bool // the host redacts further ones itself
}

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

// handOver passes secrets kept so far to the host.
func (p *Project) handOver() {
	p.pluginSecrets.mu.Lock()
	defer p.pluginSecrets.mu.Unlock()
	p.pluginSecrets.ready = true
	p.Host.Redact(p.pluginSecrets.values)
}
