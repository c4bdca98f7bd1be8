package argv

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// dashed handles a word that begins with a dash. A glob's match is always an operand: a file named -rf is not
// an option.
func (p *parse) dashed(word Word, rest []Word) ([]Word, error) {
	matches, err := p.matches(word)
	if err != nil {
		return nil, err
	}
	switch text := word.Text; {
	case len(matches) > 0:
		return rest, p.addOperands(matches...)
	case strings.HasPrefix(text, "--") || p.wrapper.isLong(text):
		return p.long(text, rest)
	case p.wrapper.Number && text != "-" && strings.Trim(text[1:], "0123456789") == "":
		p.run.Argv = append(p.run.Argv, "-n", text[1:])
		return rest, nil
	default:
		return p.cluster(text, rest)
	}
}

// isLong reports whether text is a declared option of one dash and several letters, such as sqlite3's -json.
func (w *Wrapper) isLong(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	return len(name) > 2 && (slices.Contains(w.names(), name) || slices.Contains(w.Forbid, name))
}

// long handles --name, --name=value or --name value. As with getopt_long, an unambiguous prefix suffices; the
// full name is passed on.
func (p *parse) long(text string, rest []Word) ([]Word, error) {
	name, value, attached := strings.Cut(text, "=")
	option, full, err := p.wrapper.findLong(name)
	if err != nil {
		return nil, err
	}
	switch {
	case len(option.Values) > 0 && attached:
		return nil, p.wrapper.optionError(full, "takes its values as words of their own")
	case len(option.Values) > 0:
		return p.several(full, option.Values, rest)
	case option.isSwitch() && attached:
		return nil, p.wrapper.optionError(full, "takes no value")
	case option.isSwitch() || !attached && option.Optional:
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
	style := p.wrapper.Style
	if option.Optional || style == AsWritten && attached || style == "" || style == Equals {
		p.run.Argv = append(p.run.Argv, full+"="+value)
		return rest, nil
	}
	return rest, p.apart(full, option.Value, value)
}

func (p *parse) several(name string, kinds []Kind, rest []Word) ([]Word, error) {
	p.run.Argv = append(p.run.Argv, name)
	for i, kind := range kinds {
		if len(rest) == 0 {
			return nil,
				p.wrapper.optionError(name, "needs "+strconv.Itoa(len(kinds))+" values and has "+strconv.Itoa(i))
		}
		value := rest[0].Text // a glob would make one value several
		rest = rest[1:]
		if err := p.value(name, kind, value); err != nil {
			return nil, err
		}
		if err := p.bare(name, kind, value); err != nil {
			return nil, err
		}
		p.run.Argv = append(p.run.Argv, value)
	}
	return rest, nil
}

// apart passes on an option and its value as two words.
func (p *parse) apart(name string, kind Kind, value string) error {
	p.run.Argv = append(p.run.Argv, name, value)
	return p.bare(name, kind, value)
}

// bare refuses a separate value that the program could take as an option, if it parses options in an unknown
// way.
func (p *parse) bare(name string, kind Kind, value string) error {
	if !strings.HasPrefix(value, "-") || kind == Number {
		return nil
	}
	return p.wrapper.optionError(name, "takes no value that begins with a dash, and "+strconv.Quote(value)+" does").
		Suggest("Write a path as ./%s; a text has to begin otherwise.", value)
}

func (o *Option) isSwitch() bool {
	return len(o.Values) == 0 && (o.Value == "" || o.Value == None)
}

// cluster handles -x, -xyz, -nVALUE or -n VALUE.
func (p *parse) cluster(text string, rest []Word) ([]Word, error) {
	letters := []rune(text[1:])
	for i, letter := range letters {
		name := "-" + string(letter)
		option, err := p.wrapper.find(name)
		if err != nil {
			return nil, err
		}
		if option.isSwitch() {
			p.run.Argv = append(p.run.Argv, name)
			continue
		}
		value := string(letters[i+1:])
		if len(option.Values) > 0 {
			if value != "" {
				return nil, p.wrapper.optionError(name, "takes its values as words of their own")
			}
			return p.several(name, option.Values, rest)
		}
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
		switch {
		case option.Optional:
			p.run.Argv = append(p.run.Argv, name+value)
		case p.wrapper.NoSeparator:
			return rest, p.apart(name, option.Value, value)
		default:
			p.run.Argv = append(p.run.Argv, name, value)
		}
		return rest, nil
	}
	return rest, nil
}

// next takes the next word as an option's value. A glob is expanded only for paths: rg itself must see -g *.go.
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
	return matches[0], rest, p.addOperands(matches[1:]...)
}

func (w *Wrapper) optionError(name, what string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "the option %s of %s %s", name, w.Command, what).
		Suggest("%s", w.help())
}

// find returns a declared option that may be used.
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
	if near := nearest.Name(name, w.usable()); near != "" {
		return Option{}, tool.Errorf(tool.InvalidArgument, "the option %s of %s %s; did you mean %s?", name, w.Command,
			what, near).
			Suggest("Write %s, or leave the option out.", near)
	}
	return Option{}, w.optionError(name, what)
}

// findLong finds a long option by its name or a prefix of it.
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

// usable returns the names of the options that are not refused.
func (w *Wrapper) usable() []string {
	var names []string
	for _, o := range w.Options {
		if o.Refuse == "" {
			names = append(names, o.Names...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(w.Forbid, name) })
}

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

// maxTold bounds a description of options.
const maxTold = 600

// takes describes the options, for the model that writes the arguments.
func (w *Wrapper) takes() string {
	if w.Open() {
		if len(w.Forbid) > 0 {
			return "Refused options: " + strings.Join(w.Forbid, " ") + "."
		}
		return ""
	}
	var all strings.Builder
	for i := range w.Options {
		o := &w.Options[i]
		if o.Refuse != "" || slices.ContainsFunc(o.Names, func(n string) bool { return slices.Contains(w.Forbid, n) }) {
			continue
		}
		if all.Len() > maxTold {
			return "Options:" + all.String() + " and others; one that is refused says which may be used."
		}
		all.WriteString(" " + strings.Join(o.Names, "/") + o.placeholder())
	}
	if all.Len() == 0 {
		return "It takes no options."
	}
	return "Options, and no others:" + all.String() + "."
}

func (o *Option) placeholder() string {
	words := map[Kind]string{String: "TEXT", Number: "NUMBER", Read: "PATH", Write: "PATH", Remove: "PATH"}
	switch {
	case len(o.Values) > 0:
		text := ""
		for _, kind := range o.Values {
			text += " " + words[kind]
		}
		return text
	case o.isSwitch():
		return ""
	case o.Optional:
		return "[=" + words[o.Value] + "]"
	}
	return " " + words[o.Value]
}

func (p *parse) value(name string, kind Kind, value string) error {
	switch {
	case kind.IsPath():
		return p.path(value, kind)
	case kind == Number && !isNumber(value):
		return p.wrapper.optionError(name, "takes a number, not "+value)
	}
	return nil
}

// isNumber accepts what head and tail do: a sign, digits and a unit of letters.
func isNumber(s string) bool {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		s = s[1:]
	}
	digits := strings.TrimLeft(s, "0123456789")
	return len(digits) < len(s) && len(digits) <= 3 && strings.Trim(digits, "bkKMGTPEZYRQiB") == ""
}
