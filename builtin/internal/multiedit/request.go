package multiedit

import (
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
)

// The contract's codes for edits.
const (
	noEdits      = "MULTI_EDIT_NO_EDITS"
	emptyOld     = "MULTI_EDIT_EMPTY_OLD_STRING"
	identical    = "EDIT_OLD_NEW_IDENTICAL"
	noOccurrence = "MULTI_EDIT_NO_OCCURRENCE_FOUND"
)

// shownOld limits what an error repeats of an old_string, in characters.
const shownOld = 300

type edit struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

type request struct {
	FilePath string `json:"file_path"`
	Edits    []edit `json:"edits"`

	replaced int
}

// readRequest reads the parameters and checks what does not need the file.
func readRequest(call *tool.Call) (*request, error) {
	r := &request{}
	if err := call.Decode(r); err != nil {
		return nil, err
	}
	if r.FilePath == "" {
		return nil, fileedit.Coded(fileedit.InvalidPath, tool.InvalidArgument, "", "the path is empty").
			Suggest("Name the file in file_path.")
	}
	if len(r.Edits) == 0 {
		return nil, fileedit.Coded(noEdits, tool.InvalidArgument, r.FilePath, "there are no edits").
			Suggest("Give at least one edit with old_string and new_string.")
	}
	for i, e := range r.Edits {
		if e.OldString == e.NewString {
			return nil, r.unchanged(i, "old_string and new_string are identical")
		}
		if e.OldString == "" && i > 0 {
			return nil, fileedit.Coded(emptyOld, tool.InvalidArgument, r.FilePath,
				"edit %d: old_string is empty, which only the first edit may have", i).
				Suggest("Give the text that edit %d replaces. Nothing was changed.", i).With("edit", i)
		}
	}
	return r, nil
}

func (r *request) unchanged(index int, why string) error {
	return fileedit.Coded(identical, tool.NoChange, r.FilePath, "edit %d: %s. Rolling back.", index, why).
		Suggest("Give edit %d a new_string that differs, or leave the edit out. Nothing was changed.",
			index).With("edit", index)
}

func (r *request) edit() fileedit.Edit {
	if r.Edits[0].OldString == "" {
		return fileedit.Edit{Path: r.FilePath, Create: true, Change: func([]byte) ([]byte, error) {
			r.replaced = 1
			return r.apply(textedit.FromString(r.Edits[0].NewString), 1)
		}}
	}
	return fileedit.Edit{Path: r.FilePath, Change: func(old []byte) ([]byte, error) {
		text, err := textedit.Decode(old)
		if err != nil {
			return nil, err
		}
		r.replaced = 0
		return r.apply(text, 0)
	}}
}

// apply makes the edits from the given index on.
func (r *request) apply(text *textedit.Text, from int) ([]byte, error) {
	for i := from; i < len(r.Edits); i++ {
		e := r.Edits[i]
		opts := textedit.ReplaceOptions{Which: textedit.First}
		if e.ReplaceAll {
			opts.Which = textedit.All
		}
		done, err := text.Replace(e.OldString, e.NewString, opts)
		if err != nil {
			return nil, r.failure(i, err)
		}
		r.replaced += done.Count
	}
	return text.Encode(), nil
}

func (r *request) message() string {
	return fmt.Sprintf("Successfully performed multi-edit on file: %s (%d total replacement(s)).", r.FilePath,
		r.replaced)
}

// failure words an error of the edit engine as the contract does.
func (r *request) failure(index int, err error) error {
	var m *textedit.MatchError
	if !errors.As(err, &m) {
		return err
	}
	switch m.Code {
	case tool.NoMatch:
		return r.missed(index, m)
	case tool.NoChange:
		return r.unchanged(index, "the file already reads like new_string there")
	}
	return fileedit.Coded(fileedit.FileWriteError, m.Code, r.FilePath, "edit %d: %s", index, m.Error()).
		Suggest("%s", tool.AsError(m).Suggestion).With("edit", index)
}

func (r *request) missed(index int, m *textedit.MatchError) error {
	e := fileedit.Named(noOccurrence, m.Code, r.FilePath, "edit %d (old_string: '%s') not found. Rolling back.",
		index, shorten(r.Edits[index].OldString)).With("edit", index)
	if len(m.Nearest) > 0 {
		e.Message += "\n" + textedit.Explain(m.Nearest)
		e.With("nearest", m.Nearest)
	}
	suggestion := textedit.MissSuggestion(m.Nearest) + " Nothing was changed."
	if index > 0 {
		suggestion += " The lines are those after the edits before this one."
	}
	return e.Suggest("%s", suggestion)
}

// shorten cuts a long text and says how much is left out.
func shorten(s string) string {
	runes := []rune(s)
	if len(runes) <= shownOld {
		return s
	}
	return fmt.Sprintf("%s... [%d more characters]", string(runes[:shownOld]), len(runes)-shownOld)
}
