package argv

import (
	"strings"

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
//	  separator    = true                 # false: the program does not know --
//	  option_style = "equals"             # or "separate", "as_written": --name=value, --name value
//	  option "-r" "--recursive" {}
//	  option "-S" "--suffix" { value = "string" }
//	  option "-t" "--target-directory" { value = "write" }
//	  option "--backup" { value = "string", optional = true }
//	  option "--rawfile" { values = ["string", "read"] }
//	  option "-f" "--follow" { refuse = "it never ends" }
//	  operands {
//	    type = "read"                     # string, number, read, write, remove or none
//	    first = "string"                  # the first operand, where it differs
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
	Unknown string
	Number  bool
	// NoSeparator is for programs without --: operands and values with a leading dash are refused.
	NoSeparator bool
	// Style is how long options are passed their values; empty means Equals.
	Style    Style
	Operands Operands
	Settings
}

// Style is how a long option and its value are passed on.
type Style string

// The styles.
const (
	Equals    Style = "equals"     // --name=value
	Separate  Style = "separate"   // --name value, two words
	AsWritten Style = "as_written" // as the agent wrote it
)

// Option declares an option of a wrapped program.
type Option struct {
	// Names are all spellings: "-n", "--lines".
	Names []string
	// Value is the kind of the value; None (or empty) for a switch.
	Value Kind
	// Values, in place of Value, are the kinds of several separate values: --arg NAME VALUE.
	Values []Kind
	// Optional values count only when attached: --backup=numbered, -bX.
	Optional bool
	// Refuse, unless empty, is why the option may not be used.
	Refuse string
}

// Operands declare the arguments that are not options.
type Operands struct {
	// Type is their kind. Empty means Read if options are declared, otherwise any text, checked if it looks
	// like a path.
	Type Kind
	// First and Last are the kinds of the first and the last one, if different. A single operand is the first.
	First, Last Kind
	// Into is set if the last may be a directory that receives the others.
	Into bool
	// Min and Max bound their number; Max 0 means no bound.
	Min, Max int
	// Refuse is a regular expression (RE2) of refused operands, Reason why.
	Refuse, Reason string
}

// Resolve returns the argument list for an args text.
func (w *Wrapper) Resolve(args string, paths Paths) (*Run, error) {
	words, err := Split(args)
	if err != nil {
		return nil, err
	}
	p := parse{wrapper: w, paths: paths, run: &Run{Argv: append([]string{w.Command}, w.Prepend...)}}
	if w.Open() {
		return p.openly(words)
	}
	return p.strictly(words)
}

// Open reports whether undeclared options may pass.
func (w *Wrapper) Open() bool {
	return w.Unknown == "allow" || w.Unknown == "" && len(w.Options) == 0
}

// parse is an args text being converted to an argument list.
type parse struct {
	wrapper  *Wrapper
	paths    Paths
	run      *Run
	operands []string
}

// matches returns the matches of a word's glob, nil for a plain word.
func (p *parse) matches(word Word) ([]string, error) {
	if word.Pattern == "" || p.paths == nil {
		return nil, nil
	}
	return p.paths.Glob(word.Pattern)
}

// strictly accepts declared options only. The result has one form, full names of options, --, operands, so that
// the program reads it exactly as it was checked.
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
	if !p.wrapper.NoSeparator {
		p.run.Argv = append(p.run.Argv, "--")
	}
	p.run.Argv = append(p.run.Argv, p.operands...)
	return p.run, nil
}

// operand takes a word, or its glob's matches: without matches it stays as written, as in a shell.
func (p *parse) operand(word Word) error {
	if word.Braces > 0 && p.wrapper.Operands.arePaths() {
		return refused("a brace expansion ({a,b})", word.Braces, "Write each name out. "+quoteIt)
	}
	if first := p.wrapper.Operands.First; first != "" && !first.IsPath() && len(p.operands) == 0 {
		return p.addOperands(word.Text) // the program must see the * of a filter or a pattern
	}
	matches, err := p.matches(word)
	if err != nil {
		return err
	}
	if len(matches) == 0 {
		matches = []string{word.Text}
	}
	return p.addOperands(matches...)
}

func (p *parse) addOperands(operands ...string) error {
	if p.operands = append(p.operands, operands...); len(p.operands) > maxWords {
		return tool.Errorf(tool.TooLarge, "args has more than %d words", maxWords).
			Suggest("Use a narrower glob, or split the work into several calls.")
	}
	return nil
}

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
	p.run.addPath(path, use)
	return nil
}

func (r *Run) addPath(path string, use Kind) {
	switch use {
	case Read:
		r.Reads = append(r.Reads, path)
	case Write, Replace:
		r.Writes = append(r.Writes, path)
	case Remove:
		r.Removes = append(r.Removes, path)
	}
}
