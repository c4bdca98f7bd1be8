package trajectory

import (
	"encoding/json"
	"io"
	"iter"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/record"
)

// atifVersion is the oldest version that has all that is written, so that
// readers of every later one take it.
const atifVersion = "ATIF-v1.4"

// atifNotes says what a reader will miss.
const atifNotes = "Written from toolhost's record of tool calls: a step for each call. " +
	"What the user and the model said is not in that record, so messages are empty."

type (
	atifTrajectory struct {
		SchemaVersion string         `json:"schema_version"`
		SessionID     string         `json:"session_id"`
		Agent         atifAgent      `json:"agent"`
		Steps         []atifStep     `json:"steps"`
		Notes         string         `json:"notes"`
		FinalMetrics  atifMetrics    `json:"final_metrics"`
		Extra         map[string]any `json:"extra"`
	}
	atifAgent struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	atifMetrics struct {
		TotalSteps int `json:"total_steps"`
	}
	atifStep struct {
		StepID      int             `json:"step_id"`
		Timestamp   string          `json:"timestamp"`
		Source      string          `json:"source"`
		Message     string          `json:"message"`
		ToolCalls   []atifCall      `json:"tool_calls"`
		Observation atifObservation `json:"observation"`
		Extra       map[string]any  `json:"extra"`
	}
	atifCall struct {
		ID        string          `json:"tool_call_id"`
		Function  string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	atifObservation struct {
		Results []atifResult `json:"results"`
	}
	atifResult struct {
		ID      string `json:"source_call_id"`
		Content string `json:"content"`
	}
)

// timestamp is ISO 8601 with microseconds, which every reader knows.
const timestamp = "2006-01-02T15:04:05.000000Z"

func writeATIF(w io.Writer, s Session, calls iter.Seq2[*record.Detail, error]) error {
	t := atifTrajectory{SchemaVersion: atifVersion, SessionID: s.Name, Notes: atifNotes,
		Extra: map[string]any{"toolhost_version": s.Version}}
	err := each(calls, func(c *Call, _ *record.Detail) error {
		if t.Agent.Name == "" {
			t.Agent = agentOf(c.Client)
		}
		t.Steps = append(t.Steps, stepOf(len(t.Steps)+1, c))
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.Steps) == 0 {
		return tool.Errorf(tool.NotFound, "session %s has no call, and a trajectory needs at least one", s.Name).
			Suggest("Use --format jsonl, or another session: toolhost events --sessions lists them.")
	}
	t.FinalMetrics.TotalSteps = len(t.Steps)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(t)
}

// agentOf takes a client's name and version apart.
func agentOf(client string) atifAgent {
	agent := atifAgent{Name: client, Version: "unknown"}
	if at := strings.LastIndexByte(client, ' '); at > 0 && strings.ContainsAny(client[at:], "0123456789") {
		agent = atifAgent{Name: client[:at], Version: client[at+1:]}
	}
	if agent.Name == "" {
		agent.Name = "unknown"
	}
	return agent
}

func stepOf(n int, c *Call) atifStep {
	step := atifStep{StepID: n, Timestamp: c.Began.UTC().Format(timestamp), Source: "agent",
		ToolCalls: []atifCall{{c.ID, c.Tool, objectOf(c.Params)}},
		Extra:     map[string]any{"status": c.Status, "duration_sec": c.Seconds}}
	for name, value := range map[string]string{"error": c.Error, "source": c.Source, "decided_by": c.By} {
		if value != "" {
			step.Extra[name] = value
		}
	}
	if len(c.Files) > 0 {
		step.Extra["files_affected"] = c.Files
	}
	if len(c.Decision) > 0 {
		step.Extra["decision"] = c.Decision
	}
	step.Observation.Results = []atifResult{{c.ID, observed(c)}}
	return step
}

// observed is what the caller was given: the result, or why there is none.
func observed(c *Call) string {
	if text := c.text(); text != "" {
		return text
	}
	switch {
	case c.Message != "":
		return c.Error + ": " + c.Message
	case len(c.Plan) > 0:
		return string(c.Plan)
	case c.Status == record.StatusSuccess:
		return ""
	}
	return "[" + c.Status + "]"
}

// objectOf is params where they are an object, as readers need it; what a caller
// sent that was none stands under the name "params".
func objectOf(params json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	switch {
	case len(params) == 0:
		return json.RawMessage("{}")
	case json.Unmarshal(params, &members) == nil && members != nil:
		return params
	}
	return tool.MustMarshal(map[string]json.RawMessage{"params": params})
}
