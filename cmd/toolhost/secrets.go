package main

import (
	"fmt"
	"log/slog"

	"github.com/toolhost/toolhost/internal/keep/redact"
)

// keepSecret has values taken out of the log before there is a project.
func (a *app) keepSecret(values []string) { a.redactor.Store(redact.WithShapes(values)) }

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
