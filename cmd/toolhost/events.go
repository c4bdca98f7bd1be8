package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/show"
)

// eventsOptions are what events is asked for on the command line.
type eventsOptions struct {
	record.ReadOptions
	session  string
	format   string
	sessions bool
}

func (a *app) eventsCommand() *cobra.Command {
	o := &eventsOptions{}
	c := &cobra.Command{
		Use:   "events",
		Short: "Show what ran: the calls of all sessions, or of one",
		Long: `Show what ran: the calls of all sessions, or of one.

On a terminal it is a table with a line for each call. In a pipe, and with
--format json, it is the record itself, one JSON object a line.`,
		Example: `  toolhost events --last 10
  toolhost events --sessions
  toolhost events --session cli --follow
  toolhost events --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.events(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "this session alone (default: all)")
	f.BoolVar(&o.sessions, "sessions", false, "list the sessions instead of their calls")
	f.StringVar(&o.format, "format", "auto", "table, json, or auto: a table on a terminal, else json")
	f.BoolVar(&o.Follow, "follow", false, "go on with the events that come")
	f.IntVar(&o.Last, "last", 0, "only so many of the events that are there; 0 shows all")
	a.artifactsFlag(c)
	completeFlag(c, "format", "auto", "table", "json")
	a.completeSessions(c)
	return c
}

func (a *app) events(ctx context.Context, o *eventsOptions) error {
	table := o.format == "table" || o.format == "auto" && isTerminal(a.out)
	switch {
	case o.format != "auto" && o.format != "table" && o.format != "json":
		return usagef("Use table, json or auto.", "unknown --format %q", o.format)
	case o.Last < 0:
		return usagef("Give how many are to be shown, or 0 for all.", "--last %d: there is no such number of events",
			o.Last)
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
	switch {
	case o.sessions:
		return a.listSessions(p.Recorder, table)
	case table:
		return a.eventTable(ctx, o.read(ctx, p.Recorder), o)
	}
	return a.eventLines(ctx, o.read(ctx, p.Recorder))
}

// read gives the events of the session that was named, or of all.
func (o *eventsOptions) read(ctx context.Context, r *record.Recorder) iter.Seq2[record.Event, error] {
	if o.session == "" {
		return r.AllEvents(ctx, o.ReadOptions)
	}
	return r.Events(ctx, o.session, o.ReadOptions)
}

// eventLines prints the record as it is, with the session where it is not the
// one that was asked for.
func (a *app) eventLines(ctx context.Context, events iter.Seq2[record.Event, error]) error {
	for event, err := range events {
		if err != nil {
			return unlessEnded(ctx, err)
		}
		line := event.Line
		if event.Session != "" {
			name, err := json.Marshal(event.Session)
			if err != nil {
				return err
			}
			line = fmt.Appendf(nil, `{"session":%s,%s`, name, line[1:])
		}
		fmt.Fprintf(a.out, "%s\n", line)
	}
	return nil
}

// unlessEnded is the error of a reader, which is none when it was ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return unknownName(true, err)
}

func (a *app) listSessions(r *record.Recorder, table bool) error {
	runs, err := r.Runs()
	if err != nil {
		return err
	}
	if table {
		return a.writeTable(func(out *bufio.Writer) {
			rows := [][4]string{{"LAST CHANGE", "SIZE", "SESSION", ""}}
			for _, run := range runs {
				rows = append(rows, [4]string{moment(run.Changed), megabytes(run.Bytes), show.Line(run.Session), ""})
			}
			writeRows(out, rows)
		})
	}
	for _, run := range runs {
		line, err := json.Marshal(map[string]any{"session": run.Session,
			"changed": run.Changed.UTC().Format(time.RFC3339), "bytes": run.Bytes})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", line)
	}
	return nil
}
