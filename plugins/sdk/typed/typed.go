// Package typed makes tools from Go structs and functions. It does not depend on plugins, so tools inside the host
// can use it as well.
package typed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
)

// Func makes a tool of a function. In is a struct whose fields are the parameters; see [Schema] for the
// tags. Out decides the result:
//
//   - *tool.Result: that result. Nil is an empty result.
//   - string: the text.
//   - anything else: the value as JSON, as text and as structured data.
//
// The definition's Parameters and Returns are inferred from In and Out at first use, unless set. A type
// without a schema (a channel, a recursive struct) is a programming error and then panics.
func Func[In, Out any](definition tool.Definition, fn func(context.Context, *tool.Call, In) (Out, error)) tool.Tool {
	f := &function[In, Out]{fn: fn}
	f.definition = sync.OnceValue(func() *tool.Definition { return infer[In, Out](definition) })
	return f
}

type function[In, Out any] struct {
	definition func() *tool.Definition
	fn         func(context.Context, *tool.Call, In) (Out, error)
}

// Definition implements tool.Tool.
func (f *function[In, Out]) Definition() *tool.Definition { return f.definition() }

// Call implements tool.Tool: it decodes the parameters, runs the function and converts the result.
func (f *function[In, Out]) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	var in In
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	out, err := f.fn(ctx, call, in)
	if err != nil {
		return nil, err
	}
	return render(out)
}

func render(out any) (*tool.Result, error) {
	switch v := out.(type) {
	case nil:
		return &tool.Result{}, nil
	case *tool.Result:
		if v == nil {
			v = &tool.Result{}
		}
		return v, nil
	case string:
		return tool.Text(v), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(withoutNil(reflect.ValueOf(out)).Interface()); err != nil {
		return nil, tool.Errorf(tool.Internal, "cannot give the result as JSON: %w", err).
			Suggest("This is a mistake in the tool; tell its author.")
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	r := tool.Text(string(data))
	r.Structured = data
	return r, nil
}

func infer[In, Out any](d tool.Definition) *tool.Definition {
	if d.Parameters == nil {
		d.Parameters = mustSchema(d.Name, reflect.TypeFor[In]())
	}
	out := reflect.TypeFor[Out]()
	if d.Returns == nil && out != reflect.TypeFor[*tool.Result]() && out.Kind() != reflect.String {
		d.Returns = mustSchema(d.Name, out)
	}
	return &d
}

func mustSchema(name string, t reflect.Type) json.RawMessage {
	schema, err := Schema(t)
	if err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
	return schema
}
