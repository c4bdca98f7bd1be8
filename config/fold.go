package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// fold gives an expression as text at load time. Literals, templates, env()
// and references to texts keep their own bytes; all else is evaluated.
func (r *reader) fold(n node) (string, bool) {
	switch e := n.expr.(type) {
	case *hclsyntax.TemplateExpr:
		return r.foldTemplate(n, e)
	case *hclsyntax.TemplateWrapExpr:
		return r.fold(n.with(e.Wrapped))
	case *hclsyntax.ParenthesesExpr:
		return r.fold(n.with(e.Expression))
	case *hclsyntax.ConditionalExpr:
		on, ok := r.condition(e.Condition)
		switch {
		case !ok:
			return "", false
		case on:
			return r.fold(n.with(e.TrueResult))
		}
		return r.fold(n.with(e.FalseResult))
	case *hclsyntax.ScopeTraversalExpr:
		if text, ok := r.boundText(e.Traversal); ok {
			return text, r.spendAt(len(text), e.Range())
		}
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "env" && !e.ExpandFinal && (len(e.Args) == 1 || len(e.Args) == 2) {
			return r.foldEnv(n, e)
		}
	}
	return r.foldValue(n.expr)
}

func (r *reader) foldTemplate(n node, e *hclsyntax.TemplateExpr) (string, bool) {
	var b strings.Builder
	good := true
	for _, part := range e.Parts {
		text, ok := "", true
		if lit, isText := literal(part); isText {
			text = n.rawLiteral(lit)
		} else {
			text, ok = r.fold(n.with(part))
		}
		b.WriteString(text)
		good = good && ok && r.spendAt(len(text), part.Range())
	}
	return b.String(), good
}

// literal reports whether a part of a template is literal text.
func literal(e hclsyntax.Expression) (*hclsyntax.LiteralValueExpr, bool) {
	lit, ok := e.(*hclsyntax.LiteralValueExpr)
	return lit, ok && lit.Val.Type() == cty.String && !lit.Val.IsNull()
}

// boundText gives the own bytes of a variable or local that is text.
func (r *reader) boundText(t hcl.Traversal) (string, bool) {
	root := t.RootName()
	name, ok := second(t)
	if !ok || len(t) != 2 {
		return "", false
	}
	if (root == "path" || root == "workspace") && name == "root" {
		return r.rootText(root), true
	}
	b := r.bindings(root)[name]
	if b == nil {
		return "", false
	}
	if _, ok := r.bound(b, root+"."+name); !ok || b.text == nil {
		return "", false
	}
	return *b.text, true
}

// condition evaluates a condition that is known at load time.
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

func (r *reader) foldEnv(n node, e *hclsyntax.FunctionCallExpr) (string, bool) {
	name, ok := r.fold(n.with(e.Args[0]))
	if !ok {
		return "", false
	}
	if len(e.Args) == 1 {
		value, _ := r.env(name, nil, e.Range())
		return value, true
	}
	fallback, ok := r.fold(n.with(e.Args[1]))
	if !ok {
		return "", false
	}
	value, _ := r.env(name, &fallback, e.Range())
	return value, true
}

func (r *reader) foldValue(e hcl.Expression) (string, bool) {
	v, ok := r.value(e)
	if !ok {
		return "", false
	}
	text, ok := toText(v)
	if !ok {
		r.fail(e.Range(), "Wrong type", "", "Text is needed here, and this is %s.", typeName(v))
		return "", false
	}
	if v.ContainsMarked() {
		r.derived(text)
	}
	return text, true
}

// derived notes a text that was made from secrets and no longer shows them.
func (r *reader) derived(text string) {
	if !slices.ContainsFunc(r.cfg.Secrets, func(s string) bool { return strings.Contains(text, s) }) {
		r.secret(text)
	}
}

// typeName names the type of a value for people.
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
