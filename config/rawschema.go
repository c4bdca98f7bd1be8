package config

import (
	"bytes"
	"encoding/json"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	hostschema "github.com/toolhost/toolhost/host/schema"
)

// objectSchema reads a JSON Schema of an object: JSON as text, kept as written, or an object of the expression
// language.
func (b block) objectSchema(name string) json.RawMessage {
	raw := b.json(name)
	if raw == nil {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(bytes.TrimSpace([]byte(text)))
	}
	if !json.Valid(raw) {
		var v any
		b.fail(b.where(name), "Invalid JSON", "Check it with a JSON tool; in a heredoc write $${ for ${.",
			"%s is not valid JSON: %v.", name, json.Unmarshal(raw, &v))
		return nil
	}
	var object struct {
		Type       any             `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	err := json.Unmarshal(raw, &object)
	if err != nil || object.Type != "object" && (object.Type != nil || object.Properties == nil) {
		b.fail(b.where(name), "Schema of something else", `Write a schema with "type": "object".`,
			"%s must be the schema of an object.", name)
		return nil
	}
	raw, losses := hostschema.Parameters(raw)
	if err := hostschema.Mistake(losses); err != nil {
		b.fail(b.where(name), "Invalid schema", "Correct it.", "%s cannot be used: %s.", name, err)
		return nil
	}
	for _, loss := range losses {
		b.warn(b.where(name), "Schema in part not understood", "Say it otherwise; the rest of the schema is used.",
			"%s goes without %s.", name, loss)
	}
	return raw
}

// toolParams reads the parameters of a tool: its param blocks, or a schema that is kept as written.
func (b block) toolParams(spec *argv.Spec) *params {
	if !b.has("params_schema") {
		p := b.params()
		spec.Params = p.list
		return p
	}
	spec.Raw = b.objectSchema("params_schema")
	p := &params{byName: make(map[string]int), used: make(map[string]bool)}
	for _, param := range argv.SchemaParams(spec.Raw) {
		p.byName[param.Name] = len(p.list)
		p.list, p.at = append(p.list, param), append(p.at, hcl.Range{})
	}
	for _, nested := range b.blocks {
		if nested.Type == "param" {
			b.annotate(nested, p)
		}
	}
	spec.Params = p.list
	return p
}

func (b block) annotate(nested *hcl.Block, p *params) {
	param := p.find(nested.Labels[0])
	if param == nil {
		hint := didYouMean(nested.Labels[0], p.names())
		if hint == "" {
			hint = "Add it to the schema, or remove the block."
		}
		b.fail(nested.LabelRanges[0], "Not in the schema", hint, "params_schema has no property %q.", nested.Labels[0])
		return
	}
	blk := b.open(nested, "param beside schema")
	param.Path = blk.kind("path", argv.Read, argv.Write, argv.Remove)
	blk.boolean("dash", &param.Dash)
	param.Pos = pos(nested.DefRange)
}
