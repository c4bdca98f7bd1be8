package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/jsontext"
)

// Question asks the user to decide on a call. It shows the whole call, whatever its length.
type Question struct {
	Tool, Title, Risk string
	// Rule and Reason say why the user is asked.
	Rule, Reason string
	// Object is what the call is about, such as "h.txt", if known.
	Object string
	// Argv is the command that would run, if known.
	Argv []string
	// Connect is "HOST:PORT" if a process of the call wants to connect there.
	Connect string
	Params  []Param
	Files   []string
	// Effect is what would happen according to the tool: a diff, commands. Own reports that toolhost
	// computed it: then its diff need not be shown twice.
	Effect string
	Own    bool
}

// Param is a parameter of a call.
type Param struct {
	Name  string
	Value json.RawMessage
}

// Bounds of the title and object in the first line, in characters.
const (
	mostTitle  = 40
	mostObject = 60
)

// Headline returns one line with the question and its reason. A client may show no more.
func (q Question) Headline() string {
	text := head(Line(q.Title), mostTitle)
	switch {
	case q.Connect != "":
		return "Let " + text + " reach " + Line(q.Connect) + "?"
	case len(q.Argv) > 0:
		text = "Run " + head(Argv(q.Argv), mostObject)
	case q.Object != "":
		text += ": " + head(Line(q.Object), mostObject)
	case len(q.Files) > 0:
		text += ": " + head(Line(strings.Join(q.Files, ", ")), mostObject)
	}
	if q.Rule == "" {
		return text + "?"
	}
	return text + "? (rule " + head(Word(q.Rule), mostObject) + ")"
}

// head returns the beginning of a text; the whole is shown below.
func head(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	return wrap(text, most)[0] + " ... (see below)"
}

// Why returns the second line: the tool and the reason.
func (q Question) Why() string {
	text := "Tool " + head(Line(q.Tool), 2*mostObject)
	if q.Risk != "" {
		text += " (" + Line(q.Risk) + ")"
	}
	if q.Reason != "" {
		text += ": " + head(Line(q.Reason), 3*mostObject)
	}
	return text
}

// Body returns the call and the reason, in lines of at most width columns where lines must be told
// apart.
func (q Question) Body(width int) string { return q.call(width) + q.reason(width) }

func (q Question) call(width int) string {
	var b strings.Builder
	b.WriteString(labelled("Tool: ", q.Tool, width))
	b.WriteString("Parameters:\n")
	for _, p := range q.Params {
		b.WriteString(q.param(p, width))
	}
	if len(q.Files) > 0 {
		b.WriteString(labelled("Files affected: ", strings.Join(q.Files, ", "), width))
	}
	if q.Risk != "" {
		b.WriteString(labelled("Risk level: ", q.Risk, width))
	}
	if len(q.Argv) > 0 {
		b.WriteString("Command, word by word:\n" + Block(Argv(q.Argv), width))
	}
	if q.Effect != "" {
		b.WriteString("Effect:\n" + Prose(strings.TrimSuffix(q.Effect, "\n"), width))
	}
	return b.String()
}

func (q Question) reason(width int) string {
	if q.Reason == "" {
		return ""
	}
	return labelled("Reason: ", q.Reason, width)
}

// short returns the third line: how many lines toolhost's own diff adds and removes, and the first. A
// client may show only three lines.
func (q Question) short() string {
	if !q.Own || !q.hasDiff() {
		return ""
	}
	added, removed, first, hunk := 0, 0, "", false
	for line := range strings.SplitSeq(q.Effect, "\n") {
		switch {
		case strings.HasPrefix(line, "@@"):
			hunk = true
			continue
		case !hunk:
			continue
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		default:
			continue
		}
		if first == "" {
			first = line
		}
	}
	if first == "" {
		return ""
	}
	return fmt.Sprintf("Lines: +%d -%d: %s\n", added, removed, head(Line(first), mostObject))
}

// Call returns a call in one line: each parameter with its name, texts without JSON's quotes.
func Call(tool string, params json.RawMessage) string {
	line := Word(tool)
	var values map[string]json.RawMessage
	if json.Unmarshal(params, &values) != nil {
		return strings.TrimSpace(line + " " + Line(string(params)))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		value := Line(jsontext.Compact(values[name]))
		if json.Unmarshal(values[name], &text) == nil && string(values[name]) != "null" {
			value = Word(text)
		}
		line += " " + Word(name) + "=" + value
	}
	return line
}

// labelled returns a text behind its label: in the same line if it fits, so that no terminal breaks it,
// else in a block below.
func labelled(label, text string, width int) string {
	shown := Line(text)
	if shown != text || strings.TrimSpace(text) != text || text == "" {
		shown = Word(text)
	}
	if !strings.Contains(text, "\n") && columns(label)+columns(shown) <= width {
		return label + shown + "\n"
	}
	indent := label[:len(label)-len(strings.TrimLeft(label, " "))] + "  "
	block := strings.TrimSuffix(Block(text, width-len(indent)), "\n")
	return fmt.Sprintf("%s<%d bytes>\n%s%s\n", label, len(text), indent, strings.ReplaceAll(block, "\n", "\n"+indent))
}

// param shows a parameter, texts without JSON's quotes.
func (q Question) param(p Param, width int) string {
	label, name := "  "+Word(p.Name)+": ", ""
	if columns(label) > min(width/3, mostTitle) {
		label, name = "  its value: ", labelled("  name: ", p.Name, width)
	}
	var text string
	isText := json.Unmarshal(p.Value, &text) == nil && len(p.Value) > 0 && p.Value[0] == '"'
	switch {
	case !isText && columns(label)+columns(jsontext.Compact(p.Value)) > width:
		text = jsontext.Indented(p.Value)
	case !isText:
		text = jsontext.Compact(p.Value)
	case p.Name == "content" && q.Own && q.hasDiff(): // shown in the diff
		return fmt.Sprintf("%s<%d bytes>\n", label, len(text))
	}
	return name + labelled(label, text, width)
}

// hasDiff reports whether the effect is a diff, and so shows a file's content.
func (q Question) hasDiff() bool {
	return strings.Contains("\n"+q.Effect, "\n--- ") && strings.Contains(q.Effect, "\n+++ ")
}

// Text returns the whole question. If it exceeds most bytes, keep stores it and returns the file's
// name, and the first lines ask to read the file. A nil keep leaves it whole.
func (q Question) Text(width, most int, keep func(text string) (file string, err error)) string {
	first, body := q.Headline()+"\n"+q.Why()+"\n"+q.short(), q.call(width)
	if columns(Line(q.Reason)) > 3*mostObject { // the second line is cut
		body += q.reason(width)
	}
	whole := first + "\n" + body
	if len(whole) <= most || keep == nil {
		return whole
	}
	file, err := keep(whole)
	if err != nil {
		return whole
	}
	lines := strings.Count(whole, "\n")
	long := fmt.Sprintf("TOO LONG TO SHOW HERE (%d lines). Read all of it before you allow it: %s (sha256 %s)\n", lines,
		Word(file), Digest(whole))
	shown := body[:strings.LastIndexByte(body[:min(most, len(body))], '\n')+1]
	left := strings.Count(body, "\n") - strings.Count(shown, "\n")
	return q.Headline() + "\n" + long + q.Why() + "\n\n" + shown +
		fmt.Sprintf("[%d more lines are in the file]\n", left)
}
