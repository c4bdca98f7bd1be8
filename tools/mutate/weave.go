package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// chosenEnv is the environment variable that chooses a mutation, by its line in mutations.txt.
const chosenEnv = "TOOLHOST_MUTATION"

// chooser returns a file that is added to each package with mutations.
func chooser(name string) string {
	return "package " + name + "\n\nimport \"os\"\n\nvar mutationChosen = os.Getenv(\"" + chosenEnv + "\")\n"
}

type function struct {
	source string
	decl   *ast.FuncDecl
}

// functions returns a source file's functions by receiver and name, and the text outside of them.
func functions(source string) (all map[string]function, pkg, outside string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return nil, "", "", err
	}
	all = make(map[string]function)
	end := 0
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := function{source, decl}
		outside += source[end : decl.Pos()-1]
		end = int(decl.End()) - 1
		all[f.text(decl.Pos(), decl.Name.End())] = f
	}
	return all, file.Name.Name, outside + source[end:], nil
}

// weave returns a file's source with its mutations, and those outside of one function's body. A
// mutated function calls one of its forms.
func weave(source string, all []mutation) (woven, pkg string, apart []mutation, err error) {
	old, pkg, outside, err := functions(source)
	if err != nil {
		return "", "", nil, err
	}
	forms := make(map[string][]string) // form names by function
	added := ""
	for _, m := range all {
		mutated, err := m.apply()
		if err != nil {
			return "", "", nil, err
		}
		key, form, err := changed(old, outside, mutated)
		if err != nil {
			return "", "", nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if key == "" || m.apart {
			apart = append(apart, m)
			continue
		}
		line := fmt.Sprint(m.line)
		forms[key] = append(forms[key], line)
		added += "\n//line mutations.txt:" + line + "\n" + form.named(formName(line, form.decl)) + "\n"
	}
	var functions []function
	for key := range forms {
		functions = append(functions, old[key])
	}
	slices.SortFunc(functions, func(a, b function) int { return int(b.decl.Pos() - a.decl.Pos()) }) // the last first
	for _, f := range functions {
		chosen := forms[f.text(f.decl.Pos(), f.decl.Name.End())]
		source = source[:f.decl.Pos()-1] + f.handsOn(chosen) + "\n\n" + f.named(formName("", f.decl)) +
			source[f.decl.End()-1:]
	}
	return source + added, pkg, apart, nil
}

// changed finds the function whose body a mutation changes, if it changes nothing else.
func changed(old map[string]function, outside, mutated string) (key string, form function, err error) {
	now, _, rest, err := functions(mutated)
	if err != nil || rest != outside || len(now) != len(old) {
		return "", function{}, err
	}
	for name, f := range now {
		was, ok := old[name]
		switch {
		case ok && was.text(was.decl.Pos(), was.decl.End()) == f.text(f.decl.Pos(), f.decl.End()):
			continue
		case key != "" || !ok || was.head() != f.head() || name == "func init" || name == "func main":
			return "", function{}, nil
		}
		key, form = name, f
	}
	return key, form, nil
}

func formName(line string, decl *ast.FuncDecl) string { return "mutant" + line + "_" + decl.Name.Name }

func (f function) text(from, to token.Pos) string { return f.source[from-1 : to-1] }

func (f function) head() string { return f.text(f.decl.Pos(), f.decl.Body.Pos()) }

func (f function) named(name string) string {
	return f.text(f.decl.Pos(), f.decl.Name.Pos()) + name + f.text(f.decl.Name.End(), f.decl.End())
}

// handsOn returns a function that calls the chosen form.
func (f function) handsOn(lines []string) string {
	params, args := f.params()
	call := args
	if types := f.decl.Type.TypeParams; types != nil {
		var names []string
		for _, field := range types.List {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		call = "[" + strings.Join(names, ", ") + "]" + call
	}
	receiver, on := "", ""
	if r := f.decl.Recv; r != nil {
		typ := r.List[0].Type
		receiver, on = "(r0 "+f.text(typ.Pos(), typ.End())+") ", "r0."
	}
	if f.decl.Type.Results != nil {
		on = "return " + on
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func %s%s%s%s {\n\tswitch mutationChosen {\n", receiver, f.decl.Name.Name, f.types()+params,
		f.results())
	for _, line := range lines {
		fmt.Fprintf(&b, "\tcase %q:\n\t\t%s%s%s\n", line, on, formName(line, f.decl), call)
	}
	fmt.Fprintf(&b, "\tdefault:\n\t\t%s%s%s\n\t}\n}", on, formName("", f.decl), call)
	return b.String()
}

func (f function) types() string {
	if t := f.decl.Type.TypeParams; t != nil {
		return f.text(t.Pos(), t.End())
	}
	return ""
}

func (f function) results() string {
	if r := f.decl.Type.Results; r != nil {
		return " " + f.text(r.Pos(), r.End())
	}
	return ""
}

// params returns the parameters, all named, and the arguments of a call with them.
func (f function) params() (params, args string) {
	var declared, given []string
	for _, field := range f.decl.Type.Params.List {
		for range max(1, len(field.Names)) {
			name := fmt.Sprintf("p%d", len(given))
			declared = append(declared, name+" "+f.text(field.Type.Pos(), field.Type.End()))
			if _, rest := field.Type.(*ast.Ellipsis); rest {
				name += "..."
			}
			given = append(given, name)
		}
	}
	return "(" + strings.Join(declared, ", ") + ")", "(" + strings.Join(given, ", ") + ")"
}
