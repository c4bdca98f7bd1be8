package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Call is one call of a tool.
type Call struct {
	// Tool is the caller's name for the tool.
	Tool string
	// Session names an MCP connection, or is the command line's --session.
	Session string
	// RequestID identifies the call in the record, unique in its session.
	RequestID string
	// Step counts the calls of a session from 1.
	Step int
	// Params is the parameter object as JSON, valid and with defaults; "{}" without parameters, never nil.
	Params json.RawMessage
	// Workspace is the absolute path of the workspace root.
	Workspace string
	// ArtifactDir is the absolute path of a directory for files that the call leaves, such as a command's whole
	// output. The first tool that writes there makes it. Empty means that none are kept.
	ArtifactDir string
	// Host has the host's services. It may be nil: tools use the methods of Call.
	Host Services
}

// Decode stores the parameters in v, a pointer to a struct. Params are valid already, so an error means that
// the schema and v disagree.
func (c *Call) Decode(v any) error {
	if err := json.Unmarshal(c.Params, v); err != nil {
		return Errorf(InvalidArgument, "cannot read the parameters of %s: %v", c.Tool, err).
			Suggest("Give every parameter the type that the tool's schema names.")
	}
	return nil
}

// Services is what the host does for a tool during a call. All methods are safe for concurrent use until the
// call has returned.
type Services interface {
	// Progress reports how far the call is. It never blocks and never fails.
	Progress(ctx context.Context, p Progress)
	// Log writes a line to the host's log.
	Log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr)
	// Emit adds an event to the session's record.
	Emit(ctx context.Context, event string, payload any) error
	// Ask asks the user. It returns this call's answer for key; without one, an error that errors.Is
	// ErrInputRequired, which the tool returns at once, unchanged: the host then repeats the call with the
	// answer. So a tool asks before it acts. If the user cannot be asked, the error is an *Error with code
	// unavailable.
	Ask(ctx context.Context, key string, form Form) (Answer, error)
	// Sample asks a language model. Without one the error is an *Error with code unavailable. A client's model
	// may only be reachable as in Ask; so a tool samples before it changes anything, and returns the error
	// unchanged.
	Sample(ctx context.Context, request SampleRequest) (*SampleResponse, error)
	// State returns the store of the given scope, private to the tool's source.
	State(scope Scope) State
	// CallTool calls another tool of the session, under the same policy.
	CallTool(ctx context.Context, name string, params json.RawMessage) (*Result, error)
}

// Progress is how far a call is.
type Progress struct {
	// Done counts up to Total, in any unit. Total 0 means unknown.
	Done, Total float64
	Message     string
}

// Scope is how long stored state lives.
type Scope string

// SessionScope ends with the session; PersistentScope lasts as long as the workspace.
const (
	SessionScope    Scope = "session"
	PersistentScope Scope = "persistent"
)

// State is a small key-value store. Values are any bytes.
type State interface {
	// Get returns the value of key, and false without one.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Set stores value under key.
	Set(ctx context.Context, key string, value []byte) error
	// Update replaces the value of key by change's result for the old one (nil without one), atomically among
	// all processes. Returning nil deletes the key; an error leaves it unchanged.
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
	// Delete removes key; a missing key is not an error.
	Delete(ctx context.Context, key string) error
	// Keys returns the keys that begin with prefix, sorted.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Form is a question: to the user, unless Sample or Roots is set.
type Form struct {
	// Message is the question.
	Message string `json:"message"`
	// Schema is a flat JSON Schema object of the answer's fields. Empty asks to confirm.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Sample asks a language model instead; the answer's content is a SampleResponse. A plugin uses
	// Services.Sample.
	Sample *SampleRequest `json:"sample,omitempty"`
	// URL asks the user to visit a page, which is not opened otherwise; the answer has no content. A plugin
	// cannot ask this.
	URL string `json:"url,omitempty"`
	// Roots asks for the client's working directories; the answer's content is Roots. A plugin cannot ask this.
	Roots bool `json:"roots,omitempty"`
}

// Answer is the answer of the user, or of another approver.
type Answer struct {
	// Action is "accept", "decline" or "cancel".
	Action string `json:"action"`
	// Content has the form's fields if the action is accept.
	Content json.RawMessage `json:"content,omitempty"`
}

// Roots are the directories that a client works in.
type Roots struct {
	Roots []Root `json:"roots"`
}

// Root is a directory that a client works in.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Accepted reports whether the user agreed.
func (a Answer) Accepted() bool { return a.Action == "accept" }

// SampleRequest is a question to a language model.
type SampleRequest struct {
	System string `json:"system,omitempty"`
	Prompt string `json:"prompt"`
	// Messages precede Prompt, in order: texts, images and audio, each with a Role. Not every model accepts
	// all. A plugin cannot send any.
	Messages  []Content `json:"messages,omitempty"`
	MaxTokens int       `json:"max_tokens,omitempty"`
}

// SampleResponse is a model's answer.
type SampleResponse struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"`
}

// ErrInputRequired is returned by Services.Ask if the user must be asked first.
var ErrInputRequired = errors.New("input required")

// InputRequired carries the question; it errors.Is ErrInputRequired.
type InputRequired struct {
	Key  string
	Form Form
	// Also are further questions to ask at the same time. Unanswered ones are asked again.
	Also []*InputRequired
}

// Error names the question.
func (e *InputRequired) Error() string { return fmt.Sprintf("input required: %s", e.Form.Message) }

// Is reports whether target is ErrInputRequired.
func (e *InputRequired) Is(target error) bool { return target == ErrInputRequired }

// Progress is Services.Progress, doing nothing without a host.
func (c *Call) Progress(ctx context.Context, p Progress) {
	if c.Host != nil {
		c.Host.Progress(ctx, p)
	}
}

// Log is Services.Log, doing nothing without a host.
func (c *Call) Log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if c.Host != nil {
		c.Host.Log(ctx, level, message, attrs...)
	}
}

// Emit is Services.Emit, doing nothing without a host.
func (c *Call) Emit(ctx context.Context, event string, payload any) error {
	if c.Host == nil {
		return nil
	}
	return c.Host.Emit(ctx, event, payload)
}

// Ask is Services.Ask, an error without a host.
func (c *Call) Ask(ctx context.Context, key string, form Form) (Answer, error) {
	if c.Host == nil {
		return Answer{}, noService("no one is there to ask")
	}
	return c.Host.Ask(ctx, key, form)
}

// Question is one of several that are asked at once.
type Question struct {
	// Key names the question in the call, as in Ask.
	Key  string
	Form Form
}

// AskAll is Ask for several questions at once. It returns the answers by key. While any is open, the error
// errors.Is ErrInputRequired and has all open ones; the tool returns it unchanged.
func (c *Call) AskAll(ctx context.Context, questions ...Question) (map[string]Answer, error) {
	answers := make(map[string]Answer, len(questions))
	var open *InputRequired
	for _, q := range questions {
		answer, err := c.Ask(ctx, q.Key, q.Form)
		asks, ok := errors.AsType[*InputRequired](err)
		switch {
		case err == nil:
			answers[q.Key] = answer
		case !ok:
			return nil, err
		case open == nil:
			first := *asks
			open = &first
		default:
			open.Also = append(open.Also, asks)
		}
	}
	if open != nil {
		return nil, open
	}
	return answers, nil
}

// Sample is Services.Sample, an error without a host.
func (c *Call) Sample(ctx context.Context, request SampleRequest) (*SampleResponse, error) {
	if c.Host == nil {
		return nil, noService("there is no language model to ask")
	}
	return c.Host.Sample(ctx, request)
}

// State is Services.State; without a host every access fails as unavailable.
func (c *Call) State(scope Scope) State {
	if c.Host == nil {
		return noState{}
	}
	return c.Host.State(scope)
}

// CallTool is Services.CallTool; without a host no tool is found.
func (c *Call) CallTool(ctx context.Context, name string, params json.RawMessage) (*Result, error) {
	if c.Host == nil {
		return nil, noService("no other tool can be called")
	}
	return c.Host.CallTool(ctx, name, params)
}

func noService(what string) *Error {
	return Errorf(Unavailable, "%s: the tool runs without a host", what).
		Suggest("Call the tool through toolhost.")
}

// noState is the store of a call without a host.
type noState struct{}

func (noState) Get(context.Context, string) ([]byte, bool, error) {
	return nil, false, noService("no state is kept")
}
func (noState) Set(context.Context, string, []byte) error { return noService("no state is kept") }
func (noState) Update(context.Context, string, func([]byte) ([]byte, error)) error {
	return noService("no state is kept")
}
func (noState) Delete(context.Context, string) error { return noService("no state is kept") }
func (noState) Keys(context.Context, string) ([]string, error) {
	return nil, noService("no state is kept")
}
