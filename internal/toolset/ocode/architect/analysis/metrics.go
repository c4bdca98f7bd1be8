package analysis

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

type metrics struct {
	Name        string        `json:"name"`
	Totals      Counts        `json:"totals"`
	Languages   []Language    `json:"languages"`
	Directories []measuredDir `json:"directories"`
	Largest     []File        `json:"largest_files"`
	Complex     []File        `json:"most_complex_files"`
	// CommentPercent is the share of comments in non-blank lines.
	CommentPercent float64 `json:"comment_percent"`
	// TestPercent is the share of tests in the lines of code.
	TestPercent float64  `json:"test_percent"`
	Warnings    []string `json:"warnings"`
}

type measuredDir struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Counts
}

func (p *Project) metrics(depth int) *metrics {
	m := &metrics{Name: p.Name, Totals: p.totals(), Languages: p.languages(),
		Warnings: append([]string{}, p.Warnings...)}
	var own []File
	dirs := make(map[string]*measuredDir)
	var tests, code int64
	for i := range p.Files {
		f := p.Files[i]
		if f.Vendored || f.Generated || !f.programming() {
			continue
		}
		own = append(own, f)
		code += f.Code
		if f.Test {
			tests += f.Code
		}
		dir := upTo(path.Dir(f.Path), depth)
		if dirs[dir] == nil {
			dirs[dir] = &measuredDir{Path: dir}
		}
		dirs[dir].Files++
		dirs[dir].add(f.Counts)
	}
	m.CommentPercent = percent(m.Totals.Comments, m.Totals.Comments+m.Totals.Code)
	m.TestPercent = percent(tests, code)
	m.Directories = make([]measuredDir, 0, len(dirs))
	for _, name := range names(dirs) {
		m.Directories = append(m.Directories, *dirs[name])
	}
	m.Directories, _ = cut(m.Directories)
	m.Largest = top(own, func(f File) int64 { return f.Code })
	m.Complex = top(own, func(f File) int64 { return f.Complexity })
	return m
}

// top returns up to 10 files with the highest measure above 0.
func top(files []File, measure func(File) int64) []File {
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool { return measure(f) == 0 })
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(measure(b), measure(a)) })
	return orEmpty(first(files, 10))
}

func (m *metrics) text(w *page) {
	w.title("%s: %s (%d of code, %d of comments, %d blank), complexity %d", m.Name,
		plural(m.Totals.Lines, "line", "lines"), m.Totals.Code, m.Totals.Comments, m.Totals.Blanks, m.Totals.Complexity)
	w.line("Comments: %.1f%% of the lines that are not blank. Tests: %.1f%% of the code.", m.CommentPercent,
		m.TestPercent)
	w.title("%-24s %8s %10s %10s %10s %10s", "Language", "Files", "Code", "Comments", "Blanks", "Complexity")
	for _, l := range first(m.Languages, maxListed) {
		w.line("%-24s %8d %10d %10d %10d %10d", l.Name, l.Files, l.Code, l.Comments, l.Blanks, l.Complexity)
	}
	w.rest(len(m.Languages), maxListed)
	w.title("%-48s %8s %10s %10s", "Directory", "Files", "Code", "Complexity")
	for _, d := range first(m.Directories, maxListed) {
		w.line("%-48s %8d %10d %10d", d.Path, d.Files, d.Code, d.Complexity)
	}
	w.rest(len(m.Directories), maxListed)
	w.title("Largest files")
	for _, f := range m.Largest {
		w.line("  %6d  %s", f.Code, f.Path)
	}
	w.title("Most complex files")
	for _, f := range m.Complex {
		w.line("  %6d  %s", f.Complexity, f.Path)
	}
	for _, warning := range m.Warnings {
		w.line("Note: %s.", warning)
	}
}

func (m *metrics) mermaid() string {
	w := new(page)
	w.line("pie showData")
	w.line("    title Lines of code by language")
	others := int64(0)
	for i, l := range m.Languages {
		switch {
		case l.Code == 0:
		case i >= 12:
			others += l.Code
		default:
			w.line("    %s : %d", pieLabel(l.Name), l.Code)
		}
	}
	if others > 0 {
		w.line("    %s : %d", pieLabel("others"), others)
	}
	return w.String()
}

// pieLabel quotes a label of a pie chart. Language names hold no quote.
func pieLabel(name string) string { return fmt.Sprintf("%q", name) }
