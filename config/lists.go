package config

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func (b block) texts(name string, to *[]string) bool {
	a := b.attrs[name]
	if a == nil {
		return false
	}
	list, ok := b.list(a.Expr)
	if ok {
		*to = list
	}
	return ok
}

func (r *reader) list(e hcl.Expression) ([]string, bool) {
	if args, ok := concatenation(e); ok {
		return r.concat(args)
	}
	items, diags := hcl.ExprList(e)
	if diags.HasErrors() {
		return r.listValue(e)
	}
	list, good := make([]string, 0, len(items)), true
	for _, item := range items {
		s, ok := r.text(item)
		list, good = append(list, s), good && ok
	}
	return list, good
}

func (r *reader) listValue(e hcl.Expression) ([]string, bool) {
	v, ok := r.value(e)
	if !ok {
		return nil, false
	}
	plain, _ := v.Unmark()
	if !isList(plain) {
		r.fail(e.Range(), "Wrong type", `Write a list: ["..."].`, "A list of texts is needed here, and this is %s.",
			typeName(plain))
		return nil, false
	}
	list := make([]string, 0, plain.LengthInt())
	for it := plain.ElementIterator(); it.Next(); {
		_, item := it.Element()
		s, ok := toText(item)
		if !ok {
			r.fail(e.Range(), "Wrong type", "", "A list of texts is needed here, and an item is %s.", typeName(item))
			return nil, false
		}
		if v.IsMarked() || item.ContainsMarked() {
			r.derived(s)
		}
		list = append(list, s)
	}
	return list, true
}

// isList reports whether a value is a list of some kind, and not null.
func isList(v cty.Value) bool {
	t := v.Type()
	return !v.IsNull() && (t.IsTupleType() || t.IsListType() || t.IsSetType())
}

// concatenation returns the arguments of a call of concat, which is done here so that each item keeps its bytes
// and stays a secret or not.
func concatenation(e hcl.Expression) ([]hclsyntax.Expression, bool) {
	c, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok || c.Name != "concat" || c.ExpandFinal {
		return nil, false
	}
	return c.Args, true
}

func (r *reader) concat(args []hclsyntax.Expression) ([]string, bool) {
	var list []string
	good := true
	for _, arg := range args {
		more, ok := r.list(arg)
		list, good = append(list, more...), good && ok
	}
	return list, good
}

// entry is a member of an object.
type entry struct {
	key   string
	value string
	at    hcl.Range
}

func (b block) entries(name string) []entry {
	a := b.attrs[name]
	if a == nil {
		return nil
	}
	pairs, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() {
		return b.objectValue(a.Expr)
	}
	var all []entry
	seen := make(keys, len(pairs))
	for _, pair := range pairs {
		key, ok := b.key(pair.Key)
		value, valueOK := b.reader.text(pair.Value)
		if ok && valueOK && b.fresh(seen, key, pair.Key.Range()) {
			all = append(all, entry{key, value, pair.Key.Range()})
		}
	}
	return all
}

// keys are the keys of an object with their places.
type keys map[string]hcl.Range

// fresh notes a key and reports a duplicate.
func (r *reader) fresh(seen keys, key string, at hcl.Range) bool {
	if first, taken := seen[key]; taken {
		r.fail(at, "Duplicate key", "Remove one of them.", "%q stands at %s already.", key, pos(first))
		return false
	}
	seen[key] = at
	return true
}

// key returns the key of an object's item: a bare word or a text.
func (r *reader) key(e hcl.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hcl.ExprAsKeyword(e); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		return r.text(k.Wrapped)
	}
	return r.text(e)
}

func (b block) objectValue(e hcl.Expression) []entry {
	v, ok := b.value(e)
	if !ok {
		return nil
	}
	plain, _ := v.Unmark()
	if t := plain.Type(); plain.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		b.fail(e.Range(), "Wrong type", `Write an object: { NAME = "..." }.`,
			"An object of texts is needed here, and this is %s.", typeName(plain))
		return nil
	}
	var all []entry
	for it := plain.ElementIterator(); it.Next(); {
		key, item := it.Element()
		s, ok := toText(item)
		if !ok {
			b.fail(e.Range(), "Wrong type", "", "%q must be text, and is %s.", key.AsString(), typeName(item))
			continue
		}
		if v.IsMarked() || item.ContainsMarked() {
			b.derived(s)
		}
		all = append(all, entry{key.AsString(), s, e.Range()})
	}
	return all
}

func (b block) textMap(name string, to *map[string]string) {
	for _, e := range b.entries(name) {
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[e.key] = e.value
	}
}

func literalText(e hcl.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return "", false
	}
	v, _ := t.Value(nil)
	return v.AsString(), true
}

func listed(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = strconv.Quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
