package show_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/width"

	"github.com/toolhost/toolhost/internal/face/show"
)

// shape describes the lines of a renderer.
type shape struct {
	render func(s, other string, columns int) string
	// lines matches each line; nil if the caller's lines stay.
	lines *regexp.Regexp
	// oneLine: there is one line. decides: a decision depends on it, so right-to-left letters are
	// escaped.
	oneLine, decides bool
	// fits: no line exceeds the columns.
	fits bool
	// once are beginnings that at most one line has.
	once []string
}

var (
	barred   = regexp.MustCompile(`^[|:] `)
	question = regexp.MustCompile(`^(Tool: |Parameters:$|Files affected: |Risk level: |Command, word by ` +
		`word:$|Effect:$|Reason: |[|:] | +[|:] |  [^ ])`)
	labels = []string{"Tool: ", "Parameters:", "Files affected: ", "Risk level: ", "Command, word by word:",
		"Effect:", "Reason: "}
)

// renderers are all exported renderers by name: TestEveryRendererIsFuzzed fails for others.
var renderers = map[string]shape{
	"Text":   {render: func(s, _ string, _ int) string { return show.Text(s) }},
	"Output": {render: func(s, _ string, _ int) string { return show.Output(s) }},
	"Line":   {oneLine: true, decides: true, render: func(s, _ string, _ int) string { return show.Line(s) }},
	"Word":   {oneLine: true, decides: true, render: func(s, _ string, _ int) string { return show.Word(s) }},
	"Argv": {oneLine: true, decides: true,
		render: func(s, other string, _ int) string { return show.Argv([]string{s, other}) }},
	"Call": {oneLine: true, decides: true, render: func(s, other string, _ int) string {
		return show.Call(s, object(s, other)) + show.Call(s, json.RawMessage(other))
	}},
	"Fit": {oneLine: true, decides: true, fits: true,
		render: func(s, _ string, columns int) string { return show.Fit(show.Line(s), columns) }},
	"Block": {lines: barred, fits: true,
		render: func(s, _ string, columns int) string { return show.Block(s, columns) }},
	"Prose": {lines: barred, fits: true,
		render: func(s, _ string, columns int) string { return show.Prose(s, columns) }},
	"Note": {lines: barred, fits: true, render: func(s, _ string, columns int) string {
		first, rest, _ := strings.Cut(show.Note(s, 2, columns), "\n")
		return ": " + first + "\n" + rest // the caller's mark
	}},
	"Sanitize": {render: func(s, other string, n int) string { return show.Sanitize(s, n) + show.Sanitize(other, 10*n) }},
	"SanitizeLine": {oneLine: true,
		render: func(s, other string, n int) string { return show.SanitizeLine(s, n) + show.SanitizeLine(other, 10*n) }},
	"Headline": {oneLine: true, decides: true,
		render: func(s, other string, _ int) string { return asked(s, other).Headline() }},
	"Why": {oneLine: true, decides: true,
		render: func(s, other string, _ int) string { return asked(s, other).Why() }},
	"Body": {lines: question, fits: true, once: labels,
		render: func(s, other string, columns int) string { return asked(s, other).Body(columns) }},
	"Text of a question": {render: func(s, other string, columns int) string {
		return asked(s, other).Text(columns, 500, func(string) (string, error) { return "/q/" + s, nil }) +
			asked(s, other).Text(columns, 500, func(string) (string, error) { return "", errors.New(s) })
	}},
	"Parts": {render: func(s, other string, _ int) string {
		data, err := json.Marshal(asked(s, other).Parts())
		var parts any
		if err == nil {
			err = json.Unmarshal(data, &parts)
		}
		if err != nil {
			panic(err)
		}
		return textsIn(parts)
	}},
	"Write": {render: func(s, other string, n int) string { return throughWriter(s, other, n) }},
}

// textsIn returns all texts in a value, one below the other.
func textsIn(v any) (all string) {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		for _, part := range v {
			all += textsIn(part)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all += textsIn(v[name])
		}
	}
	return all
}

// object returns parameters with any name and values.
func object(s, other string) json.RawMessage {
	data, err := json.Marshal(map[string]any{s: other, other: []string{s}, "content": s, "n": 1})
	if err != nil {
		panic(err)
	}
	return data
}

// asked returns a question whose foreign texts are all s or other.
func asked(s, other string) show.Question {
	q := show.Question{Tool: s, Title: other, Risk: "dangerous", Rule: s, Reason: other, Object: s,
		Argv: []string{s, other}, Files: []string{other, s}, Effect: s}
	if len(s)%2 == 0 {
		q.Argv, q.Effect = nil, "--- a\n+++ b\n"+s
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object(s, other), &members) != nil {
		panic("no object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		q.Params = append(q.Params, show.Param{Name: name, Value: members[name]})
	}
	q.Params = append(q.Params, show.Param{Name: "raw", Value: json.RawMessage(other)})
	return q
}

// throughWriter writes s and other in parts of at most n bytes.
func throughWriter(s, other string, n int) string {
	var b strings.Builder
	w := &show.Writer{To: &b, Pass: []string{"\x1b[32m", "\x1b[0m"}}
	for rest := s + other; rest != ""; {
		size := min(len(rest), max(1, n%9))
		if _, err := w.Write([]byte(rest[:size])); err != nil {
			panic(err)
		}
		rest = rest[size:]
	}
	if w.Flush() != nil {
		panic("not flushed")
	}
	return strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(b.String())
}

func TestEveryRendererIsFuzzed(t *testing.T) {
	quiet := []string{"Digest", "Flush", "Schema", "SanitizeSchema"} // no text, held back by Write, JSON for programs
	known := slices.AppendSeq(quiet, maps.Keys(renderers))
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "_test.go") || !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				assert.Contains(t, known, f.Name.Name, "%s has no line in renderers", f.Name.Name)
			}
		}
	}
}

// columnsOnTerminal returns a line's width on a terminal.
func columnsOnTerminal(line string) (n int) {
	for _, r := range line {
		kind := width.LookupRune(r).Kind()
		switch {
		case r == '\t':
			n += 8 - n%8
		case unicode.Is(unicode.Mn, r):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

func (s shape) check(t *testing.T, name, from, shown string, columns int) {
	t.Helper()
	if s.oneLine && strings.Contains(shown, "\n") {
		t.Errorf("%s: %q is shown as %q, in several lines", name, from, shown)
	}
	check(t, from, shown, s.decides)
	seen := make(map[string]int)
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		if s.lines != nil && !s.lines.MatchString(line) {
			t.Errorf("%s: %q has the line %q", name, from, line)
		}
		if n := columnsOnTerminal(line); s.fits && n > columns {
			t.Errorf("%s: %q has a line of %d columns of %d: %q", name, from, n, columns, line)
		}
		for _, label := range s.once {
			if strings.HasPrefix(line, label) {
				seen[label]++
			}
		}
	}
	for label, n := range seen {
		if n > 1 {
			t.Errorf("%s: %q has %d lines that begin with %q:\n%s", name, from, n, label, shown)
		}
	}
}

// For any text, a renderer returns no byte that moves the cursor, hides or reorders text, and no line
// that passes for another.
func FuzzRenderer(f *testing.F) {
	flood := "a" + strings.Repeat("\u0301", 200)
	for _, seed := range []string{
		"", "a\nTool: b", "a\x1b[2J\x1b]52;c;eA==\a\x9b1A", "\u0085\u009b2K\u2028\u2029",
		"p\u0430y\u202e\u2066\u200b\u2060\ufeff\u00ad", "x\ufe0f\U000e0101\U000e0041",
		flood, "\u0e01" + strings.Repeat("\u0e4a", 50), "\xff\xc3\r\n\r", "שלום; rm \u0627\u0644",
		"日本語の名前😀" + strings.Repeat("漢", 80), strings.Repeat("x", 77) + "\tRisk level: read_only",
		strings.Repeat("\t", 30), strings.Repeat(" ", 90) + "Effect:", "\u115f\u3164\uffa0\u2800\u17b4",
		"\x1b[32m\x1b[0\x1b[32m", "| x\n: y", `{"a":1}`, "null", "-",
	} {
		f.Add(seed, "other\n"+seed, 40)
		f.Add("y", seed, 80)
	}
	names := slices.Sorted(maps.Keys(renderers))
	f.Fuzz(func(t *testing.T, s, other string, columns int) {
		columns = 40 + int(uint(columns)%120)
		for _, name := range names {
			renderers[name].check(t, name, s+"\x00"+other, renderers[name].render(s, other, columns), columns)
		}
	})
}
