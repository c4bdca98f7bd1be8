package tool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Result is the result of a call.
type Result struct {
	// Contents is what the caller reads, in order.
	Contents []Content `json:"contents,omitempty"`
	// Structured is the result as data, valid against Definition.Returns; may be nil.
	Structured json.RawMessage `json:"structured,omitempty"`
	// FilesAffected are the files that the call created, changed or removed, relative to the workspace, sorted.
	FilesAffected []string `json:"files_affected,omitempty"`
	// Artifacts are files that the call left for the reader.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Truncated is set if Contents is truncated: it then says how much is missing and where the whole is.
	Truncated bool `json:"truncated,omitempty"`
	// Failed is the error of a call that failed with a result: a contract's envelope, or the output of a failed
	// command. Nil means success.
	Failed *Error `json:"failed,omitempty"`
	// Metadata is about the call, such as its sandbox level. It is never shown to a model.
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Keys of a result's metadata: SandboxLevel confined the call's processes; SandboxWeaker is why it is not the
// strongest.
const (
	SandboxLevel  = "sandbox"
	SandboxWeaker = "sandbox_weaker"
)

// Content is one piece of a result.
type Content struct {
	Kind ContentKind `json:"kind"`
	// Text is the text of KindText and of a textual resource.
	Text string `json:"text,omitempty"`
	// Data is the content of an image, audio or binary resource.
	Data []byte `json:"data,omitempty"`
	// MIMEType is the type of Data, or of the resource.
	MIMEType string `json:"mime_type,omitempty"`
	// URI names a resource or link.
	URI string `json:"uri,omitempty"`
	// Role is the speaker, "user" or "assistant", in a prompt.
	Role string `json:"role,omitempty"`
	// Name labels a link.
	Name string `json:"name,omitempty"`
	// MCP is a JSON object of the content's further members in MCP, from an MCP server: annotations, _meta, a
	// link's. Faces of MCP pass them on.
	MCP json.RawMessage `json:"mcp,omitempty"`
}

// ContentKind is the kind of a content.
type ContentKind string

// The kinds of content.
const (
	KindText     ContentKind = "text"
	KindImage    ContentKind = "image"
	KindAudio    ContentKind = "audio"
	KindResource ContentKind = "resource"
	KindLink     ContentKind = "link"
)

// Artifact is a file that a call left for the reader.
type Artifact struct {
	// Name is the artifact's name in its call: "stdout", "patch".
	Name string `json:"name"`
	// Path is relative to the workspace if inside it, otherwise absolute.
	Path string `json:"path"`
	// Bytes is the file's size.
	Bytes int64 `json:"bytes"`
}

// Text returns a result of one text.
func Text(s string) *Result {
	return &Result{Contents: []Content{{Kind: KindText, Text: s}}}
}

// Textf returns a result of one formatted text.
func Textf(format string, args ...any) *Result { return Text(fmt.Sprintf(format, args...)) }

// JSON returns a result of data: v as Structured and, as text, its compact JSON without HTML escapes. It panics
// if v cannot be marshalled.
func JSON(v any) *Result {
	data := MustMarshal(v)
	return &Result{Contents: []Content{{Kind: KindText, Text: string(data)}}, Structured: data}
}

// MustMarshal returns v as compact JSON without HTML escapes. It panics if v cannot be marshalled.
func MustMarshal(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("tool: cannot marshal %T: %v", v, err))
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// Affecting adds files to FilesAffected and returns r.
func (r *Result) Affecting(files ...string) *Result {
	r.FilesAffected = append(r.FilesAffected, files...)
	return r
}

// Text joins the result's text contents with newlines.
func (r *Result) Text() string {
	var texts []string
	for _, c := range r.Contents {
		if c.Kind == KindText {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}
