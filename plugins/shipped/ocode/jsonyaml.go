package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/plugins/shipped/ocode/data"
)

const (
	// dataInput and dataShown bound what json_yaml reads and shows, in bytes.
	dataInput = 16 << 20
	dataShown = 2 << 20
	// pathsShown bounds the paths in the metadata of a query.
	pathsShown = 1000
)

type jsonYAMLParams struct {
	Action       string `json:"action"`
	Input        string `json:"input"`
	Format       string `json:"format"`
	Query        string `json:"query"`
	OutputFormat string `json:"output_format"`
}

// prettyOutput makes an output format of the old truth value.
func prettyOutput(old json.RawMessage, _ map[string]json.RawMessage) (json.RawMessage, bool) {
	if strings.Trim(string(old), `"`) == "true" {
		return json.RawMessage(`"pretty"`), true
	}
	return json.RawMessage(`"json"`), true
}

func runJSONYAML(_ context.Context, deps Deps, _ *tool.Call, p jsonYAMLParams) (*outcome, error) {
	if p.Action == "query" && p.Query == "" {
		return nil, invalid("Give a JSONPath in query, such as $.name.", "Query is required for action query")
	}
	if p.Action == "merge" {
		return p.merge(deps)
	}
	in, err := p.load(deps, p.Input)
	if err != nil {
		return p.broken(in), err
	}
	switch p.Action {
	case "validate":
		return p.validated(in), nil
	case "query":
		return p.query(in)
	}
	o := in.outcome()
	return o, p.write(o, in.values()...)
}

// input is data that was read.
type input struct {
	format data.Format
	file   string // relative to the workspace; "" for text
	docs   []data.Document
}

func (in *input) values() []any {
	values := make([]any, len(in.docs))
	for i, d := range in.docs {
		values[i] = d.Value
	}
	return values
}

func (in *input) outcome() *outcome {
	o := &outcome{metadata: facts{"format": in.format, "documents": len(in.docs), "valid": true}}
	if in.file != "" {
		o.set("file", in.file)
	}
	for _, d := range in.docs {
		for _, note := range d.Notes {
			o.warn(note)
		}
	}
	return o
}

// broken is the metadata of data that cannot be read.
func (p jsonYAMLParams) broken(in *input) *outcome {
	if in == nil {
		return nil
	}
	o := &outcome{metadata: facts{"format": in.format, "valid": false}}
	if in.file != "" {
		o.set("file", in.file)
	}
	return o
}

func (p jsonYAMLParams) validated(in *input) *outcome {
	o := in.outcome()
	o.output = "Valid " + strings.ToUpper(string(in.format))
	if n := len(in.docs); n != 1 {
		o.output += fmt.Sprintf(", %d documents", n)
	}
	return o
}

func (p jsonYAMLParams) query(in *input) (*outcome, error) {
	o := in.outcome()
	list, paths := []any{}, []string{}
	for i, doc := range in.docs {
		found, err := data.Query(doc.Value, p.Query)
		if err != nil {
			return o, err
		}
		for _, f := range found {
			list = append(list, f.Value)
			if len(in.docs) > 1 {
				f.Path = fmt.Sprintf("document %d: %s", i+1, f.Path)
			}
			if len(paths) < pathsShown {
				paths = append(paths, f.Path)
			}
		}
	}
	o.set("matches", len(list))
	o.set("paths", paths)
	return o, p.write(o, any(list))
}

// write puts documents into the output. Several are a stream in YAML, and an
// array in JSON.
func (p jsonYAMLParams) write(o *outcome, docs ...any) (err error) {
	var doc any = docs
	if len(docs) == 1 {
		doc = docs[0]
	}
	switch p.OutputFormat {
	case "yaml":
		o.output, err = data.WriteYAML(docs...)
	case "pretty":
		o.output, err = data.WriteJSON(doc, "  ")
	default:
		o.output, err = data.WriteJSON(doc, "")
	}
	if err == nil && len(o.output) > dataShown {
		total := len(o.output)
		o.output = excerpt.Head(o.output, dataShown)
		o.Truncated = true
		o.warn(fmt.Sprintf("the first %d of %d bytes are shown; select a part with action query", len(o.output), total))
	}
	return err
}
