// Package trajectory writes a recorded session in formats that other programs
// read: spans of OpenTelemetry, Harbor's Agent Trajectory Interchange Format,
// and lines of JSON.
package trajectory

import (
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/record"
)

// Format names how a session is written.
type Format string

// The formats.
const (
	// OTel is one OTLP request with spans, as JSON.
	OTel Format = "otel"
	// ATIF is the Agent Trajectory Interchange Format, version 1.4.
	ATIF Format = "atif"
	// JSONL is one JSON object a line for each call, with all that is kept of it.
	JSONL Format = "jsonl"
)

// Formats lists the formats.
func Formats() []Format { return []Format{ATIF, JSONL, OTel} }

// Session is what is written about the whole of a session.
type Session struct {
	Name string
	// Workspace is the path of the workspace, from which the ids of spans are
	// made, and nothing else.
	Workspace string
	// Version is that of toolhost.
	Version string
	// Content has parameters, results and messages of errors written into
	// spans. The other formats always have them.
	Content bool
}

// Write writes the calls of a session.
func Write(w io.Writer, f Format, s Session, calls iter.Seq2[*record.Detail, error]) error {
	switch f {
	case JSONL:
		return writeLines(w, calls)
	case OTel:
		return writeSpans(w, s, calls)
	case ATIF:
		return writeATIF(w, s, calls)
	}
	return UnknownFormat(f)
}

// UnknownFormat is the error for a format that there is not. more are those that
// there are beside Formats.
func UnknownFormat(f Format, more ...string) error {
	var names []string
	for _, name := range Formats() {
		names = append(names, string(name))
	}
	names = append(names, more...)
	return tool.Errorf(tool.InvalidArgument, "there is no format %q", string(f)).
		Suggest("Use one of %s.", strings.Join(names, ", "))
}

// Call is a call as JSONL writes it.
type Call struct {
	Session  string          `json:"session"`
	ID       string          `json:"request_id"`
	Tool     string          `json:"tool"`
	Status   string          `json:"status"`
	Began    time.Time       `json:"began"`
	Seconds  float64         `json:"duration_sec"`
	Client   string          `json:"client,omitempty"`
	Toolset  string          `json:"toolset,omitempty"`
	Config   string          `json:"config,omitempty"`
	Source   string          `json:"source,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Plan     json.RawMessage `json:"plan,omitempty"`
	Error    string          `json:"error,omitempty"`
	Message  string          `json:"message,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	By       string          `json:"decided_by,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Argv     []string        `json:"argv,omitempty"`
	Files    []string        `json:"files_affected,omitempty"`
	Artifact json.RawMessage `json:"artifacts,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	DryRun   bool            `json:"dry_run,omitempty"`
	// Answers are those to what the tool asked, by the keys of the questions.
	Answers map[string]tool.Answer `json:"answers,omitempty"`
	// Method and what follows are of the MCP request that asked for the call.
	Method     string   `json:"mcp_method,omitempty"`
	RPC        string   `json:"rpc_id,omitempty"`
	MCPSession string   `json:"mcp_session,omitempty"`
	Revision   string   `json:"mcp_revision,omitempty"`
	Transport  string   `json:"transport,omitempty"`
	Problems   []string `json:"problems,omitempty"`
}

// Read makes a call of what the record has of it.
func Read(d *record.Detail) (*Call, error) {
	facts, err := json.Marshal(d.Facts)
	if err != nil {
		return nil, err
	}
	c := new(Call)
	if err := json.Unmarshal(facts, c); err != nil {
		return nil, tool.Errorf(tool.Internal, "the record of the call %s cannot be read: %w", d.Request, err).
			Suggest("`toolhost record verify` says what was changed in the record.")
	}
	c.Session, c.ID, c.Tool, c.Status, c.Began = d.Session, d.Request, d.Tool, d.Status, d.Began
	c.Params, c.Result, c.Plan, c.Problems = d.Params, d.Result, d.Plan, d.Problems
	return c, nil
}

// ended is when the call ended; for one that did not, when it began.
func (c *Call) ended() time.Time {
	return c.Began.Add(time.Duration(c.Seconds * float64(time.Second)))
}

// failed reports whether the call ended with an error, or did not end.
func (c *Call) failed() bool {
	return !slices.Contains([]string{record.StatusSuccess, record.StatusDryRun}, c.Status)
}

// text is what the caller read of the result, with what is no text named.
func (c *Call) text() string {
	var result tool.Result
	if json.Unmarshal(c.Result, &result) != nil {
		return ""
	}
	var texts []string
	for _, part := range result.Contents {
		switch {
		case part.Kind == tool.KindText, part.Text != "":
			texts = append(texts, part.Text)
		default:
			texts = append(texts, strings.TrimSpace("["+string(part.Kind)+" "+part.MIMEType)+"]")
		}
	}
	if len(texts) == 0 {
		return string(result.Structured)
	}
	return strings.Join(texts, "\n")
}

// each reads the calls one after the other.
func each(calls iter.Seq2[*record.Detail, error], do func(*Call, *record.Detail) error) error {
	for d, err := range calls {
		if err != nil {
			return err
		}
		c, err := Read(d)
		if err != nil {
			return err
		}
		if err := do(c, d); err != nil {
			return err
		}
	}
	return nil
}

func writeLines(w io.Writer, calls iter.Seq2[*record.Detail, error]) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return each(calls, func(c *Call, _ *record.Detail) error { return encoder.Encode(c) })
}
