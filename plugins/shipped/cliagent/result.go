package cliagent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// outcome is what a tool has to say. It may come with an error, for what a
// failed call has to show all the same.
type outcome struct {
	output string
	files  []string
	// metadata is the contract's; nil is none.
	metadata any
	// about is the host's metadata, of the call rather than its outcome.
	about     map[string]any
	truncated bool
	artifacts []tool.Artifact
}

// envelope is the contract's result object. The command line puts the tool's
// name in front of it.
type envelope struct {
	Success         bool     `json:"success"`
	Output          string   `json:"output"`
	FilesAffected   []string `json:"files_affected"`
	ExecutionTimeMS int64    `json:"execution_time_ms"`
	Metadata        any      `json:"metadata,omitempty"`
	Error           *failure `json:"error,omitempty"`
}

// failure is the error in it.
type failure struct {
	Code       tool.Code `json:"code"`
	Message    string    `json:"message"`
	Suggestion string    `json:"suggestion"`
}

func succeeded(o *outcome, took time.Duration) *tool.Result {
	o.output = strings.ToValidUTF8(o.output, "\uFFFD")
	r := o.result(o.output, envelope{
		Success: true, Output: o.output, FilesAffected: append([]string{}, o.files...),
		ExecutionTimeMS: took.Milliseconds(), Metadata: o.metadata,
	})
	return r.Affecting(o.files...)
}

func failed(o *outcome, err *tool.Error, took time.Duration) *tool.Result {
	if o == nil {
		o = &outcome{}
	}
	r := o.result("Error: "+err.Message, envelope{
		FilesAffected: []string{}, ExecutionTimeMS: took.Milliseconds(), Metadata: o.metadata,
		Error: &failure{err.Code, err.Message, err.Suggestion},
	})
	r.Failed = err
	return r
}

func (o *outcome) result(text string, e envelope) *tool.Result {
	r := tool.Text(text)
	r.Structured = tool.MustMarshal(e)
	r.Truncated, r.Artifacts, r.Metadata = o.truncated, o.artifacts, o.about
	return r
}

// returns is the schema of the result object with the given metadata fields,
// the properties of an object schema; "" for a tool that has none.
func returns(metadata string) json.RawMessage {
	if metadata != "" {
		metadata = `
    "metadata": {"type": "object", "description": "Facts about the outcome.", "properties": {` + metadata + `}},`
	}
	return json.RawMessage(`{
  "type": "object",
  "properties": {
    "success": {"type": "boolean", "description": "Whether the call did what it was asked for."},
    "output": {"type": "string", "description": "The outcome as text; empty on failure."},
    "files_affected": {"type": "array", "items": {"type": "string"}, "description": "Files and directories that were created or changed, relative to the working directory."},
    "execution_time_ms": {"type": "integer", "description": "How long the call took, in milliseconds."},` + metadata + `
    "error": {
      "type": "object",
      "description": "Why the call failed.",
      "properties": {
        "code": {"type": "string", "description": "The kind of failure, for programs."},
        "message": {"type": "string", "description": "What happened."},
        "suggestion": {"type": "string", "description": "What to do next."}
      },
      "required": ["code", "message", "suggestion"]
    }
  },
  "required": ["success", "output", "files_affected", "execution_time_ms"]
}`)
}
