package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	hostschema "github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// PluginConfig is a plugin's config block: values, and blocks that take their JSON shape from the plugin's
// schema.
type PluginConfig struct {
	attrs  []configAttr
	blocks []configBlock
	at     hcl.Range
	file   *hcl.File
}

type configAttr struct {
	name  string
	value json.RawMessage
	at    hcl.Range
}

type configBlock struct {
	name   string
	labels []string
	body   PluginConfig
}

// pluginConfig reads the body of a config block with any content.
func (r *reader) pluginConfig(body hcl.Body, at hcl.Range) PluginConfig {
	c := PluginConfig{at: at, file: r.file}
	attrs := make(hcl.Attributes)
	native := body.(*hclsyntax.Body)
	for name, a := range native.Attributes {
		attrs[name] = a.AsHCLAttribute()
	}
	for _, b := range native.Blocks {
		h := b.AsHCLBlock()
		c.blocks = append(c.blocks, configBlock{b.Type, b.Labels, r.pluginConfig(b.Body, h.DefRange)})
	}
	for _, a := range inOrder(attrs) {
		if value, ok := r.tree(a.Expr); ok {
			c.attrs = append(c.attrs, configAttr{a.Name, value, a.Range})
		}
	}
	return c
}

// shape is the part of a JSON Schema that determines the form of blocks.
type shape struct {
	Type       any               `json:"type"`
	Properties map[string]*shape `json:"properties"`
	Items      *shape            `json:"items"`
}

func (s *shape) property(name string) *shape {
	if s == nil {
		return nil
	}
	return s.Properties[name]
}

// JSON returns the config as a JSON object with the defaults of the plugin's JSON Schema and checks it. A block
// becomes an object, an object by label if it has labels, or a list of objects if the schema has a list.
// Without a schema nothing is checked, and repeated blocks are a list.
func (c PluginConfig) JSON(declared json.RawMessage) (json.RawMessage, Diagnostics) {
	if len(declared) == 0 {
		object, _ := c.object(nil)
		return object, nil
	}
	declared, losses := hostschema.Adapt(declared)
	err := hostschema.Mistake(losses)
	var compiled *hostschema.Schema
	if err == nil {
		compiled, err = hostschema.Compile(declared)
	}
	if err != nil {
		return nil, c.problem(c.at, "Unusable schema",
			"The plugin declares a schema of its config that cannot be used: "+err.Error()+".",
			"Report it to the plugin's author.")
	}
	s := new(shape)
	_ = json.Unmarshal(declared, s) // otherwise blocks have no form
	object, diags := c.object(s)
	normalized, _, violations := compiled.Decode(object)
	for _, v := range violations {
		diags = append(diags, c.problem(c.place(v.Path), "Invalid plugin config", sentence(v.String()), "")...)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return normalized, nil
}

func (c PluginConfig) object(s *shape) (json.RawMessage, Diagnostics) {
	if len(c.attrs)+len(c.blocks) == 0 {
		return json.RawMessage("{}"), nil
	}
	w := objectWriter{}
	w.WriteByte('{')
	for _, a := range c.attrs {
		w.key(a.name)
		w.Write(a.value)
	}
	var diags Diagnostics
	groups, order := grouped(c.blocks, func(b configBlock) string { return b.name })
	for _, name := range order {
		w.key(name)
		diags = append(diags, c.group(&w, groups[name], s.property(name))...)
	}
	w.WriteByte('}')
	return w.Bytes(), diags
}

// grouped groups blocks by a key, in the order of the keys' first use.
func grouped(blocks []configBlock, key func(configBlock) string) (groups map[string][]configBlock, order []string) {
	groups = make(map[string][]configBlock)
	for _, b := range blocks {
		k := key(b)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], b)
	}
	return groups, order
}

func (c PluginConfig) group(w *objectWriter, blocks []configBlock, s *shape) Diagnostics {
	switch {
	case s != nil && s.Type == "array" || s == nil && len(blocks) > 1 && len(blocks[0].labels) == 0:
		return writeList(w, blocks, s)
	case len(blocks[0].labels) > 0:
		return c.byLabel(w, blocks, 0, s)
	}
	object, diags := blocks[0].body.object(s)
	w.Write(object)
	for _, b := range blocks[1:] {
		diags = append(diags, c.problem(b.body.at, "Two "+b.name+" blocks",
			"There is one at "+pos(blocks[0].body.at)+" already.", "Keep one of them.")...)
	}
	return diags
}

func writeList(w *objectWriter, blocks []configBlock, s *shape) Diagnostics {
	var items *shape
	if s != nil {
		items = s.Items
	}
	var diags Diagnostics
	w.WriteByte('[')
	for i, b := range blocks {
		if i > 0 {
			w.WriteByte(',')
		}
		object, more := b.body.object(items)
		w.Write(object)
		diags = append(diags, more...)
	}
	w.WriteByte(']')
	return diags
}

func (c PluginConfig) byLabel(w *objectWriter, blocks []configBlock, depth int, s *shape) Diagnostics {
	var diags Diagnostics
	inner := objectWriter{}
	inner.WriteByte('{')
	groups, order := grouped(blocks, func(b configBlock) string {
		if depth < len(b.labels) {
			return b.labels[depth]
		}
		return ""
	})
	for _, label := range order {
		same := groups[label]
		inner.key(label)
		if depth+1 < len(same[0].labels) {
			diags = append(diags, c.byLabel(&inner, same, depth+1, s.property(label))...)
			continue
		}
		object, more := same[0].body.object(s.property(label))
		inner.Write(object)
		diags = append(diags, more...)
		for _, twice := range same[1:] {
			diags = append(diags, c.problem(twice.body.at, "Two "+twice.name+" blocks named \""+label+"\"",
				"There is one at "+pos(same[0].body.at)+" already.", "Rename or remove one of them.")...)
		}
	}
	inner.WriteByte('}')
	w.Write(inner.Bytes())
	return diags
}

// place returns the place of a violation by the first part of its path.
func (c PluginConfig) place(path string) hcl.Range {
	name := path
	if i := strings.IndexAny(name, ".["); i >= 0 {
		name = name[:i]
	}
	for _, a := range c.attrs {
		if a.name == name {
			return a.at
		}
	}
	for _, b := range c.blocks {
		if b.name == name {
			return b.body.at
		}
	}
	return c.at
}

func (c PluginConfig) problem(at hcl.Range, summary, detail, hint string) Diagnostics {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
	if hint != "" {
		diag.Detail += " " + hint
		diag.Extra = &note{suggestion: hint}
	}
	return Diagnostics{diagnostic(diag, c.file)}
}

type objectWriter struct {
	bytes.Buffer
	keys int
}

func (w *objectWriter) key(name string) {
	if w.keys++; w.keys > 1 {
		w.WriteByte(',')
	}
	w.Write(tool.MustMarshal(name))
	w.WriteByte(':')
}
