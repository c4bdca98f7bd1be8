package argv

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/host/tool"
)

const (
	maxArgs  = 128 << 10 // bytes
	maxWords = 4096      // after expanding globs
	// maxBraces is how many unquoted { of a word are looked at: the time grows with the square of their number.
	maxBraces = 500
)

// Word is a word of an args text.
type Word struct {
	// Text is the word with its quotes and escapes resolved.
	Text string
	// Pattern is the glob of a word with unquoted glob characters; quoted ones are escaped by a backslash.
	Pattern string
	// Braces is the column of an unquoted {a,b} or {1..3}, plain characters to a POSIX shell; or 0.
	Braces int
}

// prefix makes the first word an argument, so that it is neither a keyword nor an assignment.
const prefix = "x "

// Split splits a text into words as a POSIX shell does: it resolves quotes and escapes and recognizes unquoted
// globs. What would need a shell is refused with a *tool.Error of code invalid_argument that names it:
// operators, redirections, expansions, substitutions, comments, a tilde.
func Split(args string) ([]Word, error) {
	if len(args) > maxArgs {
		return nil, tool.Errorf(tool.TooLarge, "args is %d bytes long, more than %d", len(args), maxArgs).
			Suggest("Split the work into several calls.")
	}
	if i := strings.IndexByte(args, 0); i >= 0 {
		return nil, refused("a NUL byte", i+1, "Remove it.")
	}
	if strings.TrimSpace(args) == "" {
		return nil, nil
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(prefix+args), "")
	if err != nil {
		return nil, parseError(err)
	}
	call, err := plainCall(file)
	if err != nil {
		return nil, err
	}
	words := make([]Word, 0, len(call.Args)-1)
	for _, w := range call.Args[1:] {
		word, err := readWord(w)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// column returns a position in the args, from 1.
func column(pos syntax.Pos) int { return max(1, int(pos.Offset())-len(prefix)+1) }

func refused(what string, column int, suggestion string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "args has %s at column %d; the tool runs one program and no shell", what,
		column).
		Suggest("%s", suggestion)
}

const quoteIt = "If you mean the character itself, put it into single quotes."

func parseError(err error) error {
	if parse, ok := errors.AsType[syntax.ParseError](err); ok {
		return tool.Errorf(tool.InvalidArgument, "args cannot be split into words: %s at column %d", parse.Text,
			column(parse.Pos)).
			Suggest("Close every quote, and put operators such as | ; & < > ( ) into single quotes if you mean the characters.")
	}
	return tool.Errorf(tool.InvalidArgument, "args cannot be split into words: %w", err).
		Suggest("Write them as for a POSIX shell, without operators.")
}

// plainCall returns the only simple command of the text, which must have no other.
func plainCall(file *syntax.File) (*syntax.CallExpr, error) {
	if comment := firstComment(file); comment != nil {
		return nil, refused("a comment (#)", column(comment.Hash), quoteIt)
	}
	if len(file.Stmts) != 1 {
		return nil, refused("a command separator (; or a line break)", column(file.Stmts[1].Position),
			"Make one call for each command.")
	}
	stmt := file.Stmts[0]
	switch {
	case len(stmt.Redirs) > 0:
		r := stmt.Redirs[0]
		return nil, refused(fmt.Sprintf("a redirection (%s)", r.Op), column(r.OpPos),
			"Use another tool to read or write files. "+quoteIt)
	case stmt.Background:
		return nil,
			refused("a background operator (&)", column(stmt.Semicolon), "Calls run in the foreground. "+quoteIt)
	case stmt.Semicolon.IsValid():
		return nil,
			refused("a command separator (;)", column(stmt.Semicolon), "Make one call for each command. "+quoteIt)
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return cmd, nil
	case *syntax.BinaryCmd:
		what := "an operator"
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			what = "a pipe"
		}
		return nil, refused(fmt.Sprintf("%s (%s)", what, cmd.Op), column(cmd.OpPos),
			"Make one call for each command. "+quoteIt)
	}
	return nil, refused("shell syntax", 1, quoteIt)
}

func firstComment(file *syntax.File) *syntax.Comment {
	var found *syntax.Comment
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && found == nil {
			found = c
		}
		return found == nil
	})
	return found
}

func readWord(w *syntax.Word) (Word, error) {
	var text, pattern strings.Builder
	glob, braces := false, 0
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			braces += strings.Count(part.Value, "{")
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				return Word{},
					refused("a tilde (~)", column(part.Pos()), "Give paths relative to the workspace. "+quoteIt)
			}
			glob = bare(part.Value, &text, &pattern) || glob
		case *syntax.SglQuoted:
			quoted(part.Value, &text, &pattern)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return Word{}, refusedPart(inner)
				}
				quoted(unescape(lit.Value, "$`\"\\"), &text, &pattern)
			}
		default:
			return Word{}, refusedPart(part)
		}
	}
	word := Word{Text: text.String()}
	if glob {
		word.Pattern = pattern.String()
	}
	at := w.Pos() // which a word that begins with an empty alternative no longer has when it is split
	if braces > maxBraces {
		word.Braces = column(at)
	} else if syntax.SplitBraces(w) {
		for _, part := range w.Parts {
			if _, expands := part.(*syntax.BraceExp); expands {
				word.Braces = column(at)
			}
		}
	}
	return word, nil
}

// bare adds unquoted text, with backslash escapes, and reports whether it has glob characters.
func bare(value string, text, pattern *strings.Builder) (glob bool) {
	set := -1 // start of the open set
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case set >= 0 && c == '[' && class(value[i:]) != "":
			name := class(value[i:])
			text.WriteString(value[i : i+len(name)])
			pattern.WriteString(classes[name])
			i += len(name) - 1
			continue
		case c == '\\' && i+1 < len(value):
			i++
			if value[i] != '\n' {
				quoted(value[i:i+1], text, pattern)
			}
			continue
		case c == '*' || c == '?' || c == '[':
			glob = true
			if c == '[' && set < 0 {
				set = i
			}
		case c == ']' && set >= 0 && strings.Trim(value[set+1:i], "!^") != "":
			set = -1
		case c == '{' || c == '}' || c == '\\':
			// The glob matcher knows these, a POSIX shell does not.
			pattern.WriteByte('\\')
		}
		text.WriteByte(c)
		pattern.WriteByte(c)
	}
	return glob
}

// classes are the characters of a shell pattern's classes, in ASCII, for the glob matcher.
var classes = map[string]string{
	"[:alpha:]": "a-zA-Z", "[:digit:]": "0-9", "[:alnum:]": "a-zA-Z0-9", "[:upper:]": "A-Z", "[:lower:]": "a-z",
	"[:xdigit:]": "0-9a-fA-F", "[:space:]": " \t-\r", "[:blank:]": " \t", "[:cntrl:]": "\x00-\x1f\x7f",
	"[:graph:]": `\!-~`, "[:print:]": " -~", "[:punct:]": "\\!-/:-@\\[-`{-~",
}

// class returns the class that a text begins with, or "".
func class(text string) string {
	if end := strings.Index(text, ":]"); end > 0 && classes[text[:end+2]] != "" {
		return text[:end+2]
	}
	return ""
}

// quoted adds literal text.
func quoted(value string, text, pattern *strings.Builder) {
	text.WriteString(value)
	for i := 0; i < len(value); i++ {
		if strings.IndexByte(`*?[]{}\-!^`, value[i]) >= 0 {
			pattern.WriteByte('\\')
		}
		pattern.WriteByte(value[i])
	}
}

func unescape(value, special string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			switch next := value[i+1]; {
			case next == '\n':
				i++
				continue
			case strings.IndexByte(special, next) >= 0:
				i++
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

func refusedPart(part syntax.WordPart) error {
	what := "shell syntax"
	switch part := part.(type) {
	case *syntax.ParamExp:
		what = "a variable"
		if part.Param != nil {
			what = "a variable ($" + part.Param.Value + ")"
		}
	case *syntax.CmdSubst:
		what = "a command substitution ($(...) or `...`)"
	case *syntax.ArithmExp:
		what = "an arithmetic expansion ($((...)))"
	case *syntax.ProcSubst:
		what = "a process substitution"
	}
	return refused(what, column(part.Pos()), "Give the value itself. "+quoteIt)
}
