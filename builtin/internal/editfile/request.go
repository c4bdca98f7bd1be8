package editfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
)

// The contract's codes for texts.
const (
	noOccurrence = "EDIT_NO_OCCURRENCE_FOUND"
	mismatch     = "EDIT_EXPECTED_OCCURRENCE_MISMATCH"
	noChange     = "EDIT_NO_CHANGE"
)

type pair struct {
	old, new string
	// note is added to the message if this reading is used.
	note string
}

type request struct {
	Path                 string `json:"path"`
	OldStr               string `json:"old_str"`
	NewStr               string `json:"new_str"`
	ExpectedReplacements *int   `json:"expected_replacements"`

	readings []pair

	// replaced and note are the result of change.
	replaced int
	note     string
}

// request reads the parameters and checks what does not need the file.
func (e *editor) request(call *tool.Call) (*request, error) {
	r := &request{}
	if err := call.Decode(r); err != nil {
		return nil, err
	}
	r.readings = readings(e.unescape, r.OldStr, r.NewStr)
	switch {
	case r.Path == "":
		return nil, fileedit.Coded(fileedit.InvalidPath, tool.InvalidArgument, "", "the path is empty").
			Suggest("Name the file, relative to the workspace.")
	case r.OldStr == r.NewStr && r.OldStr != "":
		return nil, r.unchanged()
	case r.ExpectedReplacements != nil && *r.ExpectedReplacements < 1:
		return nil, fileedit.Coded(mismatch, tool.InvalidArgument, r.Path, "expected_replacements is %d",
			*r.ExpectedReplacements).
			Suggest("Give the number of occurrences to replace, 1 or more, or leave it out for one.")
	}
	return r, nil
}

func (r *request) unchanged() error {
	e := fileedit.Coded(noChange, tool.NoChange, r.Path, "old_str and new_str are the same, nothing would change")
	if r.OldStr != r.NewStr {
		return e.Suggest("Both are read as Go string literals: write a backslash that is meant as one twice.")
	}
	return e.Suggest("Give a new_str that differs from old_str.")
}

// readings returns how the strings may be meant, the preferred reading first.
func readings(mode, old, new string) []pair {
	raw := pair{old: old, new: new}
	plain := pair{old: unescape(old), new: unescape(new)}
	if mode == Never || plain == raw {
		return []pair{raw}
	}
	if mode == Fallback {
		plain.note = " The strings were unescaped as Go string literals, since old_str does not occur as given."
		return []pair{raw, plain}
	}
	raw.note = " The strings were taken as given, since old_str does not occur when it is unescaped as a Go string literal."
	return []pair{plain, raw}
}

// unescape reads s as the inside of a Go string literal; anything else is unchanged.
func unescape(s string) string {
	if plain, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return plain
	}
	return s
}

func (r *request) edit() fileedit.Edit {
	if r.OldStr == "" {
		return fileedit.Edit{Path: r.Path, Create: true, Change: func([]byte) ([]byte, error) {
			r.replaced = 1
			return []byte(r.readings[0].new), nil
		}}
	}
	return fileedit.Edit{Path: r.Path, Change: r.change}
}

func (r *request) message() string {
	if r.OldStr == "" {
		return fmt.Sprintf("Created new file: %s with provided content.", r.Path)
	}
	return fmt.Sprintf("Successfully modified file: %s (%d replacement(s)).%s", r.Path, r.replaced, r.note)
}

func (r *request) change(data []byte) ([]byte, error) {
	text, err := textedit.Decode(data)
	if err != nil {
		return nil, err
	}
	p, err := r.choose(text)
	if err != nil {
		return nil, err
	}
	want := 1
	if r.ExpectedReplacements != nil {
		want = *r.ExpectedReplacements
	}
	done, err := text.Replace(p.old, p.new, textedit.ReplaceOptions{Which: textedit.Exactly, N: want})
	if err != nil {
		return nil, r.failure(err)
	}
	r.replaced, r.note = done.Count, p.note
	return text.Encode(), nil
}

// choose returns the first reading whose old text occurs, else the first that occurs with
// normalized line endings; else the first, for its error.
func (r *request) choose(text *textedit.Text) (pair, error) {
	chosen := r.readings[0]
	alike := func(p pair) bool { n, _ := text.Count(p.old); return n > 0 }
	literal := func(p pair) bool { return text.Literal(p.old) }
	if i := slices.IndexFunc(r.readings, literal); i >= 0 {
		chosen = r.readings[i]
	} else if i := slices.IndexFunc(r.readings, alike); i >= 0 {
		chosen = r.readings[i]
	}
	if chosen.old == chosen.new {
		return pair{}, r.unchanged()
	}
	return chosen, nil
}

// failure words an error of the edit engine as the contract does.
func (r *request) failure(err error) error {
	var m *textedit.MatchError
	if !errors.As(err, &m) {
		return err
	}
	switch m.Code {
	case tool.NoMatch:
		return r.missed(m)
	case tool.NotUnique:
		return fileedit.Coded(mismatch, m.Code, r.Path, "expected %s of old_str but found %d, at %s",
			textedit.Occurrences(m.Want), m.Count, textedit.AtLines(m.Lines)).
			Suggest("Include more of the surrounding lines in old_str, or set expected_replacements to %d to replace all.", m.Count).
			With("count", m.Count).With("lines", textedit.FirstLines(m.Lines))
	case tool.NoChange:
		return fileedit.Coded(noChange, m.Code, r.Path, "the file already reads like new_str there").
			Suggest("Give a new_str that differs from what is in the file in more than line endings.")
	}
	return err
}

func (r *request) missed(m *textedit.MatchError) error {
	e := fileedit.Coded(noOccurrence, m.Code, r.Path, "old_str does not occur in the file")
	if len(m.Nearest) > 0 {
		e.Message += "\n" + textedit.Explain(m.Nearest)
		e.With("nearest", m.Nearest)
	}
	return e.Suggest("%s", textedit.MissSuggestion(m.Nearest))
}
