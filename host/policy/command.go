package policy

import (
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read: longer lines and deeper nesting ask.
const (
	maxLine  = 64 << 10
	maxDepth = 8
)

// line is everything that a command line would run.
type line struct {
	commands []command
	// assigns is true when variables are set, writes when output goes to a
	// file: both make more of a command than its words say.
	assigns, writes bool
	// targets are the files that output goes to.
	targets []Write
	// inputs tell what calls read, where that is no terminal and no file.
	// input is that of the call which is being added.
	inputs map[*syntax.CallExpr]input
	input  input
	// unreadable says why the line cannot be read for certain, "" if it can.
	unreadable string
}

// input is where a command gets its standard input from.
type input struct {
	// piped is true when another command writes it.
	piped bool
	// text is what it is when the line itself holds it, else nil.
	text *word
}

// command is one program with its arguments.
type command struct {
	words []word
	input input
	// transparent marks a wrapper that adds nothing to what it runs.
	transparent bool
}

// word is one word of a command.
type word struct {
	text string
	// dynamic is true when the shell would put something in its place that
	// the text does not show.
	dynamic bool
}

// String gives the command for people.
func (c *command) String() string {
	texts := make([]string, len(c.words))
	for i, w := range c.words {
		texts[i] = w.text
	}
	text := strings.Join(texts, " ")
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// line reads the command of a request, nil if it has none.
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
		l.parse(r.Shell, 0)
	default:
		return nil
	}
	return l
}

// cannotRead notes the first reason.
func (l *line) cannotRead(format string, args ...any) {
	if l.unreadable == "" {
		l.unreadable = fmt.Sprintf(format, args...)
	}
}

// parse reads a shell line and adds every command in it.
func (l *line) parse(source string, depth int) {
	if len(source) > maxLine || depth > maxDepth {
		l.cannotRead("it is too long or too deeply nested")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		l.cannotRead("%v", err)
		return
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		l.visit(node, depth)
		return true
	})
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
		if len(n.Args) == 0 {
			return
		}
		words := make([]word, len(n.Args))
		for i, w := range n.Args {
			words[i] = wordOf(w)
		}
		l.input = l.inputs[n]
		l.add(words, depth)
		l.input = input{}
	case *syntax.DeclClause:
		l.assigns = true
	case *syntax.FuncDecl:
		// A function may take the name of a program that a rule allows.
		l.assigns = true
	case *syntax.Redirect:
		l.writes = l.writes || writesFile(n)
	}
}

// visitStmt notes what a statement reads and writes.
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
				Target: exported(wordOf(r.Word)), Append: r.Op == syntax.AppOut || r.Op == syntax.AppAll, Bare: saysNothing(s.Cmd),
			})
		}
	}
}

// setInput notes what the calls of a statement read.
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

// saysNothing reports whether a command prints nothing, so that a redirection
// of it only empties a file.
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

// add notes one command and what it runs in turn.
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

// program is the name under which a wrapper is known.
func program(w word) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(strings.ReplaceAll(w.text, `\`, "/")), ".exe"))
}

// wordOf takes a word's quotes off.
func wordOf(w *syntax.Word) (out word) {
	if w == nil {
		return out
	}
	var text strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text.WriteString(unescape(p.Value, ""))
			out.dynamic = out.dynamic || expands(p.Value)
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
			out.dynamic = out.dynamic || p.Dollar && strings.Contains(p.Value, `\`)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, plain := inner.(*syntax.Lit)
				if !plain {
					out.dynamic = true
					text.WriteString(source(inner))
					continue
				}
				text.WriteString(unescape(lit.Value, "$`\"\\"))
			}
		default:
			out.dynamic = true
			text.WriteString(source(part))
		}
	}
	out.text = text.String()
	return out
}

// expands reports whether the shell makes file names or several words of an
// unquoted text.
func expands(lit string) bool {
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

// unescape takes backslashes off: before any character, or before those of
// only.
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
