package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/data"
)

const (
	// dataInput and dataShown limit what json_yaml reads and shows, in bytes.
	dataInput  = 16 << 20
	dataShown  = 2 << 20
	pathsShown = 1000
)

type jsonYAMLParams struct {
	Action       string `json:"action"`
	Input        string `json:"input"`
	Format       string `json:"format"`
	Query        string `json:"query"`
	OutputFormat string `json:"output_format"`
}

// prettyOutput converts the old boolean to an output format.
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

// write writes documents to the output: several become a YAML stream or a JSON array.
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
		o.output = truncate.Head(o.output, dataShown)
		o.Truncated = true
		o.warn(fmt.Sprintf("the first %d of %d bytes are shown; select a part with action query", len(o.output), total))
	}
	return err
}

// load reads data from a text or a file. If broken, input has the assumed format.
func (p jsonYAMLParams) load(deps Deps, given string) (*input, error) {
	text, file, err := p.source(deps, given)
	if err != nil {
		return nil, err
	}
	in := &input{file: file, format: data.Format(p.Format)}
	if p.Format == "auto" {
		in.format = formatOf(file)
	}
	switch in.format {
	case data.JSON:
		return in, in.readJSON(text)
	case data.YAML:
		return in, in.readYAML(text)
	}
	return in, in.guess(text)
}

func (p jsonYAMLParams) source(deps Deps, given string) (text []byte, file string, err error) {
	name := strings.TrimSpace(given)
	if name == "" {
		return nil, "", invalid("Give the data, or the path of a file.", "Input is required")
	}
	if !mayBeFile(name) {
		return []byte(given), "", nil
	}
	info, err := deps.Workspace.Stat(name)
	switch {
	case err == nil && !info.IsDir(): // reading refuses a pipe
	case looksLikeFile(name):
		if err == nil {
			err = tool.Errorf(tool.IsDirectory, "%s is not a file", name).Suggest("Name a file.")
		}
		return nil, "", pathError(err, name)
	default:
		return []byte(given), "", nil
	}
	if err := deps.require(tool.FileRead); err != nil {
		return nil, "", err
	}
	text, _, err = deps.Workspace.ReadFile(name, dataInput)
	if err != nil {
		return nil, "", pathError(err, name)
	}
	file, err = deps.Workspace.Rel(name)
	return text, file, err
}

func mayBeFile(name string) bool {
	return len(name) < 1024 && !strings.ContainsAny(name, "\n\r\x00{}[]\"") && !strings.Contains(name, ": ")
}

// looksLikeFile distinguishes a file name from a scalar.
func looksLikeFile(name string) bool {
	return formatOf(name) != "" && !strings.ContainsAny(name, " \t") ||
		strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")
}

// formatOf returns the format by file name, "" if unknown.
func formatOf(file string) data.Format {
	switch strings.ToLower(path.Ext(file)) {
	case ".json", ".geojson", ".webmanifest", ".ipynb", ".har":
		return data.JSON
	case ".yaml", ".yml":
		return data.YAML
	}
	return ""
}

func (in *input) readJSON(text []byte) error {
	in.format = data.JSON
	v, err := data.ReadJSON(text)
	if err != nil {
		return err
	}
	in.docs = []data.Document{{Value: v}}
	return nil
}

func (in *input) readYAML(text []byte) (err error) {
	in.format = data.YAML
	in.docs, err = data.ReadYAML(text)
	return err
}

// guess reads text that is or is meant to be JSON as JSON, and all else as YAML.
func (in *input) guess(text []byte) error {
	err := in.readJSON(text)
	if err == nil || meansJSON(string(text)) {
		return err
	}
	return in.readYAML(text)
}

// meansJSON reports whether text is in JSON's style, perhaps with a mistake. YAML rarely looks so.
func meansJSON(text string) bool {
	if strings.Contains(text, "\n---") {
		return false
	}
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "{"):
		next := strings.TrimSpace(text[1:])
		return next == "" || next[0] == '"' || next[0] == '}'
	case strings.HasPrefix(text, "["):
		next := strings.TrimSpace(text[1:])
		return next == "" || strings.IndexByte(`"[]{-0123456789`, next[0]) >= 0
	}
	return false
}

func (p jsonYAMLParams) merge(deps Deps) (*outcome, error) {
	docs, in, err := p.documents(deps)
	if err != nil {
		return p.broken(in), err
	}
	if len(docs) < 2 {
		return nil, invalid("Give a YAML stream of several documents, a JSON array of objects, or the paths of files, one a line.",
			"Merge needs two documents or more, and there is %d", len(docs))
	}
	merged := docs[0]
	for _, patch := range docs[1:] {
		merged = data.Merge(merged, patch)
	}
	o := in.outcome()
	o.set("documents", len(docs))
	return o, p.write(o, merged)
}

// documents returns what to merge: several files, or the documents of one text.
func (p jsonYAMLParams) documents(deps Deps) ([]any, *input, error) {
	names := p.files(deps)
	if len(names) < 2 {
		in, err := p.load(deps, p.Input)
		if err != nil {
			return nil, in, err
		}
		docs, err := spread(in.values())
		return docs, in, err
	}
	all := &input{}
	for _, name := range names {
		in, err := p.load(deps, name)
		if err != nil {
			return nil, in, err
		}
		all.docs = append(all.docs, in.docs...)
		all.format = in.format
	}
	return all.values(), all, nil
}

// files returns the lines of the input if each names a file.
func (p jsonYAMLParams) files(deps Deps) []string {
	var names []string
	for line := range strings.Lines(p.Input) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !mayBeFile(line) {
			return nil
		}
		if info, err := deps.Workspace.Stat(line); (err != nil || !info.Mode().IsRegular()) && !looksLikeFile(line) {
			return nil
		}
		names = append(names, line)
	}
	return names
}

// spread returns the objects of a single array as the documents.
func spread(docs []any) ([]any, error) {
	if len(docs) != 1 {
		return docs, nil
	}
	list, ok := docs[0].([]any)
	if !ok {
		return docs, nil
	}
	for i, item := range list {
		if _, ok := item.(*data.Object); !ok {
			return nil, invalid("Give an array of objects.", "Item %d of the array to merge is not an object", i+1)
		}
	}
	return list, nil
}
