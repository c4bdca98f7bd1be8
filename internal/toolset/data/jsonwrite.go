package data

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// WriteJSON writes a value on one line or indented. The error is for a number that JSON cannot
// hold, with its JSONPath.
func WriteJSON(v any, indent string) (string, error) {
	w := jsonWriter{indent: indent}
	if err := w.value(v, "\n", "$"); err != nil {
		return "", err
	}
	return w.out.String(), nil
}

type jsonWriter struct {
	out    bytes.Buffer
	indent string
}

// value writes v; newline is a line break with the current indent.
func (w *jsonWriter) value(v any, newline, path string) error {
	switch v := v.(type) {
	case *Object:
		return w.object(v, newline, path)
	case []any:
		return w.array(v, newline, path)
	case Number:
		if !v.finite() {
			return tool.Errorf(tool.InvalidArgument, "The number %s at %s cannot be written as JSON", string(v), path).
				Suggest("Ask for output_format yaml, or replace the number.")
		}
		w.out.WriteString(string(v))
	default:
		w.out.Write(tool.MustMarshal(v))
	}
	return nil
}

func (w *jsonWriter) array(list []any, newline, path string) error {
	inner := newline + w.indent
	w.out.WriteByte('[')
	for i, v := range list {
		w.separate(i, inner)
		if err := w.value(v, inner, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	w.end(len(list), newline, ']')
	return nil
}

func (w *jsonWriter) object(o *Object, newline, path string) error {
	inner := newline + w.indent
	w.out.WriteByte('{')
	for i, m := range o.Members {
		w.separate(i, inner)
		w.out.Write(tool.MustMarshal(m.Key))
		w.out.WriteByte(':')
		if w.indent != "" {
			w.out.WriteByte(' ')
		}
		if err := w.value(m.Value, inner, path+"["+quoted(m.Key)+"]"); err != nil {
			return err
		}
	}
	w.end(len(o.Members), newline, '}')
	return nil
}

func (w *jsonWriter) separate(i int, newline string) {
	if i > 0 {
		w.out.WriteByte(',')
	}
	if w.indent != "" {
		w.out.WriteString(newline)
	}
}

func (w *jsonWriter) end(n int, newline string, bracket byte) {
	if n > 0 && w.indent != "" {
		w.out.WriteString(newline)
	}
	w.out.WriteByte(bracket)
}

// quoted writes a key as normalized JSONPaths do.
func quoted(key string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range key {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("\b\f\n\r\t", r):
			b.WriteString(map[rune]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
