// Package editfile holds the tool edit_file, which replaces text in a file or
// creates one.
package editfile

import (
	"context"
	_ "embed"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

// The values of Options.Unescape.
const (
	// Contract reads both strings as bodies of Go string literals first, then as given.
	Contract = "contract"
	// Fallback reads them as given first.
	Fallback = "fallback"
	// Never reads them as given.
	Never = "never"
)

// Options configure the tool.
type Options struct {
	// Unescape is Contract, Fallback or Never; "" means Contract.
	Unescape string
}

// Valid reports whether the options can be used.
func (o Options) Valid() bool {
	switch o.Unescape {
	case "", Contract, Fallback, Never:
		return true
	}
	return false
}

// New returns the tool for a workspace. Invalid options mean Contract.
func New(ws *workspace.Workspace, opts Options) tool.Tool {
	if opts.Unescape == "" || !opts.Valid() {
		opts.Unescape = Contract
	}
	return &editor{ws: ws, unescape: opts.Unescape, definition: describe(opts.Unescape)}
}

type editor struct {
	ws         *workspace.Workspace
	unescape   string
	definition *tool.Definition
}

// Definition describes edit_file.
func (e *editor) Definition() *tool.Definition { return e.definition }

//go:embed edit_file.json
var definitionFile string

func describe(unescape string) *tool.Definition {
	note := ""
	if unescape == Contract {
		note = " Unescaped as a Go string literal."
	}
	text := strings.NewReplacer("$unescape ", unescapeHelp(unescape), "$note", note).Replace(definitionFile)
	return toolspec.Parse("edit_file", []byte(text))
}

func unescapeHelp(unescape string) string {
	switch unescape {
	case Never:
		return ""
	case Fallback:
		return "If old_str does not occur as given, both strings are unescaped as Go string literals. "
	default:
		return "Both strings are unescaped as Go string literals; if old_str then does not occur but does as " +
			"given, both are taken as given. "
	}
}

// Call makes the edit.
func (e *editor) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	r, err := e.request(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Apply(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.Path)
	}
	return o.Result(r.message(), r.replaced), nil
}

// Plan returns what Call would do.
func (e *editor) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	r, err := e.request(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Preview(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.Path)
	}
	return o.Plan(), nil
}
