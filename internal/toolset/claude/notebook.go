package claude

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/data"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

const maxNotebook = 16 << 20 // bytes

type notebookInput struct {
	Path   string `json:"notebook_path"`
	Cell   string `json:"cell_id"`
	Source string `json:"new_source"`
	Type   string `json:"cell_type"`
	Mode   string `json:"edit_mode"`
}

func cellsOf(text string) (notebook *data.Object, cells []any, err error) {
	value, err := data.ReadJSON([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	notebook, ok := value.(*data.Object)
	if ok {
		list, _ := notebook.Get("cells")
		cells, ok = list.([]any)
	}
	if !ok {
		return nil, nil, tool.Errorf(tool.InvalidArgument, "The file is not a notebook.").
			Suggest("A notebook is a JSON object with cells.")
	}
	return notebook, cells, nil
}

// member returns a member of a cell as text; a list of strings is joined.
func member(cell any, name string) string {
	o, ok := cell.(*data.Object)
	if !ok {
		return ""
	}
	value, _ := o.Get(name)
	switch value := value.(type) {
	case string:
		return value
	case []any:
		var b strings.Builder
		for _, part := range value {
			text, _ := part.(string)
			b.WriteString(text)
		}
		return b.String()
	}
	return ""
}

// find returns the index of a cell, by its id or as cell-N.
func find(cells []any, id string) int {
	for i, cell := range cells {
		if id != "" && member(cell, "id") == id || fmt.Sprintf("cell-%d", i) == id {
			return i
		}
	}
	return -1
}

func readNotebook(deps hands.Deps, name string) (*hands.Outcome, error) {
	text, _, err := deps.Workspace.ReadFile(name, maxNotebook)
	if err != nil {
		return nil, missing(name, err)
	}
	_, cells, err := cellsOf(string(text))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, cell := range cells {
		id := member(cell, "id")
		if id == "" {
			id = fmt.Sprintf("cell-%d", i)
		}
		kind := ""
		if t := member(cell, "cell_type"); t != "code" {
			kind = tagged("cell_type", t)
		}
		fmt.Fprintf(&b, "<cell id=%q>%s%s</cell id=%q>\n", id, kind, member(cell, "source"), id)
	}
	return hands.Say(strings.TrimSuffix(b.String(), "\n")), nil
}

func runNotebook(ctx context.Context, deps hands.Deps, _ *tool.Call, in notebookInput) (*hands.Outcome, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	o, err := hands.Change(ctx, deps.Workspace, in.Path, in.change)
	if err != nil {
		return nil, missing(in.Path, err)
	}
	switch in.Mode {
	case "insert":
		o.Text = "Inserted cell " + in.Cell + " with " + in.Source
	case "delete":
		o.Text = "Deleted cell " + in.Cell
	default:
		o.Text = "Updated cell " + in.Cell + " with " + in.Source
	}
	return o, nil
}

func planNotebook(ctx context.Context, deps hands.Deps, in notebookInput) (*tool.Plan, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return hands.PlanChange(ctx, deps.Workspace, in.Path, in.change)
}

func (in notebookInput) check() error {
	switch {
	case !strings.HasSuffix(in.Path, ".ipynb"):
		return tool.Errorf(tool.InvalidArgument,
			"File must be a Jupyter notebook (.ipynb file). For editing other file types, use the FileEdit tool.")
	case in.Mode == "insert" && in.Type == "":
		return tool.Errorf(tool.InvalidArgument, "Cell type is required when using edit_mode=insert.")
	case in.Mode != "insert" && in.Cell == "":
		return tool.Errorf(tool.InvalidArgument, "Cell ID must be specified when not inserting a new cell.")
	}
	return nil
}

// change edits the cell. Member order and all other cells stay.
func (in notebookInput) change(text string) (string, error) {
	notebook, cells, err := cellsOf(text)
	if err != nil {
		return "", err
	}
	at := find(cells, in.Cell)
	if at < 0 && in.Cell != "" {
		return "", tool.Errorf(tool.NoMatch, "Cell with ID %q not found in notebook.", in.Cell)
	}
	switch in.Mode {
	case "delete":
		cells = slices.Delete(cells, at, at+1)
	case "insert":
		cells = slices.Insert(cells, at+1, any(in.fill(&data.Object{}, true)))
	default:
		cell, ok := cells[at].(*data.Object)
		if !ok {
			return "", tool.Errorf(tool.InvalidArgument, "Cell with ID %q is not an object.", in.Cell)
		}
		in.fill(cell, false)
	}
	notebook.Set("cells", cells)
	indent := " "
	if rest, ok := strings.CutPrefix(text, "{\n"); ok {
		indent = rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
	}
	out, err := data.WriteJSON(notebook, indent)
	return strings.TrimSuffix(out, "\n") + "\n", err
}

// fill sets a cell's source and the members that its type needs.
func (in notebookInput) fill(cell *data.Object, made bool) *data.Object {
	kind := in.Type
	if kind == "" {
		kind = member(cell, "cell_type")
	}
	if made {
		cell.Set("id", strings.ToLower(rand.Text()[:8]))
		cell.Set("metadata", &data.Object{})
	}
	cell.Set("cell_type", kind)
	var source []any
	for line := range strings.Lines(in.Source) {
		source = append(source, line)
	}
	cell.Set("source", source)
	if kind != "code" {
		cell.Delete("outputs")
		cell.Delete("execution_count")
		return cell
	}
	cell.Set("outputs", []any{})
	cell.Set("execution_count", nil)
	return cell
}
