package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

type input struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	Range      []int   `json:"view_range"`
	FileText   *string `json:"file_text"`
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"`
	InsertLine *int    `json:"insert_line"`
	InsertText *string `json:"insert_text"`
	OldPath    string  `json:"old_path"`
	NewPath    string  `json:"new_path"`
}

// check refuses a call that lacks a parameter of its command. Without new_str, str_replace deletes if deletes is set.
func (in *input) check(deletes bool) error {
	in.InsertText = cmp.Or(in.InsertText, in.NewStr) // its name in older editors
	if deletes {
		in.NewStr = cmp.Or(in.NewStr, new(string))
	}
	for _, p := range []struct {
		command, name string
		missing       bool
	}{
		{"create", "file_text", in.FileText == nil},
		{"str_replace", "old_str", in.OldStr == nil},
		{"str_replace", "new_str", in.NewStr == nil},
		{"insert", "insert_line", in.InsertLine == nil},
		{"insert", "insert_text", in.InsertText == nil},
	} {
		if p.missing && p.command == in.Command {
			return tool.Errorf(tool.InvalidArgument, "Parameter `%s` is required for command: %s", p.name, p.command).
				Suggest("Repeat the call with it. An empty text has to be given too.")
		}
	}
	return nil
}

const maxView = 1 << 20 // bytes

func runEditor(ctx context.Context, deps hands.Deps, _ *tool.Call, in input) (o *hands.Outcome, err error) {
	if err := in.check(true); err != nil {
		return nil, err
	}
	ws := deps.Workspace
	switch in.Command {
	case "view":
		return in.view(ctx, ws)
	case "create":
		o, created, err := hands.Write(ctx, ws, in.Path, *in.FileText)
		if err != nil {
			return nil, edited(in.Path, err)
		}
		o.Text = "Successfully created file " + in.Path
		if !created {
			o.Text = "Successfully overwrote file " + in.Path
		}
		return o, nil
	case "str_replace", "insert":
		if o, err = hands.Change(ctx, ws, in.Path, in.change); err != nil {
			return nil, edited(in.Path, err)
		}
		o.Text = "Successfully replaced text at exactly one location."
		if in.Command == "insert" {
			o.Text = fmt.Sprintf("Successfully inserted text after line %d.", *in.InsertLine)
		}
		return o, nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "Error: Unknown command: %s", in.Command).
		Suggest("The commands are view, create, str_replace and insert.")
}

func planEditor(ctx context.Context, deps hands.Deps, in input) (*tool.Plan, error) {
	if err := in.check(true); err != nil {
		return nil, err
	}
	switch in.Command {
	case "create":
		return hands.PlanWrite(ctx, deps.Workspace, in.Path, *in.FileText)
	case "str_replace", "insert":
		return hands.PlanChange(ctx, deps.Workspace, in.Path, in.change)
	}
	return &tool.Plan{}, nil
}

// change applies str_replace or insert to a text.
func (in input) change(text *textedit.Text) error {
	if in.Command == "insert" {
		return in.insert(text, *in.InsertText)
	}
	missing := tool.Errorf(tool.NoMatch, "Error: No match found for replacement. Please check your text and try again.")
	_, err := hands.Replace(text, *in.OldStr, *in.NewStr, false, missing.With("said", true), func(lines []int) error {
		return tool.Errorf(tool.NotUnique, "Error: Found %d matches for replacement text. Please provide more context "+
			"to make a unique match.", len(lines)).Suggest("They begin in the lines %s.", listed(lines)).With("said", true)
	})
	return err
}

// insert adds what after insert_line.
func (in input) insert(text *textedit.Text, what string) error {
	line := *in.InsertLine
	if all, _ := text.Lines(); line < 0 || line > len(all) {
		return tool.Errorf(tool.InvalidArgument,
			"Invalid `insert_line` parameter: %d. It should be within the range [0, %d].", line, len(all))
	}
	return text.Insert(line, what)
}

func edited(name string, err error) error {
	e := tool.AsError(err)
	switch {
	case e.Details["said"] != nil:
		return err
	case e.Code == tool.NotFound:
		return tool.Errorf(e.Code, "Error: File not found").Suggest("There is no %s.", name).With("path", name)
	case e.Code == tool.PermissionDenied || e.Code == tool.Blocked:
		return tool.Errorf(e.Code, "Error: Permission denied. Cannot write to file.").
			Suggest("%s. %s", e.Message, e.Suggestion).With("path", name)
	}
	return tool.Errorf(e.Code, "Error: %s", e.Message).Suggest("%s", e.Suggestion).With("path", name)
}

// view shows a file with line numbers, an image, or a directory two levels deep.
func (in input) view(ctx context.Context, ws *workspace.Workspace) (*hands.Outcome, error) {
	info, err := ws.Stat(in.Path)
	if err != nil {
		return nil, edited(in.Path, err)
	}
	if info.IsDir() {
		list, err := levels(ctx, ws, in.Path, in.Path, func(string, fs.FileInfo) string { return "" })
		if err != nil {
			return nil, edited(in.Path, err)
		}
		return hands.Say(strings.Join(list, "\n")), nil
	}
	if image, err := hands.Image(ws, in.Path); err != nil || image != nil {
		return image, err
	}
	f, err := ws.Open(in.Path)
	if err != nil {
		return nil, edited(in.Path, err)
	}
	defer f.Close()
	return in.lines(ctx, f)
}

// lines shows the requested lines of a file, maxView bytes at most.
func (in input) lines(ctx context.Context, file io.Reader) (*hands.Outcome, error) {
	first, last := 1, -1
	if len(in.Range) == 2 {
		first, last = in.Range[0], in.Range[1]
	} else if len(in.Range) != 0 {
		return nil, tool.Errorf(tool.InvalidArgument, "Error: view_range must be [start_line, end_line]")
	}
	_, whole, err := lines.Open(file)
	if err != nil {
		return nil, edited(in.Path, err)
	}
	var text strings.Builder
	total, next := 0, 0 // next is the first line that there is no room for
	err = lines.While(ctx, whole, maxView, func(l lines.Line) bool {
		total = l.Number
		if next == 0 && first > 0 && total >= first && (last < 0 || total <= last) {
			line := fmt.Sprintf("%d: %s\n", total, l.Shown(maxView))
			if text.Len() > 0 && text.Len()+len(line) > maxView {
				next = total
			} else {
				text.WriteString(line)
			}
		}
		return total != last || text.Len() == 0
	})
	total = max(total, 1)
	switch {
	case err != nil:
		return nil, edited(in.Path, err)
	case first < 1 || first > total || last != -1 && last < first:
		return nil, tool.Errorf(tool.InvalidArgument, "Error: Invalid view_range [%d, %d]: the file has %d lines",
			first, last, total).Suggest("Lines count from 1, and an end of -1 is the last line.")
	case text.Len() == 0:
		return hands.Say("1: "), nil
	}
	out := hands.Say(strings.TrimSuffix(text.String(), "\n"))
	if next > 0 {
		out.Text += fmt.Sprintf("\n[%d more lines follow; continue with view_range [%d, %d]]", total-next+1, next, last)
		out.Truncated = true
	}
	return out, nil
}

// levels lists a directory two levels deep, without hidden names and node_modules. margin precedes
// each entry.
func levels(
	ctx context.Context, ws *workspace.Workspace, dir, shown string, margin func(string, fs.FileInfo) string,
) ([]string, error) {
	var list []string
	var add func(dir, shown string, depth int) error
	add = func(dir, shown string, depth int) error {
		entries, err := ws.WithContext(ctx).ReadDir(dir)
		if err != nil {
			return err
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
				continue
			}
			name := strings.TrimSuffix(shown, "/") + "/" + e.Name()
			if !e.IsDir() {
				list = append(list, margin(name, info)+name)
				continue
			}
			list = append(list, margin(name, info)+name+"/")
			if depth == 1 {
				if err := add(strings.TrimSuffix(dir, "/")+"/"+e.Name(), name, 2); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := add(dir, shown, 1)
	return list, err
}
