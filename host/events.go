package host

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
)

func (c *call) record(ctx context.Context) {
	o := &c.outcome
	if o.Input != nil {
		c.event(ctx, "input_required", inputEvent{o.RequestID, o.Tool, o.Input.Form.Message})
		return
	}
	finished := finishedEvent{RequestID: o.RequestID, Tool: o.Tool, Status: "success", Duration: o.Duration.Seconds(),
		Decision: o.Decision, DryRun: c.request.DryRun}
	if o.Result != nil {
		finished.Files, finished.Artifacts, finished.Metadata = o.Result.FilesAffected, o.Result.Artifacts,
			o.Result.Metadata
	}
	if o.Err != nil {
		finished.Status, finished.Error, finished.Message = "error", o.Err.Code, o.Err.Message
	}
	c.event(ctx, "tool_call_finished", finished)
}

// decided records a decision other than a plain allow, which the end of the
// call tells, and the user's answer.
func (c *call) decided(ctx context.Context, answer string) {
	o := &c.outcome
	c.event(ctx, "tool_call_decided", decidedEvent{o.RequestID, o.Tool, o.Decision, answer})
}

// event writes to the record; a record that cannot be written does not stop
// the call.
func (c *call) event(ctx context.Context, name string, payload any) {
	c.host.recorded(ctx, c.host.options.Recorder.Event(ctx, c.session.name, name, payload))
}

// recorded warns of a record that cannot be written, once until it can again:
// every call writes to it several times.
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
}

// decidedEvent is how it was decided that a call may not run, or may after a
// question.
type decidedEvent struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	Decision
	Answer string `json:"answer,omitempty"`
}

type inputEvent struct {
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	Question  string `json:"question"`
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
}

// jsonOrText keeps parameters that are no JSON as text, so that the record
// stays one JSON object a line.
func jsonOrText(params json.RawMessage) any {
	switch {
	case len(params) == 0:
		return json.RawMessage("{}")
	case json.Valid(params):
		return params
	}
	return string(params)
}
