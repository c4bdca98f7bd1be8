// Package multiedit holds the tool multi_edit, which makes several edits in
// one file, all or none.
package multiedit

import (
	"context"
	_ "embed"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

// New returns the tool for a workspace.
func New(ws *workspace.Workspace) tool.Tool { return &editor{ws: ws} }

type editor struct{ ws *workspace.Workspace }

//go:embed multi_edit.json
var definitionFile []byte

var describe = sync.OnceValue(func() *tool.Definition { return toolspec.Parse("multi_edit", definitionFile) })

// Definition describes multi_edit.
func (e *editor) Definition() *tool.Definition { return describe() }

func (e *editor) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	r, err := readRequest(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Apply(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.FilePath)
	}
	return o.Result(r.message(), r.replaced), nil
}

// Plan returns what Call would do.
func (e *editor) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	r, err := readRequest(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Preview(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.FilePath)
	}
	return o.Plan(), nil
}
