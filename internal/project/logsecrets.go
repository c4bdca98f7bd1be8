package project

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/keep/redact"
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
