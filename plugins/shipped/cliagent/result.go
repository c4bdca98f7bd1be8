package cliagent

import (
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

// outcome is what a tool has to say. It may come with an error, for what a
// failed call has to show all the same.
type outcome struct {
	kit.Outcome
	output string
	// metadata is the contract's; nil is none.
	metadata any
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

func succeeded(c kit.Call, o *outcome) *tool.Result {
	o.output = strings.ToValidUTF8(o.output, "\uFFFD")
	return o.result(o.output, envelope{
		Success: true, Output: o.output, FilesAffected: append([]string{}, o.Files...),
		ExecutionTimeMS: time.Since(c.Started).Milliseconds(), Metadata: o.metadata,
	}).Affecting(o.Files...)
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
	r := o.On(tool.Text(text))
	r.Structured = tool.MustMarshal(e)
	return r
}
