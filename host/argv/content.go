package argv

import (
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Content declares a part of a result, a prompt or a resource. At most one of Text, File and Data is set;
// without them it is the command's output.
type Content struct {
	Kind tool.ContentKind
	// JSON is set for a text that is JSON and also the structured result.
	JSON bool
	// Empty is the JSON for blank output, as of a program that found nothing. If unset, blank output is an
	// error.
	Empty string
	// MIME is the media type of an image, a sound or a resource.
	MIME string
	// Text is a text with places for values.
	Text *Expr
	// File is a file of the workspace, read when the part is made.
	File *Expr
	// Data is the literal content.
	Data []byte
	// Base64 is set if the command prints base64.
	Base64 bool
	// URI names a resource, or a link.
	URI *Expr
	// Pos is where the content was declared, for messages.
	Pos string
}

// Printed reports whether the content is the command's output.
func (c *Content) Printed() bool { return c.Text == nil && c.File == nil && c.Data == nil }

// Text returns an expression's value as text, with parameters unchanged. Null is the empty text.
func (e *Expr) Text(values map[string]any) string {
	f := fill{values: values, blank: true}
	text, _ := f.text(*e)
	return text
}

// URI is Text for a URI: within one, a parameter is percent-encoded; a whole URI stays.
func (e *Expr) URI(values map[string]any) string {
	f := fill{values: values, blank: true}
	chosen := *e
	for chosen.When != nil {
		chosen = f.choose(chosen.When)
	}
	if chosen.Concat != nil {
		f.values = make(map[string]any, len(values))
		for name, value := range values {
			f.values[name] = escaped(value)
		}
	}
	text, _ := f.text(chosen)
	return text
}

func escaped(value any) any {
	switch v := value.(type) {
	case string:
		parts := strings.Split(v, "/")
		for i, part := range parts {
			parts[i] = url.PathEscape(part)
		}
		return strings.Join(parts, "/")
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = escaped(item)
		}
		return out
	}
	return value
}

// CheckPaths checks the values that are paths.
func CheckPaths(params []Param, values map[string]any, paths Paths) error {
	f := fill{values: values, run: new(Run)}
	for i := range params {
		if err := f.checkPaths(&params[i], paths); err != nil {
			return err
		}
	}
	return nil
}

func compact(value any) string { return string(tool.MustMarshal(value)) }
