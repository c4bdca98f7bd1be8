package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/argv"
)

// compiler turns the expressions of a command block into argv.Expr.
type compiler struct {
	*reader
	params *params
	// dynamic are the parts of expressions that refer to a parameter.
	dynamic map[hclsyntax.Expression]bool
	// whole is set where param alone stands for all parameters.
	whole bool
}

func (r *reader) compiler(p *params) compiler {
	return compiler{reader: r, params: p, dynamic: make(map[hclsyntax.Expression]bool)}
}

func (r *reader) command(b *hcl.Block, p *params) *argv.Template {
	blk := r.open(b, "command")
	blk.require("argv")
	c := r.compiler(p)
	t := new(argv.Template)
	for _, name := range []string{"argv", "env", "stdin"} {
		if a := blk.attrs[name]; a != nil {
			c.use(a.Expr)
		}
	}
	if a := blk.attrs["argv"]; a != nil {
		list, ok := c.list(a.Expr)
		t.Argv = list
		c.program(list, ok, a.Expr.Range())
	}
	if a := blk.attrs["env"]; a != nil {
		t.Env = c.env(a.Expr)
	}
	if a := blk.attrs["stdin"]; a != nil {
		c.whole = true
		if e, ok := c.expr(a.Expr); ok {
			t.Stdin = &e
		}
	}
	blk.duration("timeout", &t.Timeout)
	blk.integers("success", &t.Success)
	blk.text("report", &t.Report)
	return t
}

func (r *reader) unused(p *params) {
	for i, name := range p.names() {
		if !p.used[name] && !p.misspelt && p.at[i].Filename != "" {
			r.warn(p.at[i], "Unused parameter", "Use it as param."+name+", or remove it.",
				"The command makes no use of %q.", name)
		}
	}
}

func (c compiler) use(e hcl.Expression) {
	for _, t := range e.Variables() {
		if t.RootName() != "param" {
			continue
		}
		if attr, ok := second(t); ok {
			c.params.used[attr] = true
		} else if len(t) == 1 {
			for _, name := range c.params.names() {
				c.params.used[name] = true
			}
		}
	}
}

// second returns the name after the first dot of a reference.
func second(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	attr, ok := t[1].(hcl.TraverseAttr)
	return attr.Name, ok
}

// program checks that the file, and not a caller, names the program. whole is false if the list has reported
// mistakes.
func (c compiler) program(list []argv.Expr, whole bool, at hcl.Range) {
	switch {
	case len(list) > 0 && len(list[0].Params()) > 0:
		c.fail(at, "Program named by a parameter", "Write the program out.",
			"Anyone who calls the tool could run any program.")
	case !whole:
	case len(list) == 0:
		c.fail(at, "No program", `Write argv = ["PROGRAM", ...].`, "argv is empty.")
	case list[0].Null || list[0].Concat == nil && list[0].Literal == "":
		c.fail(at, "No program", `Write argv = ["PROGRAM", ...].`, "The first item of argv is empty.")
	}
}

// list compiles a list. An item that is a list at load time is spliced in.
func (c compiler) list(e hcl.Expression) ([]argv.Expr, bool) {
	if args, ok := concatenation(e); ok {
		return c.concat(args)
	}
	items, diags := hcl.ExprList(e)
	if diags.HasErrors() {
		return c.splice(e)
	}
	var list []argv.Expr
	good := true
	for _, item := range items {
		if c.isListRef(item) {
			more, ok := c.splice(item)
			list, good = append(list, more...), good && ok
			continue
		}
		one, ok := c.expr(item)
		list, good = append(list, one), good && ok
	}
	return list, good
}

func (c compiler) concat(args []hclsyntax.Expression) ([]argv.Expr, bool) {
	var list []argv.Expr
	good := true
	for _, arg := range args {
		more, ok := c.list(arg)
		list, good = append(list, more...), good && ok
	}
	return list, good
}

// isListRef reports whether an item is a reference to a list of the file.
func (c compiler) isListRef(e hcl.Expression) bool {
	n, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(n.Traversal) != 2 {
		return false
	}
	name, _ := second(n.Traversal)
	b := c.bindings(n.Traversal.RootName())[name]
	if b == nil {
		return false
	}
	v, ok := c.bound(b, n.Traversal.RootName()+"."+name)
	if !ok {
		return false
	}
	v, _ = v.Unmark()
	return isList(v)
}

// splice compiles an expression that is a list at load time.
func (c compiler) splice(e hcl.Expression) ([]argv.Expr, bool) {
	if slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return atCall(t.RootName()) }) {
		if one, ok := c.expr(e); ok {
			return []argv.Expr{one}, true
		}
		return nil, false
	}
	if text, ok := literalText(e); ok && len(strings.Fields(text)) > 1 {
		c.fail(e.Range(), "Wrong type", "Write a list, an item for each word: "+listed(strings.Fields(text))+".",
			"A list of texts is needed here, and this is text.")
		return nil, false
	}
	texts, ok := c.reader.list(e)
	list := make([]argv.Expr, len(texts))
	for i, text := range texts {
		list[i].Literal = text
	}
	return list, ok
}

func (c compiler) env(e hcl.Expression) map[string]argv.Expr {
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		c.fail(e.Range(), "Wrong type", `Write an object: { NAME = "..." }.`, "env is an object of texts.")
		return nil
	}
	env, seen := make(map[string]argv.Expr, len(pairs)), make(keys, len(pairs))
	for _, pair := range pairs {
		key, ok := c.key(pair.Key)
		value, valueOK := c.expr(pair.Value)
		if !ok || !valueOK || !c.envName(key, pair.Key.Range()) {
			continue
		}
		if c.fresh(seen, key, pair.Key.Range()) {
			env[key] = value
		}
	}
	return env
}

// atCall reports whether names under a root have a value only in a call.
func atCall(root string) bool { return root == "param" || root == "ask" }

// finder finds which parts of an expression refer to a parameter, in one walk: one for each part would take
// quadratic time.
type finder struct {
	open    []bool
	dynamic map[hclsyntax.Expression]bool
}

// Enter is called before the parts of n.
func (f *finder) Enter(n hclsyntax.Node) hcl.Diagnostics {
	t, ok := n.(*hclsyntax.ScopeTraversalExpr)
	f.open = append(f.open, ok && atCall(t.Traversal.RootName()))
	return nil
}

// Exit is called after the parts of n.
func (f *finder) Exit(n hclsyntax.Node) hcl.Diagnostics {
	last := len(f.open) - 1
	found := f.open[last]
	f.open = f.open[:last]
	if e, ok := n.(hclsyntax.Expression); ok && found {
		f.dynamic[e] = true
	}
	if last > 0 && found {
		f.open[last-1] = true
	}
	return nil
}

func (c compiler) expr(e hcl.Expression) (argv.Expr, bool) {
	native := e.(hclsyntax.Expression)
	_ = hclsyntax.Walk(native, &finder{dynamic: c.dynamic})
	return c.node(native)
}

func (c compiler) node(n hclsyntax.Expression) (argv.Expr, bool) {
	if !c.dynamic[n] {
		return c.constant(n)
	}
	switch e := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return c.param(e)
	case *hclsyntax.TemplateExpr:
		return c.template(e)
	case *hclsyntax.TemplateWrapExpr:
		return c.node(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return c.node(e.Expression)
	case *hclsyntax.ConditionalExpr:
		return c.conditional(e)
	case *hclsyntax.FunctionCallExpr:
		c.fail(e.Range(), "Function of a parameter",
			"Leave the value as it is; the program receives it as the caller gave it.",
			"%s cannot be applied: a parameter has a value only when the tool is called.", e.Name)
	default:
		c.fail(e.Range(), "Expression of a parameter",
			`Use param.NAME, "text ${param.NAME}" and param.NAME ? "-x" : null.`,
			"A parameter has a value only when the tool is called, and this cannot be done with it then.")
	}
	return argv.Expr{}, false
}

// constant compiles what is known at load time. A null omits the argument.
func (c compiler) constant(n hclsyntax.Expression) (argv.Expr, bool) {
	if lit, ok := n.(*hclsyntax.LiteralValueExpr); ok && lit.Val.IsNull() {
		return argv.Expr{Null: true}, true
	}
	if cond, ok := n.(*hclsyntax.ConditionalExpr); ok {
		on, ok := c.condition(cond.Condition)
		switch {
		case !ok:
			return argv.Expr{}, false
		case on:
			return c.node(cond.TrueResult)
		}
		return c.node(cond.FalseResult)
	}
	text, ok := c.written(n)
	return argv.Expr{Literal: text}, ok
}

func (c compiler) template(e *hclsyntax.TemplateExpr) (argv.Expr, bool) {
	var parts []argv.Expr
	good := true
	for _, part := range e.Parts {
		one := argv.Expr{}
		ok := true
		if lit, isLiteral := part.(*hclsyntax.LiteralValueExpr); isLiteral && lit.Val.Type() == cty.String {
			one.Literal = lit.Val.AsString()
		} else {
			one, ok = c.node(part)
		}
		good = good && ok
		if last := len(parts) - 1; last >= 0 && plainText(one) && plainText(parts[last]) {
			parts[last].Literal += one.Literal
			continue
		}
		parts = append(parts, one)
	}
	return argv.Expr{Concat: parts}, good
}

func plainText(e argv.Expr) bool {
	return e.Param == "" && e.Concat == nil && e.When == nil && !e.Null
}

// param compiles param.NAME.
func (c compiler) param(e *hclsyntax.ScopeTraversalExpr) (argv.Expr, bool) {
	if c.whole && len(e.Traversal) == 1 && e.Traversal.RootName() == "param" {
		return argv.Expr{All: true}, true
	}
	name, ok := c.paramName(e)
	return argv.Expr{Param: name}, ok
}

func (c compiler) paramName(e *hclsyntax.ScopeTraversalExpr) (string, bool) {
	if e.Traversal.RootName() == "ask" {
		return c.answerName(e)
	}
	name, ok := second(e.Traversal)
	switch {
	case ok && len(e.Traversal) == 2 && c.params.find(name) != nil:
		return name, true
	case ok && c.params.find(name) == nil:
		c.params.misspelt = true
		hint := didYouMean(name, c.params.names())
		if hint == "" {
			hint = cmp.Or(c.params.declare, "Declare it with a param block.")
		}
		c.fail(e.Range(), "Unknown parameter", hint, "There is no parameter %q.", name)
		return "", false
	}
	c.fail(e.Range(), "Invalid reference", "Write param.NAME.", "A parameter is used as a whole.")
	return "", false
}

// conditional compiles param.NAME ? a : b, for a bool parameter.
func (c compiler) conditional(e *hclsyntax.ConditionalExpr) (argv.Expr, bool) {
	if !c.dynamic[e.Condition] {
		on, ok := c.condition(e.Condition)
		if !ok {
			return argv.Expr{}, false
		}
		// Both are compiled, to report mistakes in either.
		then, thenOK := c.node(e.TrueResult)
		other, otherOK := c.node(e.FalseResult)
		if on {
			return then, thenOK && otherOK
		}
		return other, thenOK && otherOK
	}
	name, not, ok := c.switchParam(e.Condition)
	then, thenOK := c.node(e.TrueResult)
	other, otherOK := c.node(e.FalseResult)
	if not {
		then, other = other, then
	}
	return argv.Expr{When: &argv.When{Param: name, Then: then, Else: other}}, ok && thenOK && otherOK
}

// switchParam reads the condition of a conditional: param.NAME or !param.NAME.
func (c compiler) switchParam(e hclsyntax.Expression) (name string, not, ok bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.switchParam(e.Expression)
	case *hclsyntax.UnaryOpExpr:
		if e.Op == hclsyntax.OpLogicalNot {
			name, not, ok = c.switchParam(e.Val)
			return name, !not, ok
		}
	case *hclsyntax.ScopeTraversalExpr:
		if name, ok = c.paramName(e); !ok {
			return "", false, false
		}
		if p := c.params.value(name); p.Type != argv.TypeBool {
			c.fail(e.Range(), "Condition on a parameter", "Make its type bool, or pass the value on.",
				"A condition needs a bool, and %q is %s.", name, p.Type)
			return "", false, false
		}
		return name, false, true
	}
	c.fail(e.Range(), "Condition on a parameter", `Write param.NAME ? "-x" : null.`,
		"A condition can be a bool parameter, or ! and one, and nothing more.")
	return "", false, false
}
