package cliagent

import (
	"embed"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' definitions. For results they describe metadata.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return toolspec.Read(files, func(metadata json.RawMessage) json.RawMessage {
		member := ""
		if metadata != nil {
			member = `"metadata":{"type":"object","description":"Facts about the outcome.","properties":` +
				string(metadata) +
				`},`
		}
		return toolspec.Fill(envelopeSchema, `"$metadata":0,`, member)
	})
})

func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Strict:      true,
		Accepts:     accepts,
		Success:     succeeded,
		Failure: func(c kit.Call, o *outcome, err error) *tool.Result {
			return failed(o, inContract(err), c.Changed, time.Since(c.Started))
		},
		Word:   func(err error) error { return inContract(err) },
		Render: func(c kit.Call, err *tool.Error) *tool.Result { return RenderError(c.Call, err) },
	}
}

// listDirAccepted has a parameter that is not advertised.
const listDirAccepted = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "default": "."},
    "offset": {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$", "default": 0}
  },
  "additionalProperties": false
}`

func accepts(d *tool.Definition) json.RawMessage {
	if d.Name == "list_dir" {
		return json.RawMessage(listDirAccepted)
	}
	return d.Parameters
}

// RenderError words a host's error as the contract does, also for calls that reach no tool.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	return failed(nil, inContract(err), nil, 0)
}

// integer accepts every form that JSON Schema counts as an integer.
type integer = schema.Integer

// outcome is a tool's part of a result; some failures have one too.
type outcome struct {
	kit.Outcome
	output   string
	metadata any
}

// envelope is the contract's result object. The command line prints the tool's name before it.
type envelope struct {
	Success         bool     `json:"success"`
	Output          string   `json:"output"`
	FilesAffected   []string `json:"files_affected"`
	ExecutionTimeMS int64    `json:"execution_time_ms"`
	Metadata        any      `json:"metadata,omitempty"`
	Error           *failure `json:"error,omitempty"`
}

type failure struct {
	Code       tool.Code `json:"code"`
	Message    string    `json:"message"`
	Suggestion string    `json:"suggestion"`
}

func succeeded(c kit.Call, o *outcome) *tool.Result {
	o.output = strings.ToValidUTF8(o.output, "\uFFFD")
	return o.result(o.output, envelope{
		Success: true, Output: o.output, FilesAffected: kit.Merged(o.Files, c.Changed),
		ExecutionTimeMS: time.Since(c.Started).Milliseconds(), Metadata: o.metadata,
	}).Affecting(o.Files...)
}

func failed(o *outcome, err *tool.Error, changed []string, took time.Duration) *tool.Result {
	if o == nil {
		o = &outcome{}
	}
	r := o.result("Error: "+err.Message, envelope{
		FilesAffected: kit.Merged(nil, changed), ExecutionTimeMS: took.Milliseconds(), Metadata: o.metadata,
		Error: &failure{err.Code, err.Message, err.Suggestion},
	})
	r.Failed = err
	return r
}

func (o *outcome) result(text string, e envelope) *tool.Result {
	r := o.On(tool.Text(text))
	r.Structured = tool.MustMarshal(e)
	return r
}
