package plugintest

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Host is the host of a tool under test. Set the fields before the call; read the notes after it. The zero
// value answers no question and has no model and no other tool.
type Host struct {
	// Answers are the user's answers, by the question's key. A question without one ends the call, as in the
	// host: with sdk.ErrInputRequired.
	Answers map[string]sdk.Answer
	// OnSample answers for a language model. May be nil.
	OnSample func(sdk.SampleRequest) (*sdk.SampleResponse, error)
	// OnCallTool replaces the other tools. May be nil.
	OnCallTool func(name string, params json.RawMessage) (*sdk.Result, error)

	mu       sync.Mutex
	progress []sdk.Progress
	logs     []string
	events   []Event
	state    map[sdk.Scope]*memory
}

var _ tool.Services = (*Host)(nil)

// Event is an event that a tool emitted.
type Event struct {
	Name    string
	Payload json.RawMessage
}

// ProgressReports returns the reported progress, in order.
func (h *Host) ProgressReports() []sdk.Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.progress)
}

// Logs returns the logged lines, as "LEVEL message key=value".
func (h *Host) Logs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.logs)
}

// Events returns the emitted events, in order.
func (h *Host) Events() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// Progress implements the service.
func (h *Host) Progress(_ context.Context, p sdk.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = append(h.progress, p)
}

// Log implements the service.
func (h *Host) Log(_ context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	parts := []string{level.String(), message}
	for _, a := range attrs {
		parts = append(parts, a.String())
	}
	h.logs = append(h.logs, strings.Join(parts, " "))
}

// Emit implements the service.
func (h *Host) Emit(_ context.Context, event string, payload any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, Event{event, tool.MustMarshal(payload)})
	return nil
}

// Ask implements the service.
func (h *Host) Ask(_ context.Context, key string, form sdk.Form) (sdk.Answer, error) {
	if a, ok := h.Answers[key]; ok {
		return a, nil
	}
	return sdk.Answer{}, &tool.InputRequired{Key: key, Form: form}
}

// Sample implements the service.
func (h *Host) Sample(_ context.Context, request sdk.SampleRequest) (*sdk.SampleResponse, error) {
	if h.OnSample == nil {
		return nil, tool.Errorf(tool.Unavailable, "there is no language model to ask").Suggest("Set Host.OnSample.")
	}
	return h.OnSample(request)
}

// CallTool implements the service.
func (h *Host) CallTool(_ context.Context, name string, params json.RawMessage) (*sdk.Result, error) {
	if h.OnCallTool == nil {
		return nil, tool.Errorf(tool.NotFound, "there is no tool named %q", name).Suggest("Set Host.OnCallTool.")
	}
	return h.OnCallTool(name, params)
}

// State implements the service, in memory.
func (h *Host) State(scope sdk.Scope) sdk.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == nil {
		h.state = make(map[sdk.Scope]*memory)
	}
	if h.state[scope] == nil {
		h.state[scope] = &memory{values: make(map[string][]byte)}
	}
	return h.state[scope]
}

type memory struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (m *memory) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return slices.Clone(value), ok, nil
}

func (m *memory) Set(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key] = append([]byte{}, value...)
	return nil
}

func (m *memory) Update(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, err := change(slices.Clone(m.values[key]))
	switch {
	case err != nil:
		return err
	case value == nil:
		delete(m.values, key)
	default:
		m.values[key] = append([]byte{}, value...)
	}
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
	return nil
}

func (m *memory) Keys(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(m.values)) {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}
