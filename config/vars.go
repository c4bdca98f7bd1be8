package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// EnvPrefix begins the environment variables that set variables.
const EnvPrefix = "TOOLHOST_VAR_"

func (r *reader) variables(blocks hcl.Blocks) {
	r.each(blocks, r.variable)
	for _, name := range slices.Sorted(maps.Keys(r.opts.Vars)) {
		if r.vars[name] == nil {
			hint := didYouMean(name, slices.Sorted(maps.Keys(r.vars)))
			if hint == "" {
				hint = "Declare it with a variable block."
			}
			r.fail(hcl.Range{}, "Unknown variable", hint,
				"A value was given for %q, and the file has no variable of that name.", name)
		}
	}
}

func (r *reader) variable(b *hcl.Block) {
	name := b.Labels[0]
	bind := &binding{pos: b.DefRange, state: failed}
	r.vars[name] = bind
	if !r.name("variable", name, b.LabelRanges[0]) {
		return
	}
	v := Variable{Name: name, From: "default", Pos: pos(b.DefRange)}
	blk := r.open(b, "variable")
	blk.text("description", &v.Description)
	blk.boolean("sensitive", &v.Sensitive)
	fallback, ok := blk.defaultValue()
	if ok && r.override(&v, bind, fallback) {
		bind.state = resolved
	}
	if bind.state == resolved {
		r.recordValue(&v, bind)
	}
	r.cfg.Variables = append(r.cfg.Variables, v)
}

// defaultValue evaluates the default; NilVal without one.
func (b block) defaultValue() (cty.Value, bool) {
	a := b.attrs["default"]
	if a == nil {
		return cty.NilVal, true
	}
	if refs := a.Expr.Variables(); len(refs) > 0 {
		b.fail(refs[0].SourceRange(), "Reference in a default", "Use a local for what is made of other values.",
			"The default of a variable may not refer to anything.")
		return cty.NilVal, false
	}
	return b.value(a.Expr)
}

// override sets the variable: from the command line, from the environment, or by default.
func (r *reader) override(v *Variable, bind *binding, fallback cty.Value) bool {
	text, ok := r.opts.Vars[v.Name]
	v.From = "command line"
	if !ok {
		text, ok = r.opts.Env(EnvPrefix + v.Name)
		v.From = "environment"
	}
	if ok {
		if v.Sensitive {
			r.secret(text) // unchanged; a text of HCL is normalized
		}
		return r.given(v.Name, text, bind, fallback)
	}
	v.From = "default"
	if fallback == cty.NilVal {
		r.fail(bind.pos, "Variable without a value",
			"Give one with --var "+v.Name+"=VALUE or "+EnvPrefix+v.Name+", or add a default.",
			"The variable %q has no default, so it needs a value.", v.Name)
		return false
	}
	bind.value = fallback
	return true
}

// given converts a value given as text to the type of the default.
func (r *reader) given(name, text string, bind *binding, fallback cty.Value) bool {
	plain := fallback
	if plain != cty.NilVal {
		plain, _ = plain.UnmarkDeep()
	}
	if plain == cty.NilVal || plain.IsNull() || plain.Type() == cty.String {
		bind.value = cty.StringVal(text)
		return true
	}
	if data := []byte(text); json.Valid(data) {
		t, err := ctyjson.ImpliedType(data)
		if err == nil && sameKind(t, plain.Type()) {
			bind.value, err = ctyjson.Unmarshal(data, t)
			if err == nil {
				return true
			}
		}
	}
	r.fail(bind.pos, "Wrong type of value", "Write lists and objects as JSON.",
		"The value given for %q must be %s, as its default is.", name, typeName(plain))
	return false
}

// sameKind compares types as far as a value from outside must agree.
func sameKind(a, b cty.Type) bool {
	list := func(t cty.Type) bool { return t.IsTupleType() || t.IsListType() || t.IsSetType() }
	object := func(t cty.Type) bool { return t.IsObjectType() || t.IsMapType() }
	return a.Equals(b) || list(a) && list(b) || object(a) && object(b)
}

// recordValue notes the value for listings, or hides it.
func (r *reader) recordValue(v *Variable, bind *binding) {
	if !v.Sensitive {
		plain, _ := bind.value.UnmarkDeep()
		if plain.ContainsMarked() || bind.value.ContainsMarked() {
			v.Sensitive = true
			return
		}
		v.Value, _ = ctyjson.Marshal(plain, plain.Type())
		return
	}
	for _, text := range leaves(bind.value) {
		r.secret(text)
	}
	bind.value = bind.value.Mark(sensitive)
}

// leaves returns the texts in a value.
func leaves(v cty.Value) []string {
	v, _ = v.UnmarkDeep()
	var all []string
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && !v.IsNull() {
			all = append(all, v.AsString())
		}
		return true, nil
	})
	return all
}

func markedTexts(v cty.Value) []string {
	switch {
	case v.IsMarked():
		return leaves(v)
	case !v.ContainsMarked() || v.IsNull() || !v.CanIterateElements():
		return nil
	}
	var all []string
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		all = append(all, markedTexts(item)...)
	}
	return all
}

func (r *reader) localBlocks(blocks hcl.Blocks) {
	for _, b := range blocks {
		attrs, diags := b.Body.JustAttributes()
		r.diags = append(r.diags, diags...)
		for _, a := range inOrder(attrs) {
			if r.once("local", a.Name, a.NameRange) {
				r.locals[a.Name] = &binding{pos: a.NameRange, expr: a.Expr}
			}
		}
	}
}

// resolveLocals evaluates unused locals too, so that their mistakes are reported.
func (r *reader) resolveLocals() {
	names := slices.SortedFunc(maps.Keys(r.locals), func(a, b string) int {
		return r.locals[a].pos.Start.Byte - r.locals[b].pos.Start.Byte
	})
	for _, name := range names {
		r.bound(r.locals[name], "local."+name)
	}
}

func inOrder(attrs hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		if a.NameRange.Start.Byte != b.NameRange.Start.Byte {
			return a.NameRange.Start.Byte - b.NameRange.Start.Byte
		}
		return strings.Compare(a.Name, b.Name)
	})
}
