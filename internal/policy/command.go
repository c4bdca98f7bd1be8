package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Limits of what is read: longer lines and deeper nesting ask.
const (
	maxLine  = 64 << 10
	maxDepth = 8
	// maxOpen is the most brackets that are open at once, quoted ones too: the parser's time grows with their square.
	maxOpen = 500
)

// line is everything that a command line would run, as far as it can be read.
type line struct {
	commands []command
	aliases  []string
	// arrays is set if there are arrays, locals if variables are declared again: then bash reads an array's
	// elements out of a plain value.
	arrays, locals bool
	// assigns is set if variables are set, writes if output goes to a file: commands then do more than their words
	// say.
	assigns, writes bool
	targets         []Write
	// inputs are what calls read other than a terminal or file. input is that of the call being added.
	inputs map[*syntax.CallExpr]input
	input  input
	// parsed is set if there is code for a shell.
	parsed bool
	// unreadable says why the line cannot be read for certain, "" if it can.
	unreadable string
}

// hasCode reports whether there is code for a shell or an interpreter, which may name any file.
func (l *line) hasCode() bool {
	return l.parsed || l.unreadable != "" || slices.ContainsFunc(l.commands, func(c command) bool {
		exported := c.exported()
		texts, piped := exported.Code()
		return texts != nil || piped
	})
}

type input struct {
	// piped is set if another command writes it.
	piped bool
	// text is its content if in the line itself, else nil.
	text *word
}

type command struct {
	words []word
	input input
	// transparent marks a wrapper that adds nothing to what it runs.
	transparent bool
}

type word struct {
	text string
	// dynamic is set if the shell would expand it to something the text does not show.
	dynamic bool
	// open is set if that can be any text, not only a number; split if it can be no word or several; fixed is the
	// length of the literal text before it.
	open, split bool
	fixed       int
}

// mayBeOption reports whether the shell could expand the word to an option or further words.
func (w word) mayBeOption() bool { return w.open && (w.split || w.fixed == 0 || w.text[0] == '-') }

// String formats the command for people.
func (c *command) String() string {
	return fmt.Sprintf("%q", truncate.Shorten(textOf(c.words), 200))
}

func textOf(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// takeLine sets Shell for a command that is a shell with a line.
func (r *Request) takeLine() {
	shells := []string{"sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"}
	if len(r.Argv) == 3 && slices.Contains(shells, r.Argv[0]) && (r.Argv[1] == "-c" || r.Argv[1] == "-lc") {
		r.Argv, r.Shell = nil, r.Argv[2]
	}
}

func (r *Request) line() *line {
	l := new(line)
	switch {
	case len(r.Argv) > 0:
		words := make([]word, len(r.Argv))
		for i, arg := range r.Argv {
			words[i] = word{text: arg}
		}
		l.add(words, 0)
	case r.Shell != "":
		l.read(r.Shell)
	default:
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		l.assigns = true
		l.assigned(name, word{text: r.Variables[name]}, 0)
	}
	return l
}

func (l *line) cannotRead(format string, args ...any) {
	if l.unreadable == "" {
		l.unreadable = fmt.Sprintf(format, args...)
	}
}

// read parses a whole shell line.
func (l *line) read(source string) {
	l.parse(source, 0)
	for _, c := range l.commands {
		if slices.Contains(l.aliases, c.words[0].text) {
			l.cannotRead("%s is an alias by then", c.words[0].text)
		}
	}
	if l.arrays && l.locals {
		l.cannotRead("it has arrays, and declares variables again")
	}
}

func (l *line) parse(source string, depth int) {
	l.parsed = true
	if len(source) > maxLine || depth > maxDepth || mostOpen(source) > maxOpen {
		l.cannotRead("it is too long or too deeply nested")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true)).Parse(strings.NewReader(source), "")
	if err != nil {
		l.cannotRead("%v", err)
		return
	}
	if reason := notUnderstood(file, source); reason != "" {
		l.cannotRead("%s", reason)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		l.visit(node, depth)
		return true
	})
	l.parseAsPOSIX(file, source, depth)
}

// mostOpen returns how many brackets are open at once in a text, whatever closes them.
func mostOpen(source string) (most int) {
	open := 0
	for i := range len(source) {
		switch source[i] {
		case '(', '[', '{':
			open++
			most = max(most, open)
		case ')', ']', '}':
			open = max(0, open-1)
		}
	}
	return most
}

// parseAsPOSIX adds what a shell other than bash would also run: in sh, [[ is an ordinary command and (( two
// subshells. It also runs what precedes a syntax error.
func (l *line) parseAsPOSIX(file *syntax.File, source string, depth int) {
	var end uint
	var failed error
	for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).StmtsSeq(strings.NewReader(source)) {
		if failed = err; err != nil {
			break
		}
		end = stmt.End().Offset()
		syntax.Walk(stmt, func(node syntax.Node) bool {
			if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				words := wordsOf(call.Args)
				known := slices.ContainsFunc(l.commands, func(c command) bool { return slices.Equal(c.words, words) })
				if !known && words[0].text != "[[" {
					l.call(words, depth)
				}
			}
			return true
		})
	}
	if failed != nil && joinsTestsBehind(file, end) {
		l.cannotRead("sh takes what is in [[ ]] for commands")
	}
}

// joinsTestsBehind reports whether a [[ ]] follows a position at which sh would see several
// commands.
func joinsTestsBehind(file *syntax.File, place uint) (found bool) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinaryTest:
			found = found || (n.Op == syntax.AndTest || n.Op == syntax.OrTest) && n.Pos().Offset() >= place
		case *syntax.ParenTest:
			found = found || n.Pos().Offset() >= place
		}
		return true
	})
	return found
}

func wordsOf(args []*syntax.Word) []word {
	words := make([]word, len(args))
	for i, w := range args {
		words[i] = wordOf(w)
	}
	return words
}

func (l *line) visit(node syntax.Node, depth int) {
	switch n := node.(type) {
	case *syntax.Stmt:
		l.visitStmt(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			l.setInput(n.Y, input{piped: true})
		}
	case *syntax.CallExpr:
		l.assigns = l.assigns || len(n.Assigns) > 0
		l.assignments(n.Assigns, depth)
		if len(n.Args) == 0 {
			return
		}
		l.input = l.inputs[n]
		l.call(wordsOf(n.Args), depth)
		l.input = input{}
	case *syntax.DeclClause:
		l.assigns = true
		l.assignments(n.Args, depth)
		l.commands = append(l.commands, command{words: declared(n)})
		l.locals = l.locals || n.Variant.Value != "export" && n.Variant.Value != "readonly"
	case *syntax.ArrayExpr:
		l.arrays = true
	case *syntax.FuncDecl:
		// A function may take the name of a program that a rule allows.
		l.assigns = true
	case *syntax.Redirect:
		l.writes = l.writes || writesFile(n)
	}
}

func declared(d *syntax.DeclClause) []word {
	words := []word{{text: d.Variant.Value}}
	for _, a := range d.Args {
		w := wordOf(a.Value)
		if a.Name != nil {
			name := a.Name.Value
			if !a.Naked {
				name += "="
			}
			w.text, w.fixed = name+w.text, w.fixed+len(name)
		}
		words = append(words, w)
	}
	return words
}

func (l *line) visitStmt(s *syntax.Stmt) {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text := wordOf(r.Hdoc)
			if r.Hdoc != nil && wordOf(r.Word).text != source(r.Word) {
				text.dynamic = false
				text.text = source(r.Hdoc)
			}
			l.setInput(s, input{text: &text})
		case syntax.WordHdoc:
			text := wordOf(r.Word)
			l.setInput(s, input{text: &text})
		}
		if writesFile(r) {
			l.targets = append(l.targets, Write{
				Target: exported(wordOf(r.Word)), Append: r.Op == syntax.AppOut || r.Op == syntax.AppAll,
				Bare: saysNothing(s.Cmd),
			})
		}
	}
}

func (l *line) setInput(s *syntax.Stmt, in input) {
	if l.inputs == nil {
		l.inputs = make(map[*syntax.CallExpr]input)
	}
	syntax.Walk(s, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			if _, known := l.inputs[call]; !known || in.text != nil {
				l.inputs[call] = in
			}
		}
		return true
	})
}

// saysNothing reports whether a command prints nothing, so that a redirection only empties a file.
func saysNothing(c syntax.Command) bool {
	if c == nil {
		return true
	}
	call, ok := c.(*syntax.CallExpr)
	if !ok {
		return false
	}
	var texts []string
	for _, w := range call.Args {
		texts = append(texts, wordOf(w).text)
	}
	switch strings.Join(texts, " ") {
	case "", ":", "true", "cat /dev/null", "cp /dev/null", "echo -n", "printf", "printf ", "echo -n ":
		return true
	}
	return false
}

func writesFile(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return false
	case syntax.DplOut:
		// ">&2" copies a descriptor, ">&file" writes.
		return strings.Trim(wordOf(r.Word).text, "0123456789-") != ""
	}
	target := wordOf(r.Word)
	return target.dynamic || target.text != "/dev/null"
}

// call adds a command that the shell looks up itself.
func (l *line) call(words []word, depth int) {
	if !builtinUnderstood(words) {
		l.cannotRead("%q can make the shell run more than it shows", truncate.Shorten(textOf(words), 60))
	}
	l.arrays = l.arrays || words[0].text == "mapfile" || words[0].text == "readarray"
	l.locals = l.locals || slices.Contains([]string{"declare", "typeset", "local"}, words[0].text)
	l.add(words, depth)
}

func (l *line) add(words []word, depth int) {
	if words[0].dynamic && words[0].text != "[" {
		l.cannotRead("what %q runs is known to the shell only", words[0].text)
	}
	at := len(l.commands)
	l.commands = append(l.commands, command{words: words, input: l.input})
	if depth > maxDepth {
		l.cannotRead("it is too deeply nested")
		return
	}
	l.commands[at].transparent = l.unwrap(words, depth+1)
}

func program(w word) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(strings.ReplaceAll(w.text, `\`, "/")), ".exe"))
}

func wordOf(w *syntax.Word) (out word) {
	if w == nil {
		return out
	}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.literal(unescape(p.Value, ""), expands(p.Value))
		case *syntax.SglQuoted:
			out.dynamic = out.dynamic || p.Dollar
			out.open = out.open || out.dynamic
			out.literal(p.Value, false)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, plain := inner.(*syntax.Lit); plain {
					out.literal(unescape(lit.Value, "$`\"\\"), false)
					continue
				}
				out.expansion(inner, several(inner))
			}
		default:
			out.expansion(part, true)
		}
	}
	return out
}

// literal adds literal text; expands is set if it expands to several words.
func (w *word) literal(text string, expands bool) {
	w.dynamic, w.open, w.split = w.dynamic || expands, w.open || expands, w.split || expands
	if !w.dynamic {
		w.fixed += len(text)
	}
	w.text += text
}

// expansion adds text that the shell expands.
func (w *word) expansion(part syntax.WordPart, split bool) {
	w.dynamic = true
	w.text += source(part)
	if p, ok := part.(*syntax.ParamExp); !ok || !isCount(p) {
		w.open, w.split = true, w.split || split
	}
}

// several reports whether an expansion makes several words even in quotes.
func several(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && (p.Index != nil || p.Excl || p.Param != nil && p.Param.Value == "@")
}

// expands reports whether the shell expands an unquoted text to file names or several words.
func expands(lit string) bool {
	if without := strings.ReplaceAll(lit, "{}", ""); without != lit && !strings.ContainsAny(without, "{},.") {
		lit = without // empty braces stand for themselves
	}
	escaped := false
	for _, c := range lit {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case strings.ContainsRune("*?[{", c):
			return true
		}
	}
	return false
}

// isGlob reports whether a word is dynamic only by its wildcards, and cannot match options.
func isGlob(w word) bool {
	return !strings.ContainsAny(w.text, "$`{") && w.text != "" && !strings.ContainsRune("*?[-", rune(w.text[0]))
}

// unescape removes backslashes: before any character, or before those in only.
func unescape(s, only string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if next := s[i+1]; next == '\n' {
				i++
				continue
			} else if only == "" || strings.IndexByte(only, next) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func source(node syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, node) != nil {
		return "$"
	}
	return b.String()
}
