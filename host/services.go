package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
)

// maxDepth bounds the nesting of tools that call tools.
const maxDepth = 8

type services struct{ call *call }

var _ tool.Services = (*services)(nil)

func (s *services) Progress(_ context.Context, p tool.Progress) {
	if report := s.call.request.Progress; report != nil {
		p.Message = s.call.host.redact.redactor.Load().string(p.Message)
		report(p)
	}
}

func (s *services) Log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	attrs = append([]slog.Attr{slog.String("tool", s.call.outcome.Tool),
		slog.String("request_id", s.call.outcome.RequestID)}, attrs...)
	s.call.host.logger.LogAttrs(ctx, level, message, attrs...)
	if log := s.call.request.Log; log != nil {
		log(level, s.call.host.redact.redactor.Load().string(message))
	}
}

func (s *services) Emit(ctx context.Context, event string, payload any) error {
	return s.call.host.options.Recorder.Event(ctx, s.call.session.name, event, emitted{s.call.outcome.RequestID, payload})
}

func (s *services) State(scope tool.Scope) tool.State {
	source := s.call.outcome.Source
	if open := s.call.host.options.State; open != nil {
		return open(source, scope, s.call.session.name)
	}
	return s.call.host.memory.scope(source, scope, s.call.session.name)
}

func (s *services) CallTool(ctx context.Context, name string, params json.RawMessage) (*tool.Result, error) {
	depth := s.call.request.depth + 1
	if depth > maxDepth {
		return nil, tool.Errorf(tool.Blocked, "tools call each other %d levels deep", depth).
			Suggest("Break the cycle: a tool must not call itself through others.")
	}
	outcome := s.call.session.Call(context.WithValue(ctx, nestedKey{}, true),
		Request{Tool: name, Params: params, Sample: s.call.request.Sample, depth: depth})
	if outcome.Err != nil && outcome.Result == nil {
		return nil, outcome.Err
	}
	return outcome.Result, nil
}

// nestedKey marks the context of a call made by a tool.
type nestedKey struct{}

// memoryState keeps state as long as the host lives.
type memoryState struct {
	mu     sync.Mutex
	values map[string][]byte
}

// scope returns the part of the store for one source.
func (m *memoryState) scope(source string, scope tool.Scope, session string) tool.State {
	prefix := source + "\x00" + string(scope) + "\x00"
	if scope == tool.SessionScope {
		prefix += session + "\x00"
	}
	return &memoryScope{store: m, prefix: prefix}
}

type memoryScope struct {
	store  *memoryState
	prefix string
}

func (s *memoryScope) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	value, ok := s.store.values[s.prefix+key]
	return slices.Clone(value), ok, nil
}

func (s *memoryScope) Set(ctx context.Context, key string, value []byte) error {
	return s.Update(ctx, key, func([]byte) ([]byte, error) { return slices.Concat([]byte{}, value), nil })
}

func (s *memoryScope) Update(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	value, err := change(slices.Clone(s.store.values[s.prefix+key]))
	switch {
	case err != nil:
		return err
	case value == nil:
		delete(s.store.values, s.prefix+key)
		return nil
	case s.store.values == nil:
		s.store.values = make(map[string][]byte)
	}
	s.store.values[s.prefix+key] = value
	return nil
}

func (s *memoryScope) Delete(_ context.Context, key string) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	delete(s.store.values, s.prefix+key)
	return nil
}

func (s *memoryScope) Keys(_ context.Context, prefix string) ([]string, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	var keys []string
	for key := range s.store.values {
		if rest, ok := strings.CutPrefix(key, s.prefix); ok && strings.HasPrefix(rest, prefix) {
			keys = append(keys, rest)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
