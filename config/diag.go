package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// maxDiagnostics bounds what is reported of one file.
const maxDiagnostics = 100

// Bounds on the quoted source of a diagnostic.
const (
	maxQuoted     = 2000     // bytes of lines
	maxQuotedFile = 64 << 10 // bytes of a file in which every diagnostic is quoted
)

// Diagnostics are mistakes, in the order of their places in a file.
type Diagnostics []Diagnostic

// Diagnostic is one mistake.
type Diagnostic struct {
	// Severity is "error" or "warning". Only errors keep the file from being used.
	Severity string `json:"severity"`
	// File, Line and Column are the place, counted from 1; 0 without one.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// EndLine and EndColumn are the place after the last character.
	EndLine   int `json:"end_line"`
	EndColumn int `json:"end_column"`
	// Snippet are the source lines from Line to EndLine; empty if they are very long.
	Snippet string `json:"snippet,omitempty"`
	// Summary names the mistake, Detail explains it, Suggestion is what to do.
	Summary    string `json:"summary"`
	Detail     string `json:"detail"`
	Suggestion string `json:"suggestion,omitempty"`

	diag *hcl.Diagnostic
	file *hcl.File
}

type note struct {
	suggestion string // the end of Detail that says what to do
}

func noteOf(diag *hcl.Diagnostic) note {
	if n, ok := diag.Extra.(*note); ok {
		return *n
	}
	return note{}
}

// HasErrors reports whether a mistake keeps the file from being used.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(d Diagnostic) bool { return d.Severity == "error" })
}

// Write writes the diagnostics for users, with source lines, and in colour if color is set.
func (d Diagnostics) Write(w io.Writer, color bool) error {
	for i, one := range d {
		var files map[string]*hcl.File
		if one.quotable(i) && one.file != nil {
			shown := *one.file
			shown.Bytes = harmless(shown.Bytes)
			files = map[string]*hcl.File{one.File: &shown}
		}
		said := *one.diag
		said.Summary, said.Detail = show.Text(said.Summary), show.Text(said.Detail)
		var text bytes.Buffer
		if err := hcl.NewDiagnosticTextWriter(&text, files, 0, color).WriteDiagnostic(&said); err != nil {
			return err
		}
		place := fmt.Appendf(nil, "  on %s line %d", one.File, one.Line)
		withColumn := bytes.Replace(text.Bytes(), place, fmt.Appendf(nil, "  on %s:%d:%d", one.File, one.Line, one.Column), 1)
		if _, err := w.Write(withColumn); err != nil {
			return err
		}
	}
	return nil
}

// harmless replaces what could move a cursor or hide text by marks of the same length.
func harmless(source []byte) []byte {
	if text := string(source); show.Output(text) == text {
		return source
	}
	marks := map[int]string{1: "?", 2: "\u00bf", 3: "\ufffd", 4: "\ufffd?"}
	made := make([]byte, 0, len(source))
	for len(source) > 0 {
		r, size := utf8.DecodeRune(source)
		c := string(source[:size])
		byteOfText := r == utf8.RuneError && size == 1 && source[0] >= 0xa0 // a letter in another encoding
		if r != '\r' && !byteOfText && show.Text(c) != c {
			made = append(made, marks[size]...)
		} else {
			made = append(made, c...)
		}
		source = source[size:]
	}
	return made
}

// QuotedFrom removes the source from diagnostics if the file is a link to elsewhere, which may not be a
// configuration.
func (d Diagnostics) QuotedFrom(path string) Diagnostics {
	if realpath.Within(path, filepath.Dir(path)) {
		return d
	}
	for i := range d {
		d[i].Snippet = ""
	}
	return d
}

// quotable reports whether the source of the i-th diagnostic is shown: never a very long line, and in a large
// file, which the writer reads from its start for each, only a few.
func (d Diagnostic) quotable(i int) bool {
	if d.file == nil || d.diag.Subject == nil {
		return true
	}
	return d.Snippet != "" && (len(d.file.Bytes) <= maxQuotedFile || i < 10)
}

func (d Diagnostic) snippet() string {
	if d.file == nil || d.diag.Subject == nil {
		return ""
	}
	src := d.file.Bytes
	start, end := min(d.diag.Subject.Start.Byte, len(src)), min(d.diag.Subject.End.Byte, len(src))
	start = bytes.LastIndexByte(src[:start], '\n') + 1
	if i := bytes.IndexByte(src[end:], '\n'); i >= 0 {
		end += i
	} else {
		end = len(src)
	}
	if start > end || end-start > maxQuoted {
		return ""
	}
	return string(src[start:end])
}

// WriteJSON writes the diagnostics as a JSON array, which may be empty.
func (d Diagnostics) WriteJSON(w io.Writer) error {
	if d == nil {
		d = Diagnostics{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// Err joins the errors, a line each; nil without errors.
func (d Diagnostics) Err() error {
	var lines []string
	for _, one := range d {
		if one.Severity == "error" {
			lines = append(lines, one.diag.Error())
		}
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Brief returns the errors in one line, with their places.
func (d Diagnostics) Brief() string {
	var all []string
	for _, one := range d {
		if one.Severity == "error" {
			all = append(all,
				fmt.Sprintf("%s:%d:%d: %s", one.File, one.Line, one.Column, strings.TrimSuffix(one.Detail, ".")))
		}
	}
	return strings.Join(all, "; ")
}

// Redacted returns the diagnostics with their texts passed through clean.
func (d Diagnostics) Redacted(clean func(string) string) Diagnostics {
	d = slices.Clone(d)
	for i := range d {
		d[i].Detail, d[i].Suggestion = clean(d[i].Detail), clean(d[i].Suggestion)
		whole := *d[i].diag
		whole.Detail = clean(whole.Detail)
		d[i].diag = &whole
	}
	return d
}

func diagnostic(diag *hcl.Diagnostic, file *hcl.File) Diagnostic {
	p := Diagnostic{Severity: "error", Summary: diag.Summary, Detail: diag.Detail, diag: diag, file: file}
	if diag.Severity == hcl.DiagWarning {
		p.Severity = "warning"
	}
	if diag.Subject != nil {
		p.File, p.Line, p.Column = diag.Subject.Filename, diag.Subject.Start.Line, diag.Subject.Start.Column
		p.EndLine, p.EndColumn = diag.Subject.End.Line, diag.Subject.End.Column
		p.Snippet = p.snippet()
	}
	if hint := noteOf(diag).suggestion; hint != "" {
		p.Suggestion = hint
		p.Detail = strings.TrimSuffix(strings.TrimSuffix(p.Detail, p.Suggestion), " ")
	} else if detail, rest, ok := strings.Cut(p.Detail, " Did you mean "); ok {
		p.Detail, p.Suggestion = detail, "Did you mean "+rest
	}
	return p
}

// finish sorts, bounds and cleans the diagnostics of a file.
func finish(list hcl.Diagnostics, file *hcl.File, secrets []string) Diagnostics {
	var done Diagnostics
	slices.SortStableFunc(list, byPlace)
	list = slices.CompactFunc(list, same)
	if left := len(list) - maxDiagnostics; left > 0 {
		last := *list[maxDiagnostics]
		last.Severity, last.Summary, last.Extra = hcl.DiagError, "Too many mistakes", nil
		last.Detail = fmt.Sprintf("%d more from here on are not shown.", left)
		list = append(list[:maxDiagnostics:maxDiagnostics], &last)
	}
	for _, diag := range list {
		reword(diag)
		// Otherwise the text writer would show the values of variables.
		diag.Expression, diag.EvalContext = nil, nil
		diag.Detail = redact.New(secrets).String(diag.Detail)
		if hint := noteOf(diag).suggestion; hint != "" {
			diag.Extra = &note{suggestion: redact.New(secrets).String(hint)}
		}
		done = append(done, diagnostic(diag, file))
	}
	return done
}

// reword replaces the library's wrong or missing suggestions.
func reword(diag *hcl.Diagnostic) {
	if unknown, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](diag); ok {
		name := unknown.CalledFunctionName()
		known := append(slices.Sorted(maps.Keys(pure())), "env")
		hint := didYouMean(name, known)
		if hint == "" {
			hint = "The functions are " + strings.Join(known, ", ") + "."
		}
		diag.Detail, diag.Extra = fmt.Sprintf("There is no function named %q. %s", name, hint), &note{suggestion: hint}
	}
	if kind, ok := strings.CutPrefix(diag.Summary, "Missing name for "); ok {
		hint := "Write " + kind + ` "NAME" { ... }.`
		diag.Detail, diag.Extra = fmt.Sprintf("A %s block has a name. %s", kind, hint), &note{suggestion: hint}
	}
}

func byPlace(a, b *hcl.Diagnostic) int {
	switch {
	case a.Subject == nil && b.Subject == nil:
		return 0
	case a.Subject == nil:
		return -1
	case b.Subject == nil:
		return 1
	}
	return a.Subject.Start.Byte - b.Subject.Start.Byte
}

func same(a, b *hcl.Diagnostic) bool {
	return a.Summary == b.Summary && a.Detail == b.Detail && a.Subject != nil && b.Subject != nil &&
		*a.Subject == *b.Subject
}
