package ocode

import (
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

// facts are the metadata of a result.
type facts map[string]any

// outcome is what a tool has to say. It may come with an error, for what a
// failed call has to show all the same.
type outcome struct {
	kit.Outcome
	output string
	// warning makes the success a partial one.
	warning  string
	metadata facts
	// contents are pictures and the like, beside the output.
	contents []tool.Content
}

// envelope is the contract's result object.
type envelope struct {
	Success  bool   `json:"success"`
	Output   string `json:"output"`
	Error    string `json:"error"`
	Metadata facts  `json:"metadata"`
}

// set adds a fact.
func (o *outcome) set(name string, value any) {
	if o.metadata == nil {
		o.metadata = facts{}
	}
	o.metadata[name] = value
}

// warn adds a warning, which makes the success a partial one.
func (o *outcome) warn(text string) {
	if o.warning != "" {
		o.warning += "\n"
	}
	o.warning += text
}

func succeeded(c kit.Call, o *outcome) *tool.Result {
	_, renamed := separate(c.Params)
	o.note(renamed)
	e := envelope{Success: true, Output: o.output, Metadata: o.metadata}
	text := o.output
	if o.warning != "" {
		e.Error = "Warning: " + o.warning
		text = strings.TrimSuffix(text, "\n") + "\n" + e.Error
	}
	r := o.result(text, e)
	return r.Affecting(o.Files...)
}

func failed(o *outcome, err *tool.Error, renamed []rename) *tool.Result {
	if o == nil {
		o = &outcome{}
	}
	o.note(renamed)
	if o.warning != "" {
		told := *err
		told.Message = strings.TrimRight(err.Message, "\n") + "\nWarning: " + o.warning
		err = &told
	}
	o.set("error_code", err.Code)
	o.set("suggestion", err.Suggestion)
	for key, value := range err.Details {
		if _, taken := o.metadata[key]; !taken {
			o.metadata[key] = value
		}
	}
	r := o.result(err.Message, envelope{Error: err.Message, Metadata: o.metadata})
	r.Failed = err
	return r
}

// note reports parameters that were given by an old name.
func (o *outcome) note(renamed []rename) {
	if o.metadata == nil {
		o.metadata = facts{}
	}
	if len(renamed) > 0 {
		o.metadata["deprecated_parameters"] = renamed
	}
}

func (o *outcome) result(text string, e envelope) *tool.Result {
	e.Output = strings.ToValidUTF8(e.Output, "\uFFFD")
	r := o.On(tool.Text(strings.ToValidUTF8(text, "\uFFFD")))
	r.Contents = append(r.Contents, o.contents...)
	r.Structured = tool.MustMarshal(e)
	return r
}
