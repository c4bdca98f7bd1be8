package cliagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type replaceParams struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
}

type replaceMetadata struct {
	Found        int   `json:"occurrences_found"`
	Replaced     int   `json:"occurrences_replaced"`
	LinesChanged []int `json:"lines_changed"`
}

// edit returns the edit and where its outcome will be.
func (p replaceParams) edit() (fileedit.Edit, *textedit.Replacement) {
	var r textedit.Replacement
	return fileedit.Edit{Path: p.Path, Change: func(old []byte) ([]byte, error) {
		done, err := textedit.Replace(old, p.Old, p.New, textedit.ReplaceOptions{Which: textedit.First})
		if err != nil {
			return nil, p.missOrNoChange(old, err)
		}
		r = *done
		return done.Data, nil
	}}, &r
}

// missOrNoChange reports a missing string as missing even if its replacement is the same.
func (p replaceParams) missOrNoChange(old []byte, err error) error {
	if errors.Is(err, &tool.Error{Code: tool.NoChange}) {
		if n, _ := textedit.Count(old, p.Old); n == 0 {
			_, err = textedit.Replace(old, p.Old, p.New+p.Old, textedit.ReplaceOptions{})
		}
	}
	return err
}

func runReplace(ctx context.Context, deps Deps, _ *tool.Call, p replaceParams) (*outcome, error) {
	edit, r := p.edit()
	done, err := fileedit.Apply(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(err)
	}
	o := &outcome{
		Outcome:  kit.Outcome{Files: done.Files()},
		output:   fmt.Sprintf("Replaced 1 occurrence in %s", p.Path),
		metadata: replaceMetadata{r.Total, r.Count, p.linesFrom(r.Lines[0])},
	}
	if r.Total > 1 {
		o.output += fmt.Sprintf("\nWarning: Found %d occurrences, replaced only the first at line %d", r.Total,
			r.Lines[0])
	}
	return o, nil
}

func planReplace(ctx context.Context, deps Deps, p replaceParams) (*tool.Plan, error) {
	edit, _ := p.edit()
	preview, err := fileedit.Preview(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(err)
	}
	return preview.Plan(), nil
}

// linesFrom returns the lines that the replaced text was on.
func (p replaceParams) linesFrom(first int) []int {
	text := strings.ReplaceAll(p.Old, "\r\n", "\n")
	n := strings.Count(strings.TrimSuffix(text, "\n"), "\n")
	lines := make([]int, 0, n+1)
	for i := range n + 1 {
		lines = append(lines, first+i)
	}
	return lines
}

const shownBytes = 500

func (p replaceParams) failure(err error) error {
	e := tool.AsError(err)
	switch e.Code {
	case tool.NoMatch:
		return p.notFound(err, e)
	case tool.NoChange:
		return tool.Errorf(codeInvalidParameter,
			"Parameters old_string and new_string are the same, nothing would change").
			Suggest("%s", e.Suggestion)
	case tool.BinaryFile:
		return tool.Errorf(codeInvalidParameter, "File '%s' appears to be binary, its text cannot be replaced", p.Path).
			Suggest("Name a text file.").With("path", p.Path)
	}
	return pathError(err, p.Path, texts{
		missing: fmt.Sprintf("File '%s' not found", p.Path),
		denied:  fmt.Sprintf("Cannot modify file '%s' - permission denied", p.Path),
		find:    findFile,
	})
}

func (p replaceParams) notFound(err error, e *tool.Error) error {
	shown := p.Old
	if len(shown) > shownBytes {
		shown = fmt.Sprintf("%s... (%d bytes)", truncate.Head(shown, shownBytes), len(p.Old))
	}
	miss := tool.Errorf(codeStringNotFound, "String '%s' not found in file", shown).Suggest("%s", e.Suggestion).
		With("path", p.Path)
	var match *textedit.MatchError
	if errors.As(err, &match) && len(match.Nearest) > 0 {
		return miss.Suggest("%s\n%s", e.Suggestion, textedit.Explain(match.Nearest)).With("nearest", match.Nearest)
	}
	return miss
}
