package policy

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// grammar checks that every part of a line is understood. It is an allowlist over the whole syntax tree: a node,
// field or operator not listed here makes the line unreadable, including one that a later version of the parser
// adds.
type grammar struct {
	source string
	reason string
}

// node lists the fields of a node type that may be set, each with a check of its value, nil for any. Nodes in a
// field are checked by themselves. Positions are ignored.
type node struct {
	fields map[string]func(*grammar, any) bool
	// whole checks what no single field shows; nil checks nothing.
	whole func(*grammar, any, nodeContext) bool
}

type nodeContext struct {
	// quoted is set within double quotes or a here-document.
	quoted bool
	// expansion is set within a parameter expansion's braces.
	expansion bool
}

var positions = reflect.TypeFor[syntax.Pos]()

// notUnderstood returns what in a line is not understood, "" if all is.
func notUnderstood(file *syntax.File, source string) string {
	if strings.ContainsFunc(source, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\ufffd'
	}) {
		return "it has control characters or is not UTF-8"
	}
	if continuedComment().MatchString(source) {
		return "a comment ends in a backslash: shells differ on whether the next line belongs to it"
	}
	g := &grammar{source: source}
	g.check(reflect.ValueOf(file), nodeContext{})
	return g.reason
}

// continuedComment matches a line that may end in a comment and a backslash.
var continuedComment = regexlimit.Lazy(`#[^\n]*\\\n`)

func (g *grammar) check(v reflect.Value, at nodeContext) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && g.reason == "" {
			g.check(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.check(v.Index(i), at)
		}
	case reflect.Struct:
		g.checkNode(v, at)
	}
}

func (g *grammar) checkNode(v reflect.Value, at nodeContext) {
	t := v.Type()
	if t == positions {
		return
	}
	if comment, ok := v.Interface().(syntax.Comment); ok {
		if !g.isComment(comment) {
			g.reason = fmt.Sprintf("%q may be a word and no comment", truncate.Shorten("#"+comment.Text, 60))
		}
		return
	}
	known, ok := understood[t]
	if !ok {
		g.refuse(v)
		return
	}
	if known.whole != nil && !known.whole(g, v.Addr().Interface(), at) {
		g.refuse(v)
		return
	}
	inner := at.within(t)
	for i := range t.NumField() {
		field, value := t.Field(i), v.Field(i)
		if value.IsZero() || field.Type == positions {
			continue
		}
		valid, listed := known.fields[field.Name]
		if !listed && field.Type != reflect.TypeFor[[]syntax.Comment]() ||
			valid != nil && !valid(g, value.Interface()) {
			g.refuse(v)
			return
		}
		g.check(value, inner)
	}
}

// isComment reports whether a comment starts where every shell starts one: the parser also takes # for one
// after a quote or an expansion in parentheses.
func (g *grammar) isComment(c syntax.Comment) bool {
	before := g.source[:min(int(c.Hash.Offset()), len(g.source))]
	escapes := len(before) - 1 - len(strings.TrimRight(before[:max(0, len(before)-1)], `\`))
	return before == "" || strings.HasSuffix(before, ";") ||
		escapes%2 == 0 && strings.ContainsAny(before[len(before)-1:], " \t\n")
}

// within returns the context within a node. A substitution is a new line.
func (p nodeContext) within(t reflect.Type) nodeContext {
	switch t {
	case reflect.TypeFor[syntax.DblQuoted](), reflect.TypeFor[syntax.Redirect]():
		p.quoted = true
	case reflect.TypeFor[syntax.ParamExp]():
		p.expansion = true
	case reflect.TypeFor[syntax.CmdSubst]():
		p = nodeContext{}
	}
	return p
}

func (g *grammar) refuse(v reflect.Value) {
	if g.reason != "" {
		return
	}
	name := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(v.Type().Name(), "$1 $2")
	g.reason = fmt.Sprintf("it has a %s, which can run more than it shows", strings.ToLower(name))
	if n, ok := v.Addr().Interface().(syntax.Node); ok {
		text := source(n)
		if len(text) > 60 {
			text = text[:60] + "..."
		}
		g.reason = fmt.Sprintf("%q at column %d can run more than it shows", text, n.Pos().Offset()+1)
	}
}

func oneOf[T comparable](list ...T) func(*grammar, any) bool {
	return func(_ *grammar, v any) bool {
		t, ok := v.(T)
		return ok && slices.Contains(list, t)
	}
}

func fields(names ...string) map[string]func(*grammar, any) bool {
	all := make(map[string]func(*grammar, any) bool, len(names))
	for _, name := range names {
		all[name] = nil
	}
	return all
}

// and adds a field whose value is checked.
func and(all map[string]func(*grammar, any) bool, name string, valid func(*grammar, any) bool) map[string]func(*grammar,
	any) bool {
	all[name] = valid
	return all
}

var understood = map[reflect.Type]node{
	reflect.TypeFor[syntax.File]():     {fields: fields("Stmts")},
	reflect.TypeFor[syntax.Stmt]():     {fields: fields("Cmd", "Negated", "Background", "Redirs"), whole: sendsAllLast},
	reflect.TypeFor[syntax.Subshell](): {fields: fields("Stmts")},
	reflect.TypeFor[syntax.Block]():    {fields: fields("Stmts")},

	reflect.TypeFor[syntax.BinaryCmd](): {fields: and(fields("X", "Y"),
		"Op", oneOf(syntax.AndStmt, syntax.OrStmt, syntax.Pipe, syntax.PipeAll))},
	reflect.TypeFor[syntax.IfClause]():    {fields: fields("Cond", "Then", "Else")},
	reflect.TypeFor[syntax.WhileClause](): {fields: fields("Until", "Cond", "Do")},
	reflect.TypeFor[syntax.ForClause]():   {fields: fields("Loop", "Do")},
	reflect.TypeFor[syntax.WordIter]():    {fields: and(fields("Items"), "Name", isPlainName)},
	reflect.TypeFor[syntax.CaseClause]():  {fields: fields("Word", "Items")},
	reflect.TypeFor[syntax.CaseItem](): {fields: and(fields("Patterns", "Stmts"),
		"Op", oneOf(syntax.Break, syntax.Fallthrough, syntax.Resume))},
	reflect.TypeFor[syntax.FuncDecl]():   {fields: fields("RsrvWord", "Parens", "Name", "Body")},
	reflect.TypeFor[syntax.TimeClause](): {fields: fields("PosixFormat", "Stmt")},

	reflect.TypeFor[syntax.CallExpr]():   {fields: fields("Assigns", "Args")},
	reflect.TypeFor[syntax.DeclClause](): {fields: and(fields("Args"), "Variant", isKnownDeclaration)},
	reflect.TypeFor[syntax.Assign](): {
		fields: and(fields("Append", "Naked", "Value", "Array"), "Name", isPlainName), whole: namesWhatItSets,
	},
	reflect.TypeFor[syntax.ArrayExpr](): {fields: fields("Elems")},
	reflect.TypeFor[syntax.ArrayElem](): {fields: fields("Value")},
	reflect.TypeFor[syntax.Redirect](): {fields: and(and(fields("Word", "Hdoc"), "N", isDescriptor), "Op", oneOf(
		syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.DplOut, syntax.RdrClob,
		syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrAll, syntax.AppAll)), whole: copiesPlainly},

	reflect.TypeFor[syntax.Word]():      {fields: fields("Parts")},
	reflect.TypeFor[syntax.Lit]():       {fields: fields("Value")},
	reflect.TypeFor[syntax.SglQuoted](): {fields: fields("Dollar", "Value"), whole: isPlainQuote},
	reflect.TypeFor[syntax.DblQuoted](): {fields: fields("Parts"), whole: isPlainQuote},
	reflect.TypeFor[syntax.CmdSubst]():  {fields: fields("Stmts", "Backquotes"), whole: isPlainSubstitution},

	reflect.TypeFor[syntax.ParamExp](): {fields: and(fields("Short", "Length", "Param", "Slice", "Repl", "Exp"),
		"Index", isElement)},
	reflect.TypeFor[syntax.Slice]():   {fields: and(and(fields(), "Offset", isNumbers), "Length", isNumbers)},
	reflect.TypeFor[syntax.Replace](): {fields: fields("All", "Orig", "With")},
	reflect.TypeFor[syntax.Expansion](): {fields: and(fields("Word"), "Op", oneOf(
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll))},

	reflect.TypeFor[syntax.ArithmExp]():   {fields: and(fields(), "X", isNumbers)},
	reflect.TypeFor[syntax.ParenArithm](): {fields: and(fields(), "X", isNumbers)},
	reflect.TypeFor[syntax.UnaryArithm](): {fields: and(and(fields(), "X", isNumbers), "Op", oneOf(
		syntax.Not, syntax.BitNegation, syntax.Plus, syntax.Minus))},
	reflect.TypeFor[syntax.BinaryArithm](): {fields: and(and(and(fields(), "X", isNumbers), "Y", isNumbers), "Op",
		oneOf(
			syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Pow, syntax.Eql, syntax.Gtr, syntax.Lss,
			syntax.Neq, syntax.Leq, syntax.Geq))},

	reflect.TypeFor[syntax.TestClause](): {fields: fields("X")},
	reflect.TypeFor[syntax.ParenTest]():  {fields: fields("X")},
	reflect.TypeFor[syntax.UnaryTest](): {fields: and(fields("X"), "Op", oneOf(
		syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsCharSp, syntax.TsBlckSp, syntax.TsNmPipe,
		syntax.TsSocket, syntax.TsSmbLink, syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty,
		syntax.TsFdTerm, syntax.TsEmpStr, syntax.TsNempStr, syntax.TsNot))},
	reflect.TypeFor[syntax.BinaryTest](): {fields: and(fields("X", "Y"), "Op", oneOf(
		syntax.TsReMatch, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno, syntax.AndTest, syntax.OrTest,
		syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch, syntax.TsBefore, syntax.TsAfter,
		syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr)), whole: comparesPlainly},
}

// isKnownDeclaration allows what only sets variables. Others can make a variable that is evaluated when used.
func isKnownDeclaration(_ *grammar, v any) bool {
	return slices.Contains([]string{"export", "readonly", "local", "declare", "typeset"}, v.(*syntax.Lit).Value)
}

// flagsOfDeclarations are the options after which a value is still only a value: neither evaluated nor a name.
var flagsOfDeclarations = regexlimit.Lazy(`^-[gprx]+$`)

// namesWhatItSets refuses assignments whose name only the shell knows.
func namesWhatItSets(_ *grammar, v any, _ nodeContext) bool {
	a := v.(*syntax.Assign)
	if a.Name != nil {
		return true
	}
	w := wordOf(a.Value)
	return !w.dynamic && flagsOfDeclarations().MatchString(w.text)
}

var (
	identifier = regexlimit.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// evaluated are variables whose value shells run, read or obey.
	evaluated = regexlimit.Lazy(`^(BASH.*|ENV|PS\d|PROMPT.*|SHELL.*|POSIX.*|EXECIGNORE|GLOB.*|MAIL.*|FCEDIT|` +
		`HIST.*|histchars|auto_resume|TIMEFORMAT|COMP.*|READLINE.*|FUNC.*|DIRSTACK|PIPESTATUS|GROUPS|OPT.*|` +
		`S?RANDOM|SECONDS|LINENO|EPOCH.*)$`)
)

func plainName(name string) bool {
	return identifier().MatchString(name) && !evaluated().MatchString(name)
}

func isPlainName(_ *grammar, v any) bool { return plainName(v.(*syntax.Lit).Value) }

// isDescriptor refuses {name}>file, which sets a variable, and 10>file, in which sh takes the number for a
// word.
func isDescriptor(_ *grammar, v any) bool {
	n := v.(*syntax.Lit).Value
	return len(n) == 1 && strings.Contains(digits, n)
}

// isPlainQuote refuses quotes in quoted expansions, and escaped quotes in $”: shells differ on where such a quote
// ends.
func isPlainQuote(_ *grammar, v any, at nodeContext) bool {
	q, single := v.(*syntax.SglQuoted)
	return (!at.quoted || !at.expansion) && !(single && q.Dollar && strings.Contains(q.Value, `\'`))
}

// isPlainSubstitution refuses backquotes with backslashes in them, which are removed before the inner line is
// parsed, and here-documents among other commands: bash 5.2 joins the command after one with the next.
func isPlainSubstitution(g *grammar, v any, _ nodeContext) bool {
	s := v.(*syntax.CmdSubst)
	if holdsDocument(s) && (len(s.Stmts) > 1 || !isCall(s.Stmts[0])) {
		return false
	}
	from, to := int(s.Left.Offset()), int(s.Right.Offset())
	return !s.Backquotes || from < to && to <= len(g.source) && !strings.Contains(g.source[from:to], `\`)
}

func holdsDocument(n syntax.Node) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		r, ok := n.(*syntax.Redirect)
		found = found || ok && r.Hdoc != nil
		return true
	})
	return found
}

func isCall(s *syntax.Stmt) bool {
	_, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !s.Background
}

// sendsAllLast refuses &> before other words: in sh it ends the command.
func sendsAllLast(_ *grammar, v any, _ nodeContext) bool {
	s := v.(*syntax.Stmt)
	for _, r := range s.Redirs {
		all := r.Op == syntax.RdrAll || r.Op == syntax.AppAll
		if all && (s.Cmd == nil || s.Cmd.End().After(r.Pos()) || r != s.Redirs[len(s.Redirs)-1]) {
			return false
		}
	}
	return true
}

// copiesPlainly refuses >&word unless the word is plain: bash expands what the word expands to.
func copiesPlainly(_ *grammar, v any, _ nodeContext) bool {
	r := v.(*syntax.Redirect)
	w := wordOf(r.Word)
	return r.Op != syntax.DplOut && r.Op != syntax.DplIn || !w.dynamic && plainTarget().MatchString(w.text)
}

var plainTarget = regexlimit.Lazy(`^[\w./-]+$`)

// isNumbers allows arithmetic only with plain numbers. A name is evaluated, and so is its value.
func isNumbers(_ *grammar, v any) bool {
	w, ok := v.(*syntax.Word)
	return !ok || isNumber(w, false)
}

// isElement allows subscripts that are not evaluated.
func isElement(g *grammar, v any) bool {
	w, ok := v.(*syntax.Word)
	return isNumbers(g, v) || ok && (w.Lit() == "@" || w.Lit() == "*")
}

// isNumber reports whether a word is always a number: digits, or with counts a count that the shell keeps.
func isNumber(w *syntax.Word, counts bool) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value != "" && strings.Trim(p.Value, "0123456789") == ""
	case *syntax.DblQuoted:
		return counts && len(p.Parts) == 1 && isNumber(&syntax.Word{Parts: p.Parts}, true)
	case *syntax.ParamExp:
		return counts && isCount(p)
	}
	return false
}

// isCount reports whether an expansion's value is always a number.
func isCount(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Exp != nil || p.Names != 0 {
		return false
	}
	return p.Length || slices.Contains([]string{"?", "#", "$", "!"}, p.Param.Value)
}

// comparesPlainly refuses comparisons of anything but plain numbers: their sides are arithmetic.
func comparesPlainly(_ *grammar, v any, _ nodeContext) bool {
	test := v.(*syntax.BinaryTest)
	switch test.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		x, _ := test.X.(*syntax.Word)
		y, _ := test.Y.(*syntax.Word)
		return isNumber(x, true) && isNumber(y, true)
	}
	return true
}
