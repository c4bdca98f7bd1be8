package claude

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
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

func cellsOf(text string) ([]any, error) {
	value, err := data.ReadJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	if notebook, ok := value.(*data.Object); ok {
		list, _ := notebook.Get("cells")
		if cells, ok := list.([]any); ok {
			return cells, nil
		}
	}
	return nil, tool.Errorf(tool.InvalidArgument, "The file is not a notebook.").
		Suggest("A notebook is a JSON object with cells.")
}

// span is the place of something in a text.
type span struct{ from, to int }

// spansOf returns the place of a notebook's list of cells, without its brackets, and that of each cell.
func spansOf(notebook string) (list span, cells []span, err error) {
	dec := json.NewDecoder(strings.NewReader(notebook))
	var value json.RawMessage
	_, _ = dec.Token() // {
	for name, _ := dec.Token(); name != "cells"; name, _ = dec.Token() {
		if err := dec.Decode(&value); err != nil {
			return list, nil, err
		}
	}
	_, _ = dec.Token() // [
	list.from = int(dec.InputOffset())
	for dec.More() {
		if err := dec.Decode(&value); err != nil {
			return list, nil, err
		}
		end := int(dec.InputOffset())
		cells = append(cells, span{end - len(value), end})
	}
	_, err = dec.Token() // ]
	list.to = int(dec.InputOffset()) - len("]")
	return list, cells, err
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
	file, _, err := deps.Workspace.ReadFile(name, maxNotebook)
	if err != nil {
		return nil, missing(name, err)
	}
	text, err := textedit.Decode(file)
	if err != nil {
		return nil, err
	}
	cells, err := cellsOf(text.String())
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

// change edits the cell. All else in the file stays byte for byte.
func (in notebookInput) change(text *textedit.Text) error {
	file := text.String()
	cells, err := cellsOf(file)
	if err != nil {
		return err
	}
	list, places, err := spansOf(file)
	if err != nil {
		return err
	}
	at := find(cells, in.Cell)
	if at < 0 && in.Cell != "" {
		return tool.Errorf(tool.NoMatch, "Cell with ID %q not found in notebook.", in.Cell)
	}
	where, put := list, ""
	switch in.Mode {
	case "delete":
		if at+1 < len(places) {
			where = span{places[at].from, places[at+1].from}
		} else if at > 0 {
			where = span{places[at-1].to, places[at].to}
		}
	case "insert":
		outer := indentation(file, strings.IndexByte(file, '"'))
		inner := outer + strings.TrimPrefix(outer, "\n")
		if len(places) > 0 {
			inner = indentation(file, places[min(at+1, len(places)-1)].from)
		}
		put, err = written(in.fill(&data.Object{}, true), file, inner)
		switch {
		case len(places) == 0:
			put = inner + put + outer
		case at+1 < len(places):
			where, put = span{places[at+1].from, places[at+1].from}, put+","+inner
		default:
			where, put = span{places[at].to, places[at].to}, ","+inner+put
		}
	default:
		cell, ok := cells[at].(*data.Object)
		if !ok {
			return tool.Errorf(tool.InvalidArgument, "Cell with ID %q is not an object.", in.Cell)
		}
		where = places[at]
		put, err = written(in.fill(cell, false), file, indentation(file, where.from))
	}
	edited := file[:where.from] + put + file[where.to:]
	if err != nil || edited == file {
		return err
	}
	_, err = text.Replace(file, edited, textedit.ReplaceOptions{})
	return err
}

// written returns a cell as JSON that is indented as the notebook, or on one line if indent is empty.
func written(cell *data.Object, notebook, indent string) (string, error) {
	unit := ""
	if indent != "" {
		unit = strings.TrimPrefix(indentation(notebook, strings.IndexByte(notebook, '"')), "\n")
	}
	text, err := data.WriteJSON(cell, unit)
	return strings.ReplaceAll(text, "\n", indent), err
}

// indentation returns the line break and blanks before an offset in a text, "" for what is not the first in its line.
func indentation(text string, at int) string {
	blanks := text[len(strings.TrimRight(text[:at], " \t\r\n")):at]
	if i := strings.LastIndexByte(blanks, '\n'); i >= 0 {
		return blanks[i:]
	}
	return ""
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
