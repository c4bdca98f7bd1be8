package host

import (
	"bytes"
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

func (c *call) record(ctx context.Context) {
	o := &c.outcome
	if o.Input != nil {
		c.event(ctx, "input_required", inputEvent{o.RequestID, o.Tool, c.hidden.string(o.Input.Form.Message)})
		return
	}
	finished := finishedEvent{RequestID: o.RequestID, Tool: o.Tool, Status: "success", Duration: o.Duration.Seconds(),
		Decision: o.Decision, DryRun: c.request.DryRun, call: c,
		Connections: c.connections, ConnectionsMissed: c.connectionsMissed}
	if o.Result != nil {
		finished.Files, finished.Artifacts, finished.Metadata = o.Result.FilesAffected, o.Result.Artifacts,
			c.hidden.details(o.Result.Metadata)
	}
	if o.Err != nil {
		finished.Status, finished.Error, finished.Message = "error", o.Err.Code, c.hidden.string(o.Err.Message)
		if finished.Files == nil {
			finished.Files = c.changed
		}
	}
	o.Unrecorded = c.event(ctx, "tool_call_finished", finished)
}

// decided records the user's answer, and a decision other than allow, which is in the event of the call's end.
func (c *call) decided(ctx context.Context, answer string) {
	o := &c.outcome
	c.answer = answer
	c.event(ctx, "tool_call_decided", decidedEvent{o.RequestID, o.Tool, o.Decision, answer})
}

// event writes to the record. A failure does not stop the call unless the record is required.
func (c *call) event(ctx context.Context, name string, payload any) error {
	err := c.host.options.Recorder.Event(ctx, c.session.name, name, payload)
	c.host.recorded(ctx, err)
	return err
}

// recorded warns of a record that cannot be written, once until it can again.
func (h *Host) recorded(ctx context.Context, err error) {
	if err == nil {
		h.unrecorded.Store(false)
	} else if !h.unrecorded.Swap(true) {
		h.logger.WarnContext(ctx, "what calls do is not recorded", "error", err)
	}
}

type startedEvent struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	Params    any    `json:"params"`
	call      *call
}

// startedFacts are recorded at the beginning of a call beside its event.
type startedFacts struct {
	Step    int    `json:"step,omitempty"`
	Client  string `json:"client,omitempty"`
	Toolset string `json:"toolset,omitempty"`
	Config  string `json:"config,omitempty"`
	// What is known of the MCP request for the call.
	Method    string `json:"mcp_method,omitempty"`
	RPC       string `json:"rpc_id,omitempty"`
	Session   string `json:"mcp_session,omitempty"`
	Revision  string `json:"mcp_revision,omitempty"`
	Transport string `json:"transport,omitempty"`
}

type startedLine struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
}

// Kept returns what the record keeps of the beginning of a call.
func (e startedEvent) Kept() (call string, event, more any, name string, content any) {
	c := e.call
	facts := startedFacts{c.outcome.Step, c.request.Client, c.host.Catalog().Toolset().Name, c.host.options.Config(),
		c.origin.Method, c.origin.RequestID, c.origin.Session, c.origin.Revision, c.origin.Transport}
	return e.RequestID, startedLine{e.RequestID, e.Tool}, facts, "params", e.Params
}

// decidedEvent is a refusal, or an approval after a question.
type decidedEvent struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	Decision
	Answer string `json:"answer,omitempty"`
}

// Kept returns the call for the record.
func (e decidedEvent) Kept() (call string, event, more any, name string, content any) {
	return e.RequestID, e, nil, "", nil
}

type inputEvent struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	Question  string `json:"question"`
}

// Kept returns the call for the record.
func (e inputEvent) Kept() (call string, event, more any, name string, content any) {
	return e.RequestID, e, nil, "", nil
}

// emitted is an event that a tool added to its call's record.
type emitted struct {
	call    string
	payload any
}

// MarshalJSON returns the tool's own payload.
func (e emitted) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e.payload)
	return b.Bytes(), err
}

// Kept returns the call for the record.
func (e emitted) Kept() (call string, event, more any, name string, content any) {
	return e.call, e, nil, "", nil
}

type finishedEvent struct {
	RequestID string          `json:"request_id"`
	Tool      string          `json:"tool"`
	Status    string          `json:"status"`
	Duration  float64         `json:"duration_sec"`
	Error     tool.Code       `json:"error,omitempty"`
	Message   string          `json:"message,omitempty"`
	Files     []string        `json:"files_affected,omitempty"`
	Artifacts []tool.Artifact `json:"artifacts,omitempty"`
	Metadata  map[string]any  `json:"metadata,omitempty"`
	Decision  Decision        `json:"decision,omitzero"`
	DryRun    bool            `json:"dry_run,omitempty"`
	// Connections are those of the call's processes, ConnectionsMissed the number of further ones.
	Connections       []network.Connection `json:"connections,omitempty"`
	ConnectionsMissed int                  `json:"connections_missed,omitempty"`
	call              *call
}

// LeftFiles reports whether the call left files, which the record bounds.
func (e finishedEvent) LeftFiles() bool { return len(e.Artifacts) > 0 }

// finishedFacts are recorded at the end of a call beside its event.
type finishedFacts struct {
	Source    string   `json:"source,omitempty"`
	DecidedBy string   `json:"decided_by,omitempty"`
	Argv      []string `json:"argv,omitempty"`
	// Answers are those to the tool's own questions.
	Answers map[string]tool.Answer `json:"answers,omitempty"`
}

// keptResult is what the caller got.
type keptResult struct {
	Contents   []tool.Content  `json:"contents,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
}

// Kept returns what the record keeps of the end of a call.
func (e finishedEvent) Kept() (call string, event, more any, name string, content any) {
	o := &e.call.outcome
	facts := finishedFacts{o.Source, e.call.decidedBy(), e.call.withoutSecrets(o.Argv), e.call.heard()}
	switch {
	case o.Result != nil:
		r := e.call.hidden.result(o.Result)
		return e.RequestID, e, facts, "result", keptResult{r.Contents, r.Structured, r.Truncated}
	case o.Plan != nil:
		plan := *o.Plan
		plan.Preview = e.call.hidden.string(plan.Preview)
		return e.RequestID, e, facts, "plan", plan
	}
	return e.RequestID, e, facts, "", nil
}

// heard returns the answers to the tool's questions.
func (c *call) heard() map[string]tool.Answer {
	all := c.given()
	for key, answer := range c.request.Answers {
		if OwnKey(key) {
			continue
		}
		if all == nil {
			all = make(map[string]tool.Answer)
		}
		all[key] = answer
	}
	return all
}

// decidedBy returns who made the decision, or "".
func (c *call) decidedBy() string {
	switch {
	case c.outcome.Decision.Action == "":
		return ""
	case c.answer == answeredForGood:
		return "person, always"
	case c.answer == "" || c.answer == answeredByNobody || c.answer == answeredNothing:
		return "rule"
	}
	return "person"
}

// Recorded answers that no user gave for this call.
const (
	answeredForGood  = "approved for good"
	answeredByNobody = "nobody to ask"
	answeredNothing  = "no answer"
)

// jsonOrText keeps invalid JSON as text, so that the record stays one JSON object a line.
func jsonOrText(params json.RawMessage) any {
	switch {
	case len(params) == 0:
		return json.RawMessage("{}")
	case json.Valid(params) && utf8.Valid(params):
		return params
	}
	return string(params)
}
