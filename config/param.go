package config

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/argv"
	hostschema "github.com/toolhost/toolhost/host/schema"
)

// params are the parameters of a tool while its command is read.
type params struct {
	list   []argv.Param
	at     []hcl.Range
	byName map[string]int
	used   map[string]bool
	asks   []argv.Ask
	// misspelt is set after a reference to an unknown parameter: one that seems unused may have been meant.
	misspelt bool
	// declare is how to declare one, if not by a param block.
	declare string
}

func (p *params) find(name string) *argv.Param {
	if i, ok := p.byName[name]; ok {
		return &p.list[i]
	}
	return nil
}

// value returns a parameter or a part of an answer, by the name that an expression was compiled to.
func (p *params) value(name string) *argv.Param {
	for i := range p.asks {
		for _, part := range p.asks[i].Params() {
			if part.Name == name {
				return &part
			}
		}
	}
	return p.find(name)
}

func (p *params) names() []string {
	names := make([]string, len(p.list))
	for i := range p.list {
		names[i] = p.list[i].Name
	}
	return names
}

func (b block) params() *params {
	all := &params{byName: make(map[string]int), used: make(map[string]bool)}
	for _, nested := range b.blocks {
		if nested.Type != "param" {
			continue
		}
		i, taken := all.byName[nested.Labels[0]]
		if taken {
			b.fail(nested.LabelRanges[0], fmt.Sprintf("Two params named %q", nested.Labels[0]),
				"Rename or remove one of them.",
				"It stands at %s already.", pos(all.at[i]))
		}
		if p, ok := b.param(nested); ok && !taken {
			all.byName[p.Name] = len(all.list)
			all.list = append(all.list, p)
			all.at = append(all.at, nested.DefRange)
		}
	}
	return all
}

// param reads a param block. One with mistakes is kept, so that references to it are not mistakes too.
func (b block) param(nested *hcl.Block) (argv.Param, bool) {
	p := argv.Param{Name: nested.Labels[0], Pos: pos(nested.DefRange)}
	good := b.name("param", p.Name, nested.LabelRanges[0])
	blk := b.open(nested, "param")
	p.Type, p.Item = blk.paramType()
	blk.text("description", &p.Description)
	blk.choices("enum", &p.Enum)
	blk.pattern("pattern", &p.Pattern)
	p.Min, p.Max = blk.bound("min"), blk.bound("max")
	p.Path = blk.kind("path", argv.Read, argv.Write, argv.Remove)
	blk.boolean("dash", &p.Dash)
	p.Default = blk.json("default")
	blk.consistent(&p)
	return p, good
}

// choices sets a non-empty list of texts to choose from, each once.
func (b block) choices(name string, to *[]string) {
	if !b.texts(name, to) {
		return
	}
	if len(*to) == 0 {
		b.fail(b.where(name), "Nothing to choose from", "List the values, or leave it out.", "%s is empty.", name)
	}
	for i, value := range *to {
		if slices.Contains((*to)[:i], value) {
			b.fail(b.where(name), "Value listed twice", "Remove one of them.", "%s holds %q twice.", name, value)
			return
		}
	}
}

// bound returns a number with all its digits.
func (b block) bound(name string) (n json.Number) {
	b.typed(name, cty.Number, "a number", func(v cty.Value) {
		text, _ := toText(v)
		n = json.Number(text)
	})
	return n
}

func exceeds(a, b json.Number) bool {
	x, ok := new(big.Rat).SetString(a.String())
	y, both := new(big.Rat).SetString(b.String())
	return ok && both && x.Cmp(y) > 0
}

// paramType reads a type: a bare word, or a list of one.
func (b block) paramType() (t, item argv.Type) {
	a := b.attrs["type"]
	if a == nil {
		return argv.TypeString, ""
	}
	if word := hcl.ExprAsKeyword(a.Expr); word != "" {
		if word == string(argv.TypeList) {
			b.warn(a.Expr.Range(), "List without an element type", "Write list(string), or list of integer, number or bool.",
				"This is taken for a list of strings.")
			return argv.TypeList, argv.TypeString
		}
		return b.scalarType(word, a.Expr.Range()), ""
	}
	if name, args, ok := call(a.Expr); ok && name == string(argv.TypeList) && len(args) == 1 {
		if word := hcl.ExprAsKeyword(args[0]); word != "" && word != string(argv.TypeList) {
			return argv.TypeList, b.scalarType(word, args[0].Range())
		}
	}
	b.fail(a.Expr.Range(), "Invalid type", "Use string, integer, number, bool or list(string), without quotes.",
		"This is not a type.")
	return argv.TypeString, ""
}

// usualTypes maps other languages' names of types to ours.
var usualTypes = map[string]string{
	"int": "Write integer.", "long": "Write integer.",
	"float": "Write number.", "double": "Write number.",
	"boolean": "Write bool.",
	"str":     "Write string.", "text": "Write string.",
	"array":  "Write list(string).",
	"object": "Describe it in params_schema, as JSON Schema.", "map": "Describe it in params_schema, as JSON Schema.",
	"any": "Describe it in params_schema, as JSON Schema.",
}

func (b block) scalarType(word string, at hcl.Range) argv.Type {
	switch t := argv.Type(word); t {
	case argv.TypeString, argv.TypeInteger, argv.TypeNumber, argv.TypeBool:
		return t
	}
	hint := didYouMean(word, []string{"string", "integer", "number", "bool", "list"})
	if usual := usualTypes[word]; usual != "" {
		hint = usual
	} else if hint == "" {
		hint = "Use string, integer, number, bool or list(string)."
	}
	b.fail(at, "Unknown type", hint, "There is no type %q.", word)
	return argv.TypeString
}

func call(e hcl.Expression) (string, []hcl.Expression, bool) {
	c, diags := hcl.ExprCall(e)
	if diags.HasErrors() {
		return "", nil, false
	}
	return c.Name, c.Arguments, true
}

// consistent checks the attributes of a parameter against each other and the default.
func (b block) consistent(p *argv.Param) {
	textual := p.Type == argv.TypeString || p.Type == argv.TypeList && p.Item == argv.TypeString
	for _, name := range []string{"enum", "pattern", "path", "dash"} {
		if b.has(name) && !textual {
			b.fail(b.attrs[name].NameRange, "Out of place", "Remove it, or make the type string.",
				"%s is for text, and %q is %s.", name, p.Name, p.Type)
		}
	}
	for _, name := range []string{"min", "max"} {
		if b.has(name) && p.Type == argv.TypeBool {
			b.fail(b.attrs[name].NameRange, "Out of place", "Remove it.", "%s makes no sense for a bool.", name)
		}
	}
	if exceeds(p.Min, p.Max) {
		b.fail(b.where("max"), "Empty range", "", "max is less than min.")
		return
	}
	if p.Default != nil && string(p.Default) != "null" {
		b.checkDefault(p)
	}
}

func (b block) checkDefault(p *argv.Param) {
	strict := *p
	strict.Default = nil
	spec := argv.Spec{Command: new(argv.Template), Params: []argv.Param{strict}}
	compiled, err := hostschema.Compile(spec.Schema())
	if err != nil {
		return // a pattern that is reported already
	}
	object, err := json.Marshal(map[string]json.RawMessage{p.Name: p.Default})
	if err != nil {
		return
	}
	_, _, violations := compiled.Decode(object)
	for _, v := range violations {
		b.fail(b.where("default"), "Invalid default", "", "%s", sentence(v.String()))
	}
}
