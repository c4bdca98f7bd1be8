package argv

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

func (p *parse) checkOperands() error {
	o := p.wrapper.Operands
	if o.Type == None && o.First == "" && len(p.operands) > 0 {
		return p.operandError("takes no operands, and %q is one", p.operands[0])
	}
	if o.Type == None && len(p.operands) > 1 {
		return p.operandError("takes one operand, and %q is another", p.operands[1])
	}
	if err := p.checkCount(); err != nil {
		return err
	}
	if err := p.refusedOperand(); err != nil {
		return err
	}
	for i := range p.operands {
		if err := p.checkOperand(i); err != nil {
			return err
		}
	}
	return nil
}

// checkOperand checks an operand, and writes it so that the program takes it as one.
func (p *parse) checkOperand(i int) error {
	o, operand := p.wrapper.Operands, p.operands[i]
	kind, last := o.kind(i, len(p.operands))
	switch {
	case o.Type == Remove || kind == Remove:
		// With a trailing slash, a symlink would stand for its target.
		operand = trimSlash(operand)
	case operand == "-" && (o.Type == Write || kind == Write):
		operand = "./-" // touch takes a bare dash for its output
	}
	if p.wrapper.NoSeparator && strings.HasPrefix(operand, "-") {
		if !kind.IsPath() {
			return p.operandError("would take the operand %q for an option", operand).
				Suggest("Write it so that it does not begin with a dash. %s", p.wrapper.help())
		}
		operand = "./" + operand
	}
	p.operands[i] = operand
	switch {
	case last && kind.IsPath():
		return p.last(operand, p.operands[:i])
	case kind.IsPath():
		return p.path(operand, kind)
	case kind == Number && !isNumber(operand):
		return p.operandError("takes a number there, not %q", operand)
	}
	return nil
}

// kind returns the kind of the i-th of n operands, and whether it is the one that Last describes.
func (o Operands) kind(i, n int) (kind Kind, last bool) {
	switch {
	case i == 0 && o.First != "":
		return o.First, false
	case i == n-1 && o.Last != "":
		return o.Last, true
	case o.Type == "":
		return Read, false
	}
	return o.Type, false
}

func (o Operands) arePaths() bool {
	return o.Type == "" || o.Type.IsPath() || o.First.IsPath() || o.Last.IsPath()
}

func operands(n int) string {
	if n == 1 {
		return "1 operand"
	}
	return strconv.Itoa(n) + " operands"
}

// last checks the last operand. If it is a directory that receives the others, the places inside it are
// written.
func (p *parse) last(target string, others []string) error {
	o := p.wrapper.Operands
	if !o.Into || len(others) == 0 || p.paths == nil || !p.paths.IsDir(target) {
		if err := p.path(target, o.lastKind()); err != nil || !o.Into {
			return err
		}
		return p.trees(others, func(string) string { return target })
	}
	if err := p.paths.Check(target, Read); err != nil {
		return err
	}
	for _, other := range others {
		name := path.Base(strings.TrimRight(other, "/"))
		if name == "." || name == ".." || name == "/" {
			return p.operandError("cannot put %q into %q: what would be written there cannot be told", other, target)
		}
		if err := p.path(inside(target, other), o.lastKind()); err != nil {
			return err
		}
	}
	return p.trees(others, func(other string) string { return inside(target, other) })
}

// lastKind is how the last operand is used: a move replaces what is there instead of writing into it.
func (o Operands) lastKind() Kind {
	if o.Last == Write && o.Type == Remove {
		return Replace
	}
	return o.Last
}

// inside returns the place in the directory target that receives source.
func inside(target, source string) string {
	return strings.TrimRight(target, "/") + "/" + path.Base(strings.TrimRight(source, "/"))
}

// trees checks where the files of directories are put.
func (p *parse) trees(sources []string, place func(source string) string) error {
	if p.paths == nil {
		return nil
	}
	target := p.operands[len(p.operands)-1]
	for _, source := range sources {
		if err := p.paths.CheckTree(source, place(source)); err != nil {
			return err
		}
		// Some programs (cp of the BSDs) take a trailing slash as the content of the directory.
		if strings.HasSuffix(source, "/") {
			if err := p.paths.CheckTree(source, target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parse) refusedOperand() error {
	o := p.wrapper.Operands
	if o.Refuse == "" || len(p.operands) == 0 {
		return nil
	}
	pattern, err := regexp.Compile(o.Refuse)
	if err != nil {
		return p.operandError("has a pattern for refused operands that does not parse: %v", err)
	}
	for _, operand := range p.operands {
		switch {
		case !pattern.MatchString(operand):
		case o.Reason != "":
			return p.operandError("refuses the operand %q: %s", operand, o.Reason)
		default:
			return p.operandError("refuses the operand %q", operand)
		}
	}
	return nil
}

func (p *parse) checkCount() error {
	switch o, n := p.wrapper.Operands, len(p.operands); {
	case n < o.Min:
		return tool.Errorf(tool.InvalidArgument, "%s needs at least %s and has %d", p.wrapper.Command, operands(o.Min),
			n).
			Suggest("Write them in args: %q.", o.sample())
	case o.Max > 0 && n > o.Max:
		return p.operandError("takes at most %s and has %d", operands(o.Max), n)
	}
	return nil
}

// sample returns the smallest valid operands, for messages.
func (o *Operands) sample() string {
	word := map[bool]string{true: "WORD", false: "PATH"}[o.Type == String]
	words := slices.Repeat([]string{word}, o.Min)
	if o.First != "" && !o.First.IsPath() && o.Min > 0 {
		words[0] = "WORD"
	}
	if o.Last != "" && o.Min > 1 {
		words[o.Min-1] = "TARGET"
	}
	return strings.Join(words, " ")
}

func (p *parse) operandError(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, p.wrapper.Command+" "+format, args...).
		Suggest("Look at the tool's description for its arguments.")
}

// openly passes on what is not forbidden, in order, and checks what looks like a path.
func (p *parse) openly(words []Word) (*Run, error) {
	options := true
	for _, word := range words {
		matches, err := p.matches(word)
		if err != nil {
			return nil, err
		}
		for _, text := range matches {
			if options && strings.HasPrefix(text, "-") {
				text = "./" + text
			}
			if err := p.openOperand(text); err != nil {
				return nil, err
			}
		}
		switch text := word.Text; {
		case len(matches) > 0:
		case options && text == "--" && p.wrapper.NoSeparator:
			err = p.operandError("does not know the separator --").Suggest(
				"Leave it out, and write a path that begins with a dash as ./-NAME.")
		case options && text == "--":
			options = false
			p.run.Argv = append(p.run.Argv, text)
		case options && len(text) > 1 && text[0] == '-':
			err = p.openOption(text)
			p.run.Argv = append(p.run.Argv, text)
		default:
			err = p.openOperand(text)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.checkCount(); err != nil {
		return nil, err
	}
	return p.run, p.refusedOperand()
}

// openOption refuses forbidden options, also abbreviated or in a cluster, and checks a value that looks like a
// path.
func (p *parse) openOption(text string) error {
	name, value, _ := strings.Cut(text, "=")
	for _, forbidden := range p.wrapper.Forbid {
		long := strings.HasPrefix(forbidden, "--")
		switch {
		case name == forbidden,
			long && len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(forbidden, name),
			!long && len(forbidden) == 2 && !strings.HasPrefix(name, "--") && strings.Contains(name[1:], forbidden[1:]):
			return p.wrapper.optionError(text, "is refused here: it is or contains "+forbidden)
		}
	}
	if value == "" && !strings.HasPrefix(text, "--") && len(text) > 2 {
		value = text[2:]
		if err := p.clustered(text); err != nil {
			return err
		}
	}
	if looksLikePath(value) {
		return p.path(value, p.openKind())
	}
	return nil
}

// clustered refuses a path behind several short options, as in -vo/etc/x: which letter takes it is unknown.
func (p *parse) clustered(text string) error {
	for i := 3; i < len(text); i++ {
		rest := text[i:]
		if rest[0] != '/' && !strings.HasPrefix(rest, "..") {
			continue
		}
		if p.paths != nil && p.paths.Check(rest, p.openKind()) != nil {
			return p.wrapper.optionError(text, "may hold a path outside the workspace").
				Suggest("Write the option's value as an argument of its own.")
		}
	}
	return nil
}

func (p *parse) openOperand(text string) error {
	if p.wrapper.Operands.Type == Remove {
		text = trimSlash(text)
	}
	p.run.Argv = append(p.run.Argv, text)
	if err := p.addOperands(text); err != nil {
		return err
	}
	declared := p.wrapper.Operands.Type
	switch {
	case declared.IsPath():
		return p.path(text, declared)
	case declared == "" && (looksLikePath(text) || p.leadsOut(text)):
		return p.path(text, p.openKind())
	}
	return nil
}

// leadsOut reports whether a text that does not look like a path may not be used: a plain name can be a symlink
// that leads out.
func (p *parse) leadsOut(text string) bool {
	return text != "" && p.paths != nil && p.paths.Check(text, p.openKind()) != nil
}

// openKind returns the assumed use of an undeclared path.
func (p *parse) openKind() Kind {
	if t := p.wrapper.Operands.Type; t.IsPath() {
		return t
	}
	return Read
}

// looksLikePath reports whether a text could lead out of the directory.
func looksLikePath(s string) bool {
	return strings.HasPrefix(s, "/") || s == ".." || strings.HasPrefix(s, "../") || strings.Contains(s, "/..") ||
		strings.Contains(s, "/")
}

// trimSlash removes what makes a path mean the inside of a directory.
func trimSlash(path string) string {
	for len(path) > 1 && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")) {
		path = strings.TrimSuffix(strings.TrimSuffix(path, "."), "/")
	}
	if path == "" {
		return "/"
	}
	return path
}
