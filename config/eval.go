package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// binding is a variable or local that expressions refer to.
type binding struct {
	pos   hcl.Range
	expr  hcl.Expression // of a local, or the default of a variable
	state int
	value cty.Value
}

const (
	unresolved = iota
	resolving
	resolved
	failed
)

// spend counts what expressions produce and reports whether the budget suffices.
func (r *reader) spend(n int) bool {
	r.produced += n
	return r.produced <= maxProduced
}

func (r *reader) spendAt(n int, at hcl.Range) bool {
	if r.spend(n) {
		return true
	}
	r.fail(at, "Expressions produce too much", "Write long text into a file of its own.",
		"The expressions of a file may produce at most %d MiB, and this one exceeds that.", maxProduced>>20)
	return false
}

// value evaluates an expression at load time. It reports a mistake and returns false.
func (r *reader) value(e hcl.Expression) (cty.Value, bool) {
	traversals := e.Variables()
	scope := make(map[string]map[string]cty.Value)
	size, good := 0, true
	for _, t := range traversals {
		v, ok := r.resolve(t)
		if good = good && ok; !ok {
			continue
		}
		root := t.RootName()
		if scope[root] == nil {
			scope[root] = make(map[string]cty.Value)
		}
		scope[root][t[1].(hcl.TraverseAttr).Name] = v
		size += sizeOf(v)
	}
	if !good || !r.plainArithmetic(e) || !r.spendAt(size, e.Range()) || !r.payForLoops(e, scope, size) {
		return cty.NilVal, false
	}
	return r.evaluate(e, r.context(e, scope))
}

// plainArithmetic refuses arithmetic beside what converts numbers to text: a number is checked before that, see
// huge.
func (r *reader) plainArithmetic(e hcl.Expression) bool {
	arithmetic, writes := false, false
	for _, n := range nodes(e) {
		switch n := n.(type) {
		case *hclsyntax.BinaryOpExpr:
			arithmetic = arithmetic || n.Op.Type == cty.Number
		case *hclsyntax.UnaryOpExpr:
			_, literal := n.Val.(*hclsyntax.LiteralValueExpr)
			arithmetic = arithmetic || n.Op.Type == cty.Number && !literal
		case *hclsyntax.TemplateExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.ObjectConsExpr, *hclsyntax.ForExpr,
			*hclsyntax.IndexExpr, *hclsyntax.ConditionalExpr:
			writes = true
		}
	}
	if arithmetic && writes {
		r.fail(e.Range(), "Arithmetic inside an expression", "Put it into a local of its own.",
			"A calculation stands alone, without texts, functions and objects.")
		return false
	}
	return true
}

func (r *reader) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	r.at = e.Range()
	v, diags := e.Value(ctx)
	r.diags = append(r.diags, diags...)
	if diags.HasErrors() || !r.spendAt(sizeOf(v), e.Range()) {
		return cty.NilVal, false
	}
	if huge(v) {
		r.fail(e.Range(), "Number too large", "", "A number has at most %d digits.", maxDigits)
		return cty.NilVal, false
	}
	return v, v.IsWhollyKnown()
}

// context returns the evaluation context, with functions only for expressions that may call one.
func (r *reader) context(e hcl.Expression, scope map[string]map[string]cty.Value) *hcl.EvalContext {
	ctx := &hcl.EvalContext{}
	if len(scope) > 0 {
		ctx.Variables = make(map[string]cty.Value, len(scope))
		for root, values := range scope {
			ctx.Variables[root] = cty.ObjectVal(values)
		}
	}
	if slices.ContainsFunc(nodes(e), func(n hclsyntax.Node) bool { _, call := n.(*hclsyntax.FunctionCallExpr); return call }) {
		ctx.Functions = r.functions()
	}
	return ctx
}

// nodes returns the parts of an expression in native syntax.
func nodes(e hcl.Expression) []hclsyntax.Node {
	native, ok := e.(hclsyntax.Expression)
	if !ok {
		return nil
	}
	var all []hclsyntax.Node
	_ = hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		all = append(all, n)
		return nil
	})
	return all
}

// payForLoops counts the rounds of for expressions, which are not nested, against the budget.
func (r *reader) payForLoops(e hcl.Expression, scope map[string]map[string]cty.Value, size int) bool {
	for _, n := range nodes(e) {
		loop, ok := n.(*hclsyntax.ForExpr)
		if !ok {
			continue
		}
		list, ok := r.evaluate(loop.CollExpr, r.context(e, scope))
		if !ok {
			return false
		}
		list, _ = list.Unmark()
		if list.IsNull() || !list.CanIterateElements() {
			continue // reported by evaluation
		}
		body := e.Range().End.Byte - e.Range().Start.Byte
		if !r.spendAt(list.LengthInt()*(size+body), loop.Range()) {
			return false
		}
	}
	return true
}

// resolve returns the value of a reference's first two parts.
func (r *reader) resolve(t hcl.Traversal) (cty.Value, bool) {
	root := t.RootName()
	if !known(root) {
		r.unknownRoot(t, root)
		return cty.NilVal, false
	}
	if len(t) < 2 {
		r.fail(t.SourceRange(), "Incomplete reference", "Write "+root+".NAME.", "%s alone has no value.", root)
		return cty.NilVal, false
	}
	attr, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		r.fail(t.SourceRange(), "Invalid reference", "Write "+root+".NAME.", "%s has no items to choose by index.",
			root)
		return cty.NilVal, false
	}
	switch root {
	case "path":
		if attr.Name == "root" {
			return cty.StringVal(r.cfg.Dir), true
		}
	case "workspace":
		if attr.Name == "root" {
			return cty.StringVal(r.cfg.Workspace.Root), true
		}
	default:
		if b := r.bindings(root)[attr.Name]; b != nil {
			return r.bound(b, root+"."+attr.Name)
		}
	}
	hint := didYouMean(attr.Name, r.names(root))
	if hint == "" {
		hint = howToDefine(root, attr.Name)
	}
	r.fail(t.SourceRange(), "Unknown "+rootNoun(root), hint, "There is no %s.%s.", root, attr.Name)
	return cty.NilVal, false
}

func (r *reader) unknownRoot(t hcl.Traversal, root string) {
	if root == "param" {
		r.fail(t.SourceRange(), "Parameter out of place", "Use it in argv, env or stdin of the tool's command block.",
			"A parameter has a value only when its tool is called; here the file is being loaded.")
		return
	}
	if root == "ask" {
		r.fail(t.SourceRange(), "Answer out of place",
			"Use it in argv, env or stdin of the tool's command block, or in its outputs.",
			"A question is answered only when its tool is called; here the file is being loaded.")
		return
	}
	hint := didYouMean(root, []string{"var", "local", "param", "ask", "path", "workspace"})
	if hint == "" {
		hint = `Write "` + root + `" in quotes if it is meant as text.`
	}
	r.fail(t.SourceRange(), "Unknown reference", hint, "Nothing here is called %q.", root)
}

func howToDefine(root, name string) string {
	switch root {
	case "var":
		return `Declare it: variable "` + name + `" { default = "..." }.`
	case "local":
		return "Define it: locals { " + name + " = ... }."
	}
	return "Write " + root + ".root, which is all that it has."
}

func rootNoun(root string) string {
	switch root {
	case "var":
		return "variable"
	case "local":
		return "local"
	}
	return "reference"
}

// known reports whether references may begin with root.
func known(root string) bool {
	switch root {
	case "var", "local", "path", "workspace":
		return true
	}
	return false
}

// names returns the names under a root.
func (r *reader) names(root string) []string {
	if b := r.bindings(root); b != nil {
		if len(b) > maxSuggestions {
			return nil
		}
		return slices.Sorted(maps.Keys(b))
	}
	return []string{"root"}
}

func (r *reader) bindings(root string) map[string]*binding {
	switch root {
	case "var":
		return r.vars
	case "local":
		return r.locals
	}
	return nil
}

// bound returns the value of a binding, and evaluates a local on first use.
func (r *reader) bound(b *binding, name string) (cty.Value, bool) {
	switch b.state {
	case resolved:
		return b.value, true
	case failed:
		return cty.NilVal, false
	case resolving:
		r.circular(b, name)
		b.state = failed
		return cty.NilVal, false
	}
	b.state = resolving
	r.resolving = append(r.resolving, name)
	v, ok := r.value(b.expr)
	r.resolving = r.resolving[:len(r.resolving)-1]
	if !ok || b.state == failed {
		b.state = failed
		return cty.NilVal, false
	}
	b.value, b.state = v, resolved
	return v, true
}

// maxRing bounds how many members of a circle of definitions are named.
const maxRing = 10

// circular reports a local that depends on itself, with the others on the way.
func (r *reader) circular(b *binding, name string) {
	ring := r.resolving[slices.Index(r.resolving, name):]
	shown := make([]string, 0, len(ring)+1)
	for _, member := range ring {
		_, local, _ := strings.Cut(member, ".")
		shown = append(shown, fmt.Sprintf("%s (line %d)", member, r.locals[local].pos.Start.Line))
	}
	if len(shown) > maxRing {
		shown = append(shown[:maxRing:maxRing], fmt.Sprintf("%d more", len(ring)-maxRing))
	}
	r.fail(b.pos, "Circular definition", "Write one of the values out.", "%s is defined by itself: %s.",
		name, strings.Join(append(shown, name), " -> "))
}

// env reads the environment, and reports whether the value is a secret: a default from the file is not.
func (r *reader) env(name string, fallback *string, at hcl.Range) (string, bool) {
	if !slices.Contains(r.cfg.EnvNames, name) {
		r.cfg.EnvNames = append(r.cfg.EnvNames, name)
	}
	if value, ok := r.opts.Env(name); ok {
		r.secret(value)
		return value, true
	}
	if fallback != nil {
		return *fallback, false
	}
	if _, told := r.seen["env\x00"+name]; told {
		return "", false
	}
	r.seen["env\x00"+name] = at
	r.warn(at, "Environment variable not set", fmt.Sprintf("Set it, or give a default: env(%q, \"\").", name),
		"%s is not set; it counts as empty.", name)
	return "", false
}

func (r *reader) secret(value string) {
	if value != "" && !slices.Contains(r.cfg.Secrets, value) {
		r.cfg.Secrets = append(r.cfg.Secrets, value)
	}
}

// derived notes a text that was made from secrets and no longer contains them.
func (r *reader) derived(text string) {
	if !slices.ContainsFunc(r.cfg.Secrets, func(s string) bool { return strings.Contains(text, s) }) {
		r.secret(text)
	}
}

// typeName returns the type of a value, for people.
func typeName(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	switch t := v.Type(); {
	case t == cty.String:
		return "text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		return "a list"
	case t.IsObjectType() || t.IsMapType():
		return "an object"
	}
	return "something else"
}

func (r *reader) condition(e hclsyntax.Expression) (on, ok bool) {
	v, ok := r.value(e)
	if !ok {
		return false, false
	}
	v, _ = v.Unmark()
	if v.IsNull() || v.Type() != cty.Bool {
		r.fail(e.Range(), "Wrong type", "", "A condition must be true or false, and this is %s.", typeName(v))
		return false, false
	}
	return v.True(), true
}
