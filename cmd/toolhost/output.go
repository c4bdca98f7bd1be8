package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
)

// painter colours text if true.
type painter bool

// colours are the sequences that it uses, and HCL's underlining of an error.
var colours = []string{"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[1m", colourEnd, "\x1b[1;4m"}

const colourEnd = "\x1b[0m"

func (p painter) paint(colour int, s string) string {
	if !p || s == "" {
		return s
	}
	return colours[colour] + s + colourEnd
}

func (p painter) green(s string) string  { return p.paint(0, s) }
func (p painter) red(s string) string    { return p.paint(1, s) }
func (p painter) yellow(s string) string { return p.paint(2, s) }
func (p painter) dim(s string) string    { return p.paint(3, s) }
func (p painter) bold(s string) string   { return p.paint(4, s) }

func (a *app) tellsJSON(ran *cobra.Command, args []string) bool {
	return ran.Flags().Lookup("json") != nil && (ran.Flags().Changed("json") || slices.Contains(args, "--json"))
}

// printJSONError prints a command's error as JSON, unless its result was printed.
func (a *app) printJSONError(err error) bool {
	if mistakes, ok := errors.AsType[*project.MistakesError](err); ok {
		err = tool.Errorf(tool.InvalidArgument, "agent.hcl has mistakes").
			Suggest("Correct them; toolhost validate shows them all.").With("diagnostics", mistakes.Found)
	} else if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
		return false
	}
	return writeJSON(a.out, map[string]any{"success": false, "error": tool.AsError(err)}) == nil
}

func (a *app) printError(err error) {
	e := tool.AsError(err)
	fmt.Fprintf(a.err, "%s %s\n", a.painter.red("✗"), noted(a.err, e.Message, 2))
	a.printNextStep(e)
}

// noted returns a text for a stream, behind a mark or margin of that many columns: on a terminal no
// part of it looks like another line.
func noted(stream any, text string, margin int) string {
	if isTerminal(stream) {
		return strings.TrimSuffix(show.Note(text, margin, terminalWidth(stream)), "\n")
	}
	return show.Text(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", margin-2)))
}

func (a *app) printNextStep(e *tool.Error) {
	if e.Suggestion != "" && e.Code != tool.Internal {
		fmt.Fprintf(a.err, "  %s\n", noted(a.err, e.Suggestion, 4))
	}
}

// jsonOutcome is the --json object for tools without a contract's own.
type jsonOutcome struct {
	Tool          string          `json:"tool"`
	Success       bool            `json:"success"`
	Output        string          `json:"output"`
	Structured    json.RawMessage `json:"structured,omitempty"`
	Contents      []tool.Content  `json:"contents,omitempty"` // if more than text
	FilesAffected []string        `json:"files_affected"`
	ExecutionTime int64           `json:"execution_time_ms"`
	Error         *tool.Error     `json:"error,omitempty"`
	DryRun        *jsonPlan       `json:"dry_run,omitempty"`
	Metadata      map[string]any  `json:"metadata,omitempty"`
}

type jsonPlan struct {
	Plan     *tool.Plan    `json:"plan"`
	Decision host.Decision `json:"decision"`
	Changes  *host.Changes `json:"changes,omitempty"`
}

// printJSON writes an outcome for programs: one object, alone on stdout.
func (a *app) printJSON(o *host.Outcome, dryRun bool) error {
	if o.Envelope && o.Result != nil && len(o.Result.Structured) > 0 {
		return writeJSON(a.out, a.envelope(o))
	}
	if form := resultForms[a.toolset().Result]; form != nil && !dryRun {
		return writeJSON(a.out, form(o))
	}
	out := jsonOutcome{Tool: o.Tool, Success: o.Err == nil, FilesAffected: []string{},
		ExecutionTime: o.Duration.Milliseconds(), Error: o.Err}
	if r := o.Result; r != nil {
		out.Structured, out.Metadata, out.Output = r.Structured, r.Metadata, ownText(o)
		out.FilesAffected = append(out.FilesAffected, r.FilesAffected...)
		if slices.ContainsFunc(r.Contents, func(c tool.Content) bool { return c.Kind != tool.KindText }) {
			out.Contents = r.Contents
		}
	}
	if dryRun {
		out.DryRun = &jsonPlan{o.Plan, o.Decision, o.Changes}
	}
	return writeJSON(a.out, out)
}

// envelope returns a contract's own object, on the command line with the tool's name in front if the
// contract has it.
func (a *app) envelope(o *host.Outcome) json.RawMessage {
	members, ok := bytes.CutPrefix(o.Result.Structured, []byte("{"))
	if !a.toolset().NamedInJSON || !ok {
		return o.Result.Structured
	}
	return slices.Concat([]byte(`{"tool":`), tool.MustMarshal(o.Tool), []byte(","), members)
}

// writeJSON writes v on one line, without HTML escapes.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func writeIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printHuman prints the tool's output to stdout, so that it can be piped, and facts about the call to stderr.
func (a *app) printHuman(o *host.Outcome, root string) error {
	if o.Err != nil {
		return a.printFailure(o)
	}
	if a.toolset().Checked { // the output behind a check mark
		fmt.Fprintf(a.out, "%s %s\n", a.painter.green("✓"), strings.TrimSuffix(o.Result.Text(), "\n"))
		a.printWhere(a.out, o, root)
		return nil
	}
	text := o.Result.Text()
	if _, err := io.WriteString(a.out, text); err != nil {
		return err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(a.out)
	}
	for _, c := range o.Result.Contents {
		if c.Kind != tool.KindText {
			fmt.Fprintf(a.err, "[%s %s, %d bytes: use --json to get it]\n", c.Kind, c.MIMEType, len(c.Data))
		}
	}
	if isTerminal(a.err) {
		fmt.Fprintf(a.err, "%s %s\n", a.painter.green("✓"), o.Tool)
		a.printWhere(a.err, o, root)
	}
	return nil
}

func (a *app) printWhere(w io.Writer, o *host.Outcome, root string) {
	for _, file := range change.Bounded(slices.Sorted(slices.Values(o.Result.FilesAffected))) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(root, file)
		}
		fmt.Fprintf(w, "  %s\n", noted(w, "Location: "+show.Line(file), 4))
	}
	fmt.Fprintf(w, "  Time: %s\n", shortDuration(o.Duration))
}

func (a *app) printFailure(o *host.Outcome) error {
	if o.Envelope && o.Result != nil {
		mark := ""
		if a.toolset().Crossed && isTerminal(a.err) { // a program reads only the contract's text
			mark = a.painter.red("✗") + " "
		}
		fmt.Fprintln(a.err, mark+strings.TrimSuffix(o.Result.Text(), "\n"))
		if a.toolset().BareErrors { // its text is only the error
			a.printNextStep(o.Err)
		}
		return nil
	}
	text := ownText(o)
	if strings.Contains(o.Err.Message, strings.TrimSpace(text)) {
		text = "" // not output, but the tool's words for the error
	}
	if text != "" {
		fmt.Fprintln(a.out, strings.TrimSuffix(text, "\n"))
	}
	a.printError(unsaid(o, text))
	return nil
}

// unsaid returns a call's error without what the tool's text says already.
func unsaid(o *host.Outcome, text string) *tool.Error {
	e := *o.Err
	if e.Message != "" && strings.Contains(strings.ToLower(text), strings.ToLower(e.Message)) {
		e.Message = o.Tool + " failed"
	}
	if text != "" && strings.Contains(text, e.Suggestion) {
		e.Suggestion = "See the output above."
	}
	return &e
}

// ownText returns the tool's own text, such as a command's output, even of a failed call, but not the host's
// error.
func ownText(o *host.Outcome) string {
	text := o.Result.Text()
	if o.Err != nil && text == host.ErrorResult(o.Err).Text() {
		return ""
	}
	return text
}

func (a *app) printPlan(o *host.Outcome) {
	dangerous := o.Definition != nil && o.Definition.Risk == tool.Dangerous // may change more than its plan names, as a shell does
	switch {
	case o.Plan == nil || len(o.Plan.FilesAffected) == 0 && o.Changes == nil && dangerous:
		fmt.Fprintf(a.out, "%s would run; it cannot tell beforehand what it changes.\n", o.Tool)
	case len(o.Plan.FilesAffected) == 0:
		fmt.Fprintf(a.out, "%s would change no file.\n", o.Tool)
	default:
		fmt.Fprintln(a.out,
			noted(a.out, o.Tool+" would affect: "+show.Line(change.Names(slices.Sorted(slices.Values(o.Plan.FilesAffected)))), 2))
	}
	if o.Plan != nil && o.Plan.Preview != "" {
		fmt.Fprintln(a.out)
		a.printDiff(o.Plan.Preview)
	}
	fmt.Fprintf(a.out, "Decision: %s (%s)\n", o.Decision.Action, show.Line(cmp.Or(o.Decision.Rule, "no rule")))
	fmt.Fprintln(a.out, "Nothing was changed.")
}

// printDiff prints a diff: unchanged to a file or program; to a terminal coloured and with bars, so
// that no line looks like another.
func (a *app) printDiff(diff string) {
	margin := 0
	if isTerminal(a.out) {
		diff, margin = show.Prose(diff, terminalWidth(a.out)), 2
	}
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case len(text) <= margin:
		case text[margin] == '+':
			line = a.painter.green(text) + "\n"
		case text[margin] == '-':
			line = a.painter.red(text) + "\n"
		}
		fmt.Fprint(a.out, line)
	}
}

func shortDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return d.Round(10 * time.Millisecond).String()
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// counted returns "1 tool" or "2 tools".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
