package clemini

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const maxSuggestions = 10

type editInput struct {
	Path   string  `json:"file_path"`
	Old    *string `json:"old_string"`
	New    string  `json:"new_string"`
	All    bool    `json:"replace_all"`
	Create bool    `json:"create_if_not_exists"`
}

type editResult struct {
	Success      bool `json:"success"`
	Replacements int  `json:"replacements"`
	Size         int  `json:"file_size"`
	Created      bool `json:"created,omitempty"`
}

func runEdit(ctx context.Context, deps Deps, _ *tool.Call, in editInput) (*outcome, error) {
	o, count, err := in.do(deps, func(e fileedit.Edit) (*fileedit.Outcome, error) {
		return fileedit.Apply(ctx, deps.Workspace, e)
	})
	if err != nil {
		return nil, err
	}
	return &outcome{data: editResult{Success: true, Replacements: count, Size: len(o.New), Created: o.Created},
		Outcome: kit.Outcome{Files: o.Files()}}, nil
}

func planEdit(ctx context.Context, deps Deps, in editInput) (*tool.Plan, error) {
	o, _, err := in.do(deps, func(e fileedit.Edit) (*fileedit.Outcome, error) {
		return fileedit.Preview(ctx, deps.Workspace, e)
	})
	if err != nil {
		return nil, err
	}
	return o.Plan(), nil
}

// do makes or previews the edit, and returns the number of occurrences.
func (in editInput) do(deps Deps, do func(fileedit.Edit) (*fileedit.Outcome, error)) (*fileedit.Outcome, int, error) {
	_, err := deps.Workspace.Stat(in.Path)
	missing := tool.CodeOf(err) == tool.NotFound
	if missing && in.Create {
		o, err := do(fileedit.Edit{Path: in.Path, Create: true,
			Change: func([]byte) ([]byte, error) { return []byte(in.New), nil }})
		return o, 0, writeError(err, in.Path)
	}
	switch {
	case err != nil && in.Create:
		return nil, 0, writeError(err, in.Path)
	case err != nil:
		return nil, 0, pathError(err, in.Path, findFile+" With create_if_not_exists it is created.")
	case in.Old == nil || *in.Old == "":
		return nil, 0, in.nothingToReplace()
	}
	count := 0
	o, err := do(fileedit.Edit{Path: in.Path, Change: func(old []byte) ([]byte, error) {
		replaced, err := textedit.Replace(old, *in.Old, in.New, in.options())
		if err != nil {
			return nil, in.explain(old, err)
		}
		count = replaced.Count
		return replaced.Data, nil
	}})
	return o, count, in.inContract(err)
}

func (in editInput) nothingToReplace() error {
	e := tool.Errorf(tool.InvalidArgument, "old_string is missing").With("path", in.Path)
	if in.Old != nil {
		e.Message = "old_string is empty"
	}
	if in.Create {
		return e.Suggest("%s exists already, so give the exact text to replace in it, or write all of it with write_file.",
			in.Path)
	}
	return e.Suggest("Give the exact text to replace; it can be left out only if create_if_not_exists creates the file.")
}

func (in editInput) options() textedit.ReplaceOptions {
	if in.All {
		return textedit.ReplaceOptions{Which: textedit.All}
	}
	return textedit.ReplaceOptions{Which: textedit.Exactly, N: 1}
}

// inContract passes on errors that explain made.
func (in editInput) inContract(err error) error {
	var own *failure
	if err == nil || errors.As(err, &own) {
		return err
	}
	switch tool.CodeOf(err) {
	case tool.BinaryFile:
		return tool.Errorf(tool.BinaryFile, "Binary file: %s", in.Path).Suggest("Only text files can be edited.").
			With("path", in.Path)
	case tool.TooLarge:
		return tool.Errorf(tool.TooLarge, "%w", err).
			Suggest("Change a file of this size with a program, such as sed -i, by bash.").With("path", in.Path)
	}
	return writeError(err, in.Path)
}

// explain words a miss as the contract does, with the file's similar lines.
func (in editInput) explain(data []byte, err error) error {
	var miss *textedit.MatchError
	if !errors.As(err, &miss) {
		return err
	}
	switch miss.Code {
	case tool.NotUnique:
		e := tool.Errorf(tool.NotUnique, "String matches %d locations. Provide more context.", miss.Count).
			Suggest("Take more of the lines around the one that is meant into old_string, or set replace_all.").
			With("path", in.Path).With("lines", textedit.FirstLines(miss.Lines))
		return coded(codeNotUnique, e).with("suggestions", textsAt(data, miss.Lines))
	case tool.NoMatch:
		suggestions, places := []string{}, []map[string]any{}
		for _, near := range miss.Nearest {
			suggestions = append(suggestions, near.Text)
			places = append(places, map[string]any{"line": near.Line, "visible": near.Visible,
				"whitespace_only": near.WhitespaceOnly})
		}
		e := tool.Errorf(tool.NoMatch, "String not found in file").
			Suggest("%s", textedit.MissSuggestion(miss.Nearest)).With("path", in.Path).With("nearest", places)
		return coded(codeNotFound, e).with("suggestions", suggestions)
	}
	return tool.AsError(err).With("path", in.Path)
}

func linesOf(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

func textsAt(data []byte, numbers []int) []string {
	text, err := textedit.Decode(data)
	if err != nil {
		return []string{}
	}
	lines := linesOf(text.String())
	found := []string{}
	for _, n := range numbers[:min(len(numbers), maxSuggestions)] {
		if n >= 1 && n <= len(lines) {
			found = append(found, truncate.Shorten(strings.TrimSpace(lines[n-1]), 500))
		}
	}
	return found
}
