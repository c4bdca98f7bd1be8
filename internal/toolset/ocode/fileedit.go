package ocode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type fileEditParams struct {
	Path       string         `json:"path"`
	Old        string         `json:"old_text"`
	New        string         `json:"new_text"`
	Occurrence schema.Integer `json:"occurrence"`
}

// edit returns the edit and where its outcome will be.
func (p fileEditParams) edit() (fileedit.Edit, *textedit.Replacement, error) {
	if p.Occurrence < 0 {
		return fileedit.Edit{}, nil,
			invalid("Occurrences count from 1; 0 is all.", "Invalid occurrence: %d", p.Occurrence)
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
		Outcome: kit.Outcome{Files: done.Files()},
		output:  fmt.Sprintf("Replaced %s in %s, %s", textedit.Occurrences(r.Count), p.Path, textedit.AtLines(r.Lines)),
		metadata: facts{"replacements": r.Count, "occurrences": r.Total, "lines": r.Lines,
			"diff": lines.Shown([]byte(done.ShownDiff()))},
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
		return tool.Errorf(e.Code, "Nothing to change in %s: %s", p.Path,
			strings.TrimPrefix(e.Message, "nothing would change: ")).
			Suggest("%s", e.Suggestion).With("path", p.Path)
	}
	return pathError(err, p.Path)
}

// notFound distinguishes missing text from text that occurs less often.
func (p fileEditParams) notFound(err error, e *tool.Error) error {
	miss := tool.Errorf(e.Code, "Text not found in %s", p.Path).Suggest("%s", e.Suggestion).With("path", p.Path)
	var match *textedit.MatchError
	if !errors.As(err, &match) {
		return miss
	}
	if n := len(match.Lines); n > 0 {
		return tool.Errorf(tool.NoMatch, "Occurrence %d not found in %s: the text occurs %s", p.Occurrence, p.Path,
			times(n)).
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
