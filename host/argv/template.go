package argv

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Template is the argument list of a typed command, with places for values.
type Template struct {
	Argv  []Expr
	Env   map[string]Expr
	Stdin *Expr
	Settings
}

// Expr is a text with places for parameter values, which are filled in byte for byte: not normalized, quoted or
// expanded. Exactly one field is set; the zero Expr is the empty text.
type Expr struct {
	// Literal is plain text.
	Literal string
	// Param names a parameter. As a whole argument, a list makes an argument for each item, and null makes
	// none.
	Param string
	// Concat joins expressions. A null among them makes a whole argument or variable null; elsewhere it is the empty
	// text.
	Concat []Expr
	// When chooses by a bool parameter.
	When *When
	// All stands for all parameters, as a compact JSON object.
	All bool
	// Null omits the argument.
	Null bool
}

// When chooses between two expressions.
type When struct {
	Param      string
	Then, Else Expr
}

// Params returns the parameters that an expression names, in order.
func (e *Expr) Params() []string {
	switch {
	case e.Param != "":
		return []string{e.Param}
	case e.When != nil:
		return append(append([]string{e.When.Param}, e.When.Then.Params()...), e.When.Else.Params()...)
	}
	var names []string
	for i := range e.Concat {
		names = append(names, e.Concat[i].Params()...)
	}
	return names
}

// Resolve fills a template with decoded parameters and checks their paths.
func (t *Template) Resolve(params []Param, values map[string]any, paths Paths) (*Run, error) {
	f := fill{values: values, run: new(Run), params: make(map[string]*Param)}
	for i := range params {
		f.params[params[i].Name] = &params[i]
		if err := f.checkPaths(&params[i], paths); err != nil {
			return nil, err
		}
	}
	for _, e := range t.Argv {
		if err := f.argument(e); err != nil {
			return nil, err
		}
	}
	for name, e := range t.Env {
		text, ok := f.text(e)
		if !ok {
			continue
		}
		if f.run.Env == nil {
			f.run.Env = make(map[string]string)
		}
		f.run.Env[name] = text
	}
	if t.Stdin != nil {
		f.run.Stdin = []byte(t.Stdin.Text(values))
	}
	return f.run, f.noNUL()
}

type fill struct {
	values   map[string]any
	params   map[string]*Param
	run      *Run
	operands bool // a literal -- has passed
	blank    bool // null within a text is the empty text
}

func (f *fill) checkPaths(p *Param, paths Paths) error {
	if !p.Path.IsPath() {
		return nil
	}
	for _, path := range texts(f.values[p.Name]) {
		if path == "" {
			return tool.Errorf(tool.InvalidArgument, "%s is an empty path",
				p.Name).Suggest("Name a file or directory of the workspace.")
		}
		if paths != nil {
			if err := paths.Check(path, p.Path); err != nil {
				return err
			}
		}
		f.run.addPath(path, p.Path)
	}
	return nil
}

// argument adds an expression's arguments to the argument list.
func (f *fill) argument(e Expr) error {
	if e.When != nil {
		return f.argument(f.choose(e.When))
	}
	if e.Param == "" {
		text, ok := f.text(e)
		if !ok {
			return nil
		}
		f.operands = f.operands || text == "--" && e.Literal == "--"
		return f.add(text, f.first(e))
	}
	for _, text := range texts(f.values[e.Param]) {
		if err := f.add(text, e.Param); err != nil {
			return err
		}
	}
	return nil
}

// add adds an argument whose first byte comes from the parameter from, or from the template if "". A value must
// not become an option that the template's author did not write.
func (f *fill) add(text, from string) error {
	param := f.params[from]
	numeric := param != nil && (param.Type == TypeInteger || param.Type == TypeNumber)
	if from != "" && strings.HasPrefix(text, "-") && !f.operands && !numeric && (param == nil || !param.Dash) {
		if param == nil || !param.Path.IsPath() {
			return tool.Errorf(tool.InvalidArgument, "%s is or begins %q, which the program would take for an option",
				from, text).
				Suggest("Give a value that does not begin with a dash.")
		}
		text = "./" + text
	}
	f.run.Argv = append(f.run.Argv, text)
	return nil
}

// first returns the parameter of an expression's first byte, "" for a literal.
func (f *fill) first(e Expr) string {
	switch {
	case e.When != nil:
		return f.first(f.choose(e.When))
	case e.Param != "":
		return e.Param
	}
	for _, part := range e.Concat {
		if text, _ := f.text(part); text != "" {
			return f.first(part)
		}
	}
	return ""
}

func (f *fill) choose(w *When) Expr {
	if on, _ := f.values[w.Param].(bool); on {
		return w.Then
	}
	return w.Else
}

// text returns an expression as one text, and false for null.
func (f *fill) text(e Expr) (string, bool) {
	switch {
	case e.Null:
		return "", false
	case e.All:
		return compact(f.given()), true
	case e.When != nil:
		return f.text(f.choose(e.When))
	case e.Param != "":
		value := f.values[e.Param]
		return strings.Join(texts(value), " "), value != nil
	case e.Concat == nil:
		return e.Literal, true
	}
	var b strings.Builder
	for _, part := range e.Concat {
		text, ok := f.text(part)
		if !ok && !f.blank {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// given returns the values of the parameters themselves, without answers.
func (f *fill) given() map[string]any {
	given := make(map[string]any, len(f.values))
	for name, value := range f.values {
		if !strings.HasPrefix(name, "ask.") {
			given[name] = value
		}
	}
	return given
}

// texts returns a value as arguments: none for null, several for a list.
func texts(value any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case json.Number:
		return []string{v.String()}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, texts(item)...)
		}
		return all
	}
	return []string{compact(value)}
}

// noNUL refuses what no argument list or environment can contain.
func (f *fill) noNUL() error {
	all := slices.Concat(f.run.Argv, slices.Collect(maps.Values(f.run.Env)))
	for _, arg := range all {
		if strings.IndexByte(arg, 0) >= 0 {
			return tool.Errorf(tool.InvalidArgument, "an argument or variable holds a NUL byte").Suggest("Remove it.")
		}
	}
	return nil
}
