package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/face/show"
)

// plainLog logs sentences for a command's user. A server's log has times and levels.
type plainLog struct {
	mu      *sync.Mutex
	out     io.Writer
	level   slog.Level
	painter painter
	redact  func(groups []string, attr slog.Attr) slog.Attr
	attrs   []slog.Attr
}

// Enabled implements slog.Handler.
func (l *plainLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithAttrs implements slog.Handler.
func (l *plainLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *l
	more.attrs = slices.Concat(l.attrs, attrs)
	return &more
}

// WithGroup implements slog.Handler. It ignores groups.
func (l *plainLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *plainLog) Handle(_ context.Context, r slog.Record) error {
	mark := l.painter.dim("-")
	if r.Level >= slog.LevelWarn {
		mark = l.painter.yellow("!")
	}
	var what, details strings.Builder
	what.WriteString(l.text(slog.String(slog.MessageKey, r.Message)))
	add := func(attr slog.Attr) bool {
		if attr.Key == "error" {
			what.WriteString(": " + l.text(attr))
		} else {
			fmt.Fprintf(&details, ", %s %s", strings.ReplaceAll(attr.Key, "_", " "), l.text(attr))
		}
		return true
	}
	for _, attr := range l.attrs {
		add(attr)
	}
	r.Attrs(add)
	if details.Len() > 0 {
		what.WriteString(" (" + details.String()[2:] + ")")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.out, "%s %s\n", mark, what.String())
	return err
}

// text returns an attribute's value in one line, without secrets.
func (l *plainLog) text(attr slog.Attr) string {
	return show.Line(fmt.Sprint(l.redact(nil, attr).Value.Resolve().Any()))
}
