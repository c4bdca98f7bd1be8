package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
)

type logOptions struct {
	session string
	changed bool
	last    int
	json    bool
}

// loggedCall is a call in the record and the undo store.
type loggedCall struct {
	ID      string          `json:"id"`
	Session string          `json:"session"`
	Time    time.Time       `json:"time"`
	Tool    string          `json:"tool"`
	Status  string          `json:"status,omitempty"`
	Changes *change.Summary `json:"changes,omitempty"`
	Files   []string        `json:"files,omitempty"` // folded
	NotKept string          `json:"not_kept,omitempty"`
	Undone  string          `json:"undone_by,omitempty"`
	Undoes  []string        `json:"undoes,omitempty"`

	call string // for people
}

func (a *app) logCommand() *cobra.Command {
	o := &logOptions{}
	c := &cobra.Command{
		Use:   "log",
		Short: "List the last calls, and what they changed",
		Long: `List the last calls, the newest first: the ID, which show, undo and redo take, when
the call ran, what it was, and what it changed in files.`,
		Example: `  toolhost log
  toolhost log --changed --last 5`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.listCallLog(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "only this session (default: all)")
	f.BoolVar(&o.changed, "changed", false, "only calls that changed files")
	f.IntVar(&o.last, "last", 20, "how many calls; 0 lists all")
	f.BoolVar(&o.json, "json", false, "print JSON")
	a.completeSessions(c)
	return c
}

func (a *app) listCallLog(ctx context.Context, o *logOptions) error {
	if o.last < 0 {
		return usagef("Give the number of calls to list, or 0 for all.", "--last %d is negative", o.last)
	}
	if o.session != "" {
		if err := record.ValidSession(o.session); err != nil {
			return usage(err)
		}
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	calls, err := a.loggedCalls(ctx, p, o)
	if err != nil {
		return err
	}
	if o.json {
		return writeIndented(a.out, append([]loggedCall{}, calls...))
	}
	if len(calls) == 0 {
		fmt.Fprintln(a.out, "Nothing has run here yet.")
		return nil
	}
	return a.writeTable(func(out *bufio.Writer) { writeLog(out, calls) })
}

// loggedCalls joins the last calls of the record with the undo store.
func (a *app) loggedCalls(ctx context.Context, p *project.Project, o *logOptions) ([]loggedCall, error) {
	ran := []record.Call{}
	var err error
	if !o.changed {
		if ran, err = p.Recorder.Calls(ctx, record.Filter{Session: o.session, Last: o.last}); err != nil {
			return nil, err
		}
	}
	changes, err := p.Undo.Calls(ctx, undo.Filter{Session: o.session, Limit: o.last, Workspace: p.Workspace})
	switch {
	case err == nil, p.Undo.Kept() != nil:
	case o.changed:
		return nil, err
	default:
		a.logger.WarnContext(ctx, "what the calls changed cannot be read", "error", err)
	}
	known := make(map[record.CallName]*undo.CallInfo, len(changes))
	for i := range changes {
		known[record.CallName{Session: changes[i].Session, Request: changes[i].Call}] = &changes[i]
	}
	var calls []loggedCall
	for _, r := range ran {
		name := record.CallName{Session: r.Session, Request: r.Request}
		c := loggedCall{ID: r.Request, Session: r.Session, Time: r.Began, Tool: r.Tool, Status: r.Status,
			call: show.Call(r.Tool, r.Params)}
		c.add(known[name])
		delete(known, name)
		calls = append(calls, c)
	}
	for i := range changes { // undos, processes that serve many calls, and calls pruned from the record
		info := &changes[i]
		if known[record.CallName{Session: info.Session, Request: info.Call}] == nil {
			continue
		}
		c := loggedCall{ID: info.Call, Session: info.Session, Time: info.Time, Tool: info.Tool,
			call: cmp.Or(info.Tool, "-")}
		if len(info.Undoes) > 0 {
			c.call += " " + boundedNames(info.Undoes)
		}
		c.add(info)
		calls = append(calls, c)
	}
	slices.SortStableFunc(calls, func(a, b loggedCall) int { return b.Time.Compare(a.Time) })
	if o.last > 0 && len(calls) > o.last {
		calls = calls[:o.last]
	}
	return calls, nil
}

func (c *loggedCall) add(info *undo.CallInfo) {
	if info == nil {
		return
	}
	c.NotKept, c.Undone, c.Undoes = info.NotKept, info.UndoneBy, info.Undoes
	if len(info.Files) == 0 {
		return
	}
	c.Changes = info.Summary
	groups, more := change.Fold(info.Files)
	for _, g := range groups {
		c.Files = append(c.Files, g.String())
	}
	if more > 0 {
		c.Files = append(c.Files, fmt.Sprintf("and %s more", change.Number(more)))
	}
}

// boundedNames lists the first names and how many more there are.
func boundedNames(names []string) string {
	if more := len(names) - change.MostNames; more > 0 {
		names = append(slices.Clone(names[:change.MostNames]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func (c *loggedCall) changed() string {
	var parts []string
	switch {
	case c.Changes != nil:
		parts = append(parts, c.Changes.String()+": "+strings.Join(c.Files, ", "))
	case c.Status != "" && c.Status != record.StatusSuccess:
		parts = append(parts, c.Status)
	}
	if c.NotKept != "" {
		parts = append(parts, "["+c.NotKept+"]")
	}
	if c.Undone != "" {
		parts = append(parts, "(undone by "+c.Undone+")")
	}
	return strings.Join(parts, " ")
}

func writeLog(out *bufio.Writer, calls []loggedCall) {
	const widest = 60
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWHEN\tCALL\tCHANGED")
	for i := range calls {
		c := &calls[i]
		call := []rune(show.Line(c.call))
		if len(call) > widest {
			call = append(call[:widest-1], '…')
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", show.Line(c.ID), moment(c.Time), string(call), show.Line(c.changed()))
	}
	_ = w.Flush()
}
