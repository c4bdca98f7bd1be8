package ocode

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' definitions. For results they describe the metadata.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return toolspec.Read(files, func(metadata json.RawMessage) json.RawMessage {
		return toolspec.Fill(envelopeSchema, `"$metadata":0`, toolspec.Members(metadata))
	})
})

func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Strict:      true,
		Accepts:     accepts,
		Given:       func(params json.RawMessage) json.RawMessage { own, _ := separate(params); return own },
		Ready:       ready,
		Success:     succeeded,
		Failure: func(c kit.Call, o *outcome, err error) *tool.Result {
			_, renamed := separate(c.Params)
			return failed(o, kit.Worded(err), renamed)
		},
		Word:   func(err error) error { return kit.Worded(err) },
		Render: func(c kit.Call, err *tool.Error) *tool.Result { return RenderError(c.Call, err) },
		Normalize: func(name string, params json.RawMessage) json.RawMessage {
			return oldNames()[name].normalize(params)
		},
	}
}

// accepts returns the schema of calls: what is advertised, and nothing else.
func accepts(d *tool.Definition) json.RawMessage {
	p := d.Parameters
	return slices.Concat(p[:len(p)-1], json.RawMessage(`,"additionalProperties":false}`))
}

func ready(d Deps, definition *tool.Definition) error {
	if slices.Contains([]string{"diff", "env", "json_yaml"}, definition.Name) {
		return nil // not every call needs all permissions: the tools check them
	}
	return d.require(definition.Permissions...)
}

// RenderError words a host's error as the contract does, also for a call that reaches no tool.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	rule, _ := err.Details["rule"].(string)
	if p, ok := strings.CutPrefix(rule, "permission "); ok && err.Code == tool.Denied { // a policy's default
		err = notGranted(p)
	}
	return failed(nil, kit.Worded(err), nil)
}

type facts map[string]any

// outcome is a tool's part of a result; some failures have one too.
type outcome struct {
	kit.Outcome
	output string
	// warning makes the success partial.
	warning  string
	metadata facts
	// contents are images and other content beside the output.
	contents []tool.Content
}

type envelope struct {
	Success  bool   `json:"success"`
	Output   string `json:"output"`
	Error    string `json:"error"`
	Metadata facts  `json:"metadata"`
}

func (o *outcome) set(name string, value any) {
	if o.metadata == nil {
		o.metadata = facts{}
	}
	o.metadata[name] = value
}

func (o *outcome) warn(text string) {
	if o.warning != "" {
		o.warning += "\n"
	}
	o.warning += text
}

func succeeded(c kit.Call, o *outcome) *tool.Result {
	_, renamed := separate(c.Params)
	o.reportRenamed(renamed)
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
	o.reportRenamed(renamed)
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

// reportRenamed adds the parameters given by an old name.
func (o *outcome) reportRenamed(renamed []rename) {
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

// pathError words a workspace error about path as the contract does.
func pathError(err error, path string) error {
	e := tool.AsError(err)
	var own *tool.Error
	switch e.Code {
	case tool.NotFound:
		own = tool.Errorf(e.Code, "File not found: %s", path)
	case tool.PathOutsideWorkspace:
		own = tool.Errorf(e.Code, "Path not allowed: %s is outside the workspace", path)
	case tool.PermissionDenied, tool.Blocked:
		own = tool.Errorf(e.Code, "Path not allowed: %s", e.Message)
	case tool.IsDirectory:
		own = tool.Errorf(e.Code, "Is a directory: %s", path)
	case tool.NotADirectory:
		return tool.Errorf(e.Code, "Not a directory: %s", path).With("path", path).
			Suggest("It is a file, or leads through one: name a directory, or correct the path.")
	case tool.AlreadyExists:
		own = tool.Errorf(e.Code, "File already exists: %s", path)
	case tool.BinaryFile:
		own = tool.Errorf(e.Code, "Not a text file: %s", path)
	default:
		return e
	}
	return own.Suggest("%s", e.Suggestion).With("path", path)
}

func invalid(suggestion, format string, args ...any) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion)
}
