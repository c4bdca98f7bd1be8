package ocode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/textedit/fileedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

type fileEditParams struct {
	Path       string         `json:"path"`
	Old        string         `json:"old_text"`
	New        string         `json:"new_text"`
	Occurrence schema.Integer `json:"occurrence"`
}

func fileEdit(deps Deps) tool.Tool {
	return newTool(deps, spec[fileEditParams]{
		Definition: tool.Definition{
			Name:  "file_edit",
			Title: "Edit a file",
			Description: "Replaces old_text by new_text in a text file: every occurrence, or the one that occurrence counts from 1. " +
				"Both are plain text: nothing in them is a pattern or a reference. Line endings, encoding and file mode stay as they are. " +
				"Returns: what was replaced, and in metadata replacements, occurrences, lines and diff.",
			Category:    "file_operations",
			Risk:        tool.Dangerous,
			Permissions: []tool.Permission{tool.FileRead, tool.FileWrite},
			Examples: []tool.Example{
				{Description: "Everywhere in the file", Params: json.RawMessage(`{"path":"main.py","old_text":"old_name","new_text":"new_name"}`)},
				{Description: "The second one", Params: json.RawMessage(`{"path":"main.py","old_text":"x = 1","new_text":"x = 2","occurrence":2}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "path", Type: "string", Required: true, Description: "The file, relative to the workspace."},
			{Name: "old_text", Type: "string", Required: true, Description: "The exact text to replace, whitespace included."},
			{Name: "new_text", Type: "string", Required: true, Description: "The text to put in its place; empty to remove it."},
			{Name: "occurrence", Type: "integer", Default: 0, Description: "Which occurrence to replace, counted from 1; 0 is all."},
		},
		facts: `"replacements":{"type":"integer","description":"How many occurrences were replaced."},` +
			`"occurrences":{"type":"integer","description":"How many there were."},` +
			`"lines":{"type":"array","items":{"type":"integer"},"description":"The lines on which the replaced ones began."},` +
			`"diff":{"type":"string","description":"The change as a unified diff, of a very long one the beginning."}`,
		aliases: aliases{
			{"file_path", "path", nil},
			{"search_pattern", "old_text", nil}, {"old_string", "old_text", nil},
			{"replacement", "new_text", nil}, {"new_string", "new_text", nil},
		},
		run:  runFileEdit,
		plan: planFileEdit,
	})
}

// edit gives the edit and where its outcome will be found.
func (p fileEditParams) edit() (fileedit.Edit, *textedit.Replacement, error) {
	if p.Occurrence < 0 {
		return fileedit.Edit{}, nil, invalid("Occurrences count from 1; 0 is all.", "Invalid occurrence: %d", p.Occurrence)
	}
	options := textedit.ReplaceOptions{Which: textedit.All}
	if p.Occurrence > 0 {
		options = textedit.ReplaceOptions{Which: textedit.Nth, N: int(p.Occurrence)}
	}
	var r textedit.Replacement
	return fileedit.Edit{Path: p.Path, Change: func(old []byte) ([]byte, error) {
		done, err := textedit.Replace(old, p.Old, p.New, options)
		if err != nil {
			return nil, err
		}
		r = *done
		return done.Data, nil
	}}, &r, nil
}

func runFileEdit(ctx context.Context, deps Deps, _ *tool.Call, p fileEditParams) (*outcome, error) {
	edit, r, err := p.edit()
	if err != nil {
		return nil, err
	}
	done, err := fileedit.Apply(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(err)
	}
	return &outcome{
		output:   fmt.Sprintf("Replaced %s in %s, %s", textedit.Occurrences(r.Count), p.Path, textedit.AtLines(r.Lines)),
		files:    done.Files(),
		metadata: facts{"replacements": r.Count, "occurrences": r.Total, "lines": r.Lines, "diff": contract.Shown([]byte(done.ShownDiff()))},
	}, nil
}

func planFileEdit(ctx context.Context, deps Deps, p fileEditParams) (*tool.Plan, error) {
	edit, _, err := p.edit()
	if err != nil {
		return nil, err
	}
	preview, err := fileedit.Preview(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(err)
	}
	return preview.Plan(), nil
}

func (p fileEditParams) failure(err error) error {
	e := tool.AsError(err)
	switch e.Code {
	case tool.NoMatch, tool.NotUnique:
		return p.notFound(err, e)
	case tool.NoChange:
		return tool.Errorf(e.Code, "Nothing to change in %s: %s", p.Path, strings.TrimPrefix(e.Message, "nothing would change: ")).
			Suggest("%s", e.Suggestion).With("path", p.Path)
	}
	return pathError(err, p.Path)
}

// notFound tells a text that is not there from one that is there less often.
func (p fileEditParams) notFound(err error, e *tool.Error) error {
	miss := tool.Errorf(e.Code, "Text not found in %s", p.Path).Suggest("%s", e.Suggestion).With("path", p.Path)
	var match *textedit.MatchError
	if !errors.As(err, &match) {
		return miss
	}
	if n := len(match.Lines); n > 0 {
		return tool.Errorf(tool.NoMatch, "Occurrence %d not found in %s: the text occurs %s", p.Occurrence, p.Path, times(n)).
			Suggest("Give an occurrence from 1 to %d, or 0 for all.", n).With("lines", textedit.FirstLines(match.Lines))
	}
	if len(match.Nearest) > 0 {
		miss = miss.Suggest("%s\n%s", e.Suggestion, textedit.Explain(match.Nearest)).With("nearest", match.Nearest)
	}
	return miss
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
