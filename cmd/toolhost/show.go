package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/text/jsontext"
)

type showOptions struct {
	filter record.Filter
	patch  bool
	json   bool
}

// shown is a call in the record and the undo store.
type shown struct {
	*record.Detail
	Changed []string `json:"changed,omitempty"`  // paths that can be undone
	NotKept string   `json:"not_kept,omitempty"` // other changes
	Undone  string   `json:"undone_by,omitempty"`
	// Summary and Diff compare each file before and after the call.
	Summary *change.Summary `json:"summary,omitempty"`
	Diff    string          `json:"diff,omitempty"`
}

func (a *app) showCommand() *cobra.Command {
	o := &showOptions{}
	c := &cobra.Command{
		Use:   "show CALL",
		Short: "Show the record of one call",
		Long: `Show the record of one call: its parameters, who approved it, its result, and the
files it changed. CALL is its ID, as toolhost log shows it.`,
		Example: `  toolhost show k7f2 -p
  toolhost show k7f2 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.filter.Request = args[0]
			return a.show(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.filter.Session, "session", "", "the session (default: any)")
	f.BoolVarP(&o.patch, "patch", "p", false, "show what the call changed as a diff")
	f.BoolVar(&o.json, "json", false, "print JSON")
	a.artifactsFlag(c)
	a.completeFrom(c, "", recentCalls)
	a.completeSessions(c)
	return c
}

func recentCalls(ctx context.Context, p *project.Project) (names []string) {
	calls, _ := p.Recorder.Calls(ctx, record.Filter{Last: 50})
	for _, c := range slices.Backward(calls) {
		names = append(names, c.Request)
	}
	return names
}

func (a *app) show(ctx context.Context, o *showOptions) error {
	if o.filter.Session != "" {
		if err := record.ValidSession(o.filter.Session); err != nil {
			return usage(err)
		}
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := oneCall(ctx, p, o.filter); err != nil {
		return err
	}
	d, err := p.Recorder.Show(ctx, o.filter)
	if err != nil {
		return unknownName(true, err)
	}
	if reached := p.Tasks().Reached(d.Session, d.Request, d.Facts["connections"]); reached != nil {
		d.Facts["connections"] = p.Recorder.Redactor().JSON(reached)
	}
	s := shown{Detail: d}
	changes, err := p.Undo.Calls(ctx, undo.Filter{Session: d.Session})
	if err != nil {
		a.logger.WarnContext(ctx, "what the call changed cannot be read", "error", err)
	}
	for _, c := range changes {
		if c.Call == d.Request {
			s.Changed, s.NotKept, s.Undone = c.Files, c.NotKept, c.UndoneBy
		}
	}
	if len(s.Changed) > 0 {
		diff, summary, err := p.Undo.CallDiff(ctx, p.Workspace, d.Session, d.Request)
		if err != nil {
			a.logger.WarnContext(ctx, "what the call changed cannot be compared", "error", err)
		} else if s.Summary = &summary; o.patch {
			s.Diff = diff
		}
	}
	if o.json {
		return writeIndented(a.out, s)
	}
	a.showCall(&s)
	return nil
}

// oneCall refuses a name that calls of several sessions have.
func oneCall(ctx context.Context, p *project.Project, f record.Filter) error {
	calls, err := p.Recorder.Calls(ctx, f)
	if err != nil {
		return err
	}
	var sessions []string
	for _, c := range calls {
		if !slices.Contains(sessions, c.Session) {
			sessions = append(sessions, c.Session)
		}
	}
	if len(sessions) > 1 {
		return undo.AmbiguousCall(f.Request, sessions)
	}
	return nil
}

// labelWidth is how many columns a label takes.
const labelWidth = 12

func (a *app) showCall(s *shown) {
	fmt.Fprintln(a.out, show.Line(s.Tool))
	say := func(label, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "%-*s%s\n", labelWidth, label+":", noted(a.out, text, labelWidth))
		}
	}
	s.eachFact(say)
	say("Command", s.command())
	groups, more := change.Fold(s.Changed)
	for _, g := range groups {
		say("Changed", show.Line(g.String()))
	}
	if more > 0 {
		say("Changed", change.Number(more)+" more paths")
	}
	if s.Summary != nil {
		say("In all", s.Summary.String())
	}
	var connections []network.Connection
	_ = json.Unmarshal(s.Facts["connections"], &connections)
	for _, c := range connections {
		say("Network", c.String())
	}
	say("Not kept", s.NotKept)
	say("Undone by", s.Undone)
	for _, problem := range s.Problems {
		say("Problem", problem)
	}
	a.showContent("Parameters", jsontext.Indented(s.Params))
	a.showContent("Plan", jsontext.Indented(s.Plan))
	a.showContent("Result", resultText(s.Result))
	if s.Diff != "" {
		fmt.Fprintln(a.out)
		a.printDiff(s.Diff)
	}
}

func (s *shown) eachFact(say func(label, text string)) {
	fact := func(name string) string { return plainFact(s.Facts[name]) }
	say("Call", s.Request+" of session "+s.Session)
	say("Status", strings.TrimSpace(s.Status+" "+fact("message")))
	say("Began", s.Began.Local().Format("2006-01-02 15:04:05.000"))
	if took, err := strconv.ParseFloat(fact("duration_sec"), 64); err == nil {
		say("Took", time.Duration(took*float64(time.Second)).Round(time.Microsecond).String())
	}
	say("Client", fact("client"))
	say("Toolset", fact("toolset"))
	say("Source", fact("source"))
	say("agent.hcl", fact("config"))
	var decision struct{ Action, Rule, Reason string }
	if json.Unmarshal(s.Facts["decision"], &decision) == nil && decision.Action != "" {
		rule := decision.Rule
		if rule != "" {
			rule = strconv.Quote(rule)
		}
		say("Decision", strings.Join(strings.Fields(decision.Action+" by "+cmp.Or(fact("decided_by"), "rule")+" "+
			rule+" "+decision.Reason), " "))
		say("Answer", fact("answer"))
	}
	var metadata map[string]json.RawMessage
	_ = json.Unmarshal(s.Facts["metadata"], &metadata)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		switch {
		case name == "sandbox":
			say("Sandbox", plainFact(metadata[name]))
		case name != "not_kept" || s.NotKept == "":
			say("Note", name+": "+plainFact(metadata[name]))
		}
	}
}

// command returns what ran, as a shell command.
func (s *shown) command() string {
	var argv []string
	if json.Unmarshal(s.Facts["argv"], &argv) != nil {
		return ""
	}
	return show.Argv(argv)
}

// plainFact returns a string unchanged, and another value as JSON.
func plainFact(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// showContent prints a text of several lines, each behind a bar.
func (a *app) showContent(label, text string) {
	if text == "" || text == "{}" {
		return
	}
	width := 0
	if isTerminal(a.out) {
		width = terminalWidth(a.out)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	fmt.Fprintf(a.out, "\n%s:\n%s", label, show.Prose(text, width))
}

// resultText returns the caller's result, with texts unchanged.
func resultText(content json.RawMessage) string {
	var result tool.Result
	if len(content) == 0 || json.Unmarshal(content, &result) != nil {
		return ""
	}
	text := result.Text()
	if text == "" {
		text = jsontext.Indented(result.Structured)
	}
	for _, c := range result.Contents {
		if c.Kind != tool.KindText {
			text += fmt.Sprintf("\n[%s %s %s]", c.Kind, c.MIMEType, c.URI)
		}
	}
	return text
}
