package argv

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// Wrapper is the grammar of a passthrough: which options a program may be
// given and what they and the operands are. In agent.hcl:
//
//	passthrough {
//	  command = "cp"
//	  prepend = []                        # arguments before the agent's
//	  forbid  = ["--symbolic-link"]       # options refused, by any of their names
//	  unknown = "refuse"                  # or "allow": options not declared here
//	  number  = false                     # whether -5 stands for a count, as in head -5
//	  option "-r" "--recursive" {}
//	  option "-S" "--suffix" { value = "string" }
//	  option "-t" "--target-directory" { value = "write" }
//	  option "--backup" { value = "string", optional = true }
//	  option "-f" "--follow" { refuse = "it never ends" }
//	  operands {
//	    type = "read"                     # string, read, write, remove or none
//	    last = "write"                    # the last operand, where it differs
//	    into = true                       # the last may be a directory that receives the others
//	    min  = 2
//	    max  = 9
//	    refuse = "[.]zip$"                # operands that match this (RE2) are refused
//	    reason = "it would be unpacked"   # and why
//	  }
//	  timeout = "30s"
//	  success = [0, 1]
//	}
//
// Once an option is declared, options that are not are refused unless unknown
// is "allow". Where nothing is declared, any option passes that is not
// forbidden, and whatever looks like a path is checked as one.
type Wrapper struct {
	Command string
	Prepend []string
	Options []Option
	Forbid  []string
	// Unknown is "refuse", "allow", or empty for the rule above.
	Unknown  string
	Number   bool
	Operands Operands
	Settings
}

// Option declares an option of a wrapped program.
type Option struct {
	// Names are all spellings: "-n", "--lines".
	Names []string
	// Value is what follows; None (or empty) for a switch.
	Value Kind
	// Optional values count only when attached: --backup=numbered, -bX.
	Optional bool
	// Refuse, when set, is why the option may not be used.
	Refuse string
}

// Operands declare the arguments that are no options.
type Operands struct {
	// Type is what they are. Empty is Read where options are declared, and
	// otherwise any text, checked when it looks like a path.
	Type Kind
	// Last is what the last one is, where it differs.
	Last Kind
	// Into is true when the last may be a directory that receives the others
	// under their own names.
	Into bool
	// Min and Max bound their number; Max 0 is no bound.
	Min, Max int
	// Refuse is a regular expression (RE2). Operands in which it matches are
	// refused, because of Reason.
	Refuse, Reason string
}

// Resolve makes the argument list for an args text.
func (w *Wrapper) Resolve(args string, paths Paths) (*Run, error) {
	words, err := Split(args)
	if err != nil {
		return nil, err
	}
	p := parse{wrapper: w, paths: paths, run: &Run{Argv: append([]string{w.Command}, w.Prepend...)}}
	if w.open() {
		return p.openly(words)
	}
	return p.strictly(words)
}

// open reports whether options that are not declared may pass.
func (w *Wrapper) open() bool {
	return w.Unknown == "allow" || w.Unknown == "" && len(w.Options) == 0
}

// parse is one args text on its way to an argument list.
type parse struct {
	wrapper  *Wrapper
	paths    Paths
	run      *Run
	operands []string
}

// matches gives what the glob in a word matches: nothing for a plain word.
func (p *parse) matches(word Word) ([]string, error) {
	if word.Pattern == "" || p.paths == nil {
		return nil, nil
	}
	return p.paths.Glob(word.Pattern)
}

// strictly takes declared options only. The result is put into one form:
// options under their full names, then --, then the operands, so that the
// program can read it in no other way than it was checked.
func (p *parse) strictly(words []Word) (*Run, error) {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		var err error
		switch text := word.Text; {
		case text == "--":
			for _, rest := range words {
				if err = p.operand(rest); err != nil {
					return nil, err
				}
			}
			words = nil
		case text == "-" || !strings.HasPrefix(text, "-"):
			err = p.operand(word)
		default:
			words, err = p.dashed(word, words)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.checkOperands(); err != nil {
		return nil, err
	}
	p.run.Argv = append(append(p.run.Argv, "--"), p.operands...)
	return p.run, nil
}

// operand takes a word, or what its glob matches: one that matches nothing
// stays as it is written, as in a shell.
func (p *parse) operand(word Word) error {
	if word.Braces > 0 && p.wrapper.Operands.arePaths() {
		return refused("a brace expansion ({a,b})", word.Braces, "Write each name out. "+quoteIt)
	}
	matches, err := p.matches(word)
	if err != nil {
		return err
	}
	if len(matches) == 0 {
		matches = []string{word.Text}
	}
	return p.take(matches...)
}

func (p *parse) take(operands ...string) error {
	if p.operands = append(p.operands, operands...); len(p.operands) > maxWords {
		return tool.Errorf(tool.TooLarge, "args has more than %d words", maxWords).
			Suggest("Use a narrower glob, or split the work into several calls.")
	}
	return nil
}

// dashed takes a word that begins with a dash. What a glob matches is always
// an operand: a file named -rf is no option.
func (p *parse) dashed(word Word, rest []Word) ([]Word, error) {
	matches, err := p.matches(word)
	if err != nil {
		return nil, err
	}
	switch text := word.Text; {
	case len(matches) > 0:
		return rest, p.take(matches...)
	case strings.HasPrefix(text, "--"):
		return p.long(text, rest)
	case p.wrapper.Number && isCount(text[1:]):
		p.run.Argv = append(p.run.Argv, "-n", text[1:])
		return rest, nil
	default:
		return p.cluster(text, rest)
	}
}

func isCount(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// long takes --name, --name=value or --name value. As with getopt_long, a
// name may be cut short as long as it is unambiguous.
func (p *parse) long(text string, rest []Word) ([]Word, error) {
	name, value, attached := strings.Cut(text, "=")
	option, full, err := p.wrapper.findLong(name)
	if err != nil {
		return nil, err
	}
	switch {
	case option.Value == "" || option.Value == None:
		if attached {
			return nil, p.wrapper.optionError(full, "takes no value")
		}
		p.run.Argv = append(p.run.Argv, full)
		return rest, nil
	case !attached && option.Optional:
		p.run.Argv = append(p.run.Argv, full)
		return rest, nil
	case !attached:
		if value, rest, err = p.next(full, option.Value, rest); err != nil {
			return nil, err
		}
	}
	if err := p.value(full, option.Value, value); err != nil {
		return nil, err
	}
	p.run.Argv = append(p.run.Argv, full+"="+value)
	return rest, nil
}

// cluster takes -x, -xyz, -nVALUE or -n VALUE.
func (p *parse) cluster(text string, rest []Word) ([]Word, error) {
	letters := []rune(text[1:])
	for i, letter := range letters {
		name := "-" + string(letter)
		option, err := p.wrapper.find(name)
		if err != nil {
			return nil, err
		}
		if option.Value == "" || option.Value == None {
			p.run.Argv = append(p.run.Argv, name)
			continue
		}
		value := string(letters[i+1:])
		if value == "" && option.Optional {
			p.run.Argv = append(p.run.Argv, name)
			return rest, nil
		}
		if value == "" {
			if value, rest, err = p.next(name, option.Value, rest); err != nil {
				return nil, err
			}
		}
		if err := p.value(name, option.Value, value); err != nil {
			return nil, err
		}
		if option.Optional {
			p.run.Argv = append(p.run.Argv, name+value)
		} else {
			p.run.Argv = append(p.run.Argv, name, value)
		}
		return rest, nil
	}
	return rest, nil
}

// next takes the word behind an option as its value. A glob is expanded only
// where the value is a path; in rg -g *.go it is rg that has to see the glob.
func (p *parse) next(name string, kind Kind, rest []Word) (string, []Word, error) {
	if len(rest) == 0 {
		return "", nil, p.wrapper.optionError(name, "needs a value")
	}
	word, rest := rest[0], rest[1:]
	if !kind.IsPath() {
		return word.Text, rest, nil
	}
	matches, err := p.matches(word)
	if err != nil || len(matches) == 0 {
		return word.Text, rest, err
	}
	return matches[0], rest, p.take(matches[1:]...)
}

func (w *Wrapper) optionError(name, what string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "the option %s of %s %s", name, w.Command, what).
		Suggest("%s", w.help())
}

// find gives a declared option that may be used.
func (w *Wrapper) find(name string) (Option, error) {
	if slices.Contains(w.Forbid, name) {
		return Option{}, w.optionError(name, "is refused here")
	}
	for _, o := range w.Options {
		if !slices.Contains(o.Names, name) {
			continue
		}
		for _, alias := range o.Names {
			if o.Refuse == "" && slices.Contains(w.Forbid, alias) {
				return Option{}, w.optionError(name, "is refused here")
			}
		}
		if o.Refuse != "" {
			return Option{}, w.optionError(name, "is refused here: "+o.Refuse)
		}
		return o, nil
	}
	what := "is not among those that may be used"
	if near := schema.Nearest(name, w.usable()); near != "" {
		return Option{}, tool.Errorf(tool.InvalidArgument, "the option %s of %s %s; did you mean %s?", name, w.Command, what, near).
			Suggest("Write %s, or leave the option out.", near)
	}
	return Option{}, w.optionError(name, what)
}

// findLong finds a long option by its name or the beginning of it.
func (w *Wrapper) findLong(name string) (Option, string, error) {
	full := []string{}
	for _, known := range append(w.names(), w.Forbid...) {
		if known == name {
			full = []string{known}
			break
		}
		if strings.HasPrefix(known, name) && len(name) > 2 && !slices.Contains(full, known) {
			full = append(full, known)
		}
	}
	switch len(full) {
	case 0:
		full = []string{name}
	case 1:
	default:
		return Option{}, "", w.optionError(name, "is ambiguous: "+strings.Join(full, ", "))
	}
	o, err := w.find(full[0])
	return o, full[0], err
}

func (w *Wrapper) names() []string {
	var names []string
	for _, o := range w.Options {
		names = append(names, o.Names...)
	}
	return names
}

// usable are the names of the options that are not refused.
func (w *Wrapper) usable() []string {
	var names []string
	for _, o := range w.Options {
		if o.Refuse == "" {
			names = append(names, o.Names...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(w.Forbid, name) })
}

// help names the options that may be used.
func (w *Wrapper) help() string {
	var names []string
	for _, o := range w.Options {
		if o.Refuse == "" {
			names = append(names, strings.Join(o.Names, "/"))
		}
	}
	if len(names) == 0 {
		return "Leave the option out."
	}
	return "Options that may be used: " + strings.Join(names, " ") + "."
}

// value checks the value of an option.
func (p *parse) value(name string, kind Kind, value string) error {
	switch {
	case kind.IsPath():
		return p.path(value, kind)
	case kind == Number && !isNumber(value):
		return p.wrapper.optionError(name, "takes a number, not "+value)
	}
	return nil
}

// isNumber accepts what head, tail and their likes take: a sign, digits and a
// unit of letters.
func isNumber(s string) bool {
	s = strings.TrimLeft(s, "+-")
	digits := strings.TrimLeft(s, "0123456789")
	return len(digits) < len(s) && len(digits) <= 3 && strings.Trim(digits, "bkKMGTPEZYRQiB") == ""
}

// path checks a path and notes its use.
func (p *parse) path(path string, use Kind) error {
	if path == "" {
		return tool.Errorf(tool.InvalidArgument, "an argument of %s is an empty path", p.wrapper.Command).
			Suggest("Name a file or directory of the workspace.")
	}
	if p.paths != nil {
		if err := p.paths.Check(path, use); err != nil {
			return err
		}
	}
	p.run.note(path, use)
	return nil
}

func (r *Run) note(path string, use Kind) {
	switch use {
	case Read:
		r.Reads = append(r.Reads, path)
	case Write, Replace:
		r.Writes = append(r.Writes, path)
	case Remove:
		r.Removes = append(r.Removes, path)
	}
}
