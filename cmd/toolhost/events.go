package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
)

type eventsOptions struct {
	record.Filter
	follow       bool
	format       string
	sessions     bool
	since, until string
}

func (a *app) eventsCommand() *cobra.Command {
	o := &eventsOptions{}
	c := &cobra.Command{
		Use:   "events",
		Short: "List all recorded calls or events, filtered by session, tool, status, path or time",
		Long: `List all recorded calls or events, filtered by session, tool, status, path or time.

On a terminal it is a table with a line for each call. In a pipe, and with --json,
it is one JSON object a line for each event. "toolhost show CALL" shows all of one
call.`,
		Example: `  toolhost events --last 10
  toolhost events --tool write_file --since 2h
  toolhost events --status error --path src/
  toolhost events --session cli --follow
  toolhost events --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.events(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Session, "session", "", "only this session (default: all)")
	f.StringVar(&o.Tool, "tool", "", "calls of this tool")
	f.StringVar(&o.Status, "status", "",
		"calls with this status: running, lost, success, error, or an error code such as denied")
	f.StringVar(&o.Path, "path", "", "calls that changed this file, or files in this directory of the workspace")
	f.StringVar(&o.since, "since", "", "from this time on: 2h, 3d, 2006-01-02 or 2006-01-02T15:04:05Z")
	f.StringVar(&o.until, "until", "", "before this time")
	f.BoolVar(&o.sessions, "sessions", false, "list the sessions instead of their calls")
	f.StringVar(&o.format, "format", "auto",
		"table, json (one object per line), or auto: a table on a terminal, else json")
	f.BoolFunc("json", "the same as --format json", func(string) error { o.format = "json"; return nil })
	f.BoolVar(&o.follow, "follow", false, "keep running, and print new events as they arrive")
	f.IntVar(&o.Last, "last", 0, "show only the newest N: calls in a table, events in JSON; 0 shows all")
	a.artifactsFlag(c)
	completeFlag(c, "format", "auto", "table", "json")
	completeFlag(c, "status", record.StatusSuccess, "error", record.StatusRunning, record.StatusLost, "denied")
	a.completeSessions(c)
	return c
}

func (o *eventsOptions) check() (err error) {
	switch {
	case o.format != "auto" && o.format != "table" && o.format != "json":
		return usagef("Use table, json or auto.", "unknown --format %q", o.format)
	case o.Last < 0:
		return usagef("Give the number to show, or 0 for all.", "--last %d is negative",
			o.Last)
	}
	if o.Session != "" {
		if err := record.ValidSession(o.Session); err != nil {
			return usage(err)
		}
	}
	if o.Since, err = timeFlag("since", o.since); err != nil {
		return err
	}
	o.Until, err = timeFlag("until", o.until)
	return err
}

// timeFlag parses a duration before now, a day, or a time.
func timeFlag(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Now().AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(value); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02"} {
		if t, err := time.ParseInLocation(layout, value, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("Use how long ago, as 30m, 2h or 3d, or a time, as 2006-01-02 or 2006-01-02T15:04:05Z.",
		"--%s %q is not a valid time", name, value)
}

func (a *app) events(ctx context.Context, o *eventsOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	table := o.format == "table" || o.format == "auto" && isTerminal(a.out)
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if o.sessions {
		return a.listSessions(ctx, p.Recorder, table)
	}
	if o.Session != "" && !o.follow {
		if err := p.Recorder.HasSession(ctx, o.Session); err != nil {
			return unknownName(true, err)
		}
	}
	if o.Path != "" {
		if o.Also, err = changersOf(ctx, p.Undo, o.Path); err != nil {
			return err
		}
	}
	switch {
	case table && o.follow:
		return a.followTable(ctx, p.Recorder, o.Filter)
	case table:
		return a.callTable(ctx, p.Recorder, o.Filter)
	}
	for event, err := range p.Recorder.Events(ctx, o.Filter, o.follow) {
		if err != nil {
			return unlessEnded(ctx, err)
		}
		line := event.Line
		if event.Session != o.Session {
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

// changersOf returns the calls by which, according to undo, a path or one below it changed: results do
// not have all, such as those of background tasks.
func changersOf(ctx context.Context, store *undo.Store, path string) (names []record.CallName, err error) {
	calls, err := store.Calls(ctx, undo.Filter{})
	path = strings.TrimSuffix(path, "/")
	for _, call := range calls {
		if slices.ContainsFunc(call.Files, func(file string) bool {
			return file == path || strings.HasPrefix(file, path+"/")
		}) {
			names = append(names, record.CallName{Session: call.Session, Request: call.Call})
		}
	}
	return names, err
}

// unlessEnded returns a reader's error, nil if ctx ended it.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return unknownName(true, err)
}

func (a *app) listSessions(ctx context.Context, r *record.Recorder, table bool) error {
	sessions, err := r.Sessions(ctx)
	if err != nil {
		return err
	}
	if table {
		return a.writeTable(func(out *bufio.Writer) {
			rows := [][4]string{{"LAST CHANGE", "SIZE", "SESSION", ""}}
			for _, s := range sessions {
				rows = append(rows, [4]string{moment(s.Changed), megabytes(s.Bytes), show.Line(s.Name), ""})
			}
			writeRows(out, rows)
		})
	}
	for _, s := range sessions {
		line, err := json.Marshal(map[string]any{"session": s.Name,
			"changed": s.Changed.UTC().Format(time.RFC3339), "bytes": s.Bytes})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", line)
	}
	return nil
}

func (a *app) callTable(ctx context.Context, r *record.Recorder, f record.Filter) error {
	calls, err := r.Calls(ctx, f)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	switch {
	case len(calls) > 0:
	case reflect.DeepEqual(f, record.Filter{}):
		fmt.Fprintln(a.out, "Nothing has run here yet.")
		return nil
	default:
		fmt.Fprintln(a.out, "No call fits.")
		return nil
	}
	return a.writeCalls(calls, true)
}

func (a *app) followTable(ctx context.Context, r *record.Recorder, f record.Filter) error {
	for event, err := range r.Events(ctx, f, true) {
		if err != nil {
			return unlessEnded(ctx, err)
		}
		var end struct {
			Request string `json:"request_id"`
		}
		if event.Name != "tool_call_finished" || json.Unmarshal(event.Line, &end) != nil || end.Request == "" {
			continue
		}
		calls, err := r.Calls(ctx, record.Filter{Session: event.Session, Request: end.Request, Last: 1})
		if err == nil {
			err = a.writeCalls(calls, false)
		}
		if err != nil {
			return unlessEnded(ctx, err)
		}
	}
	return nil
}

func outcome(c record.Call) string {
	took := c.Took.Round(time.Millisecond)
	switch {
	case c.Status != record.StatusSuccess:
		return c.Status
	case c.Files > 0:
		return fmt.Sprintf("ok %s, %s", took, counted(c.Files, "file"))
	}
	return "ok " + took.String()
}

func (a *app) writeCalls(calls []record.Call, head bool) error {
	return a.writeTable(func(out *bufio.Writer) {
		var lines [][4]string
		if head {
			lines = append(lines, [4]string{"TIME", "SESSION", "STATUS", "CALL"})
		}
		for _, c := range calls {
			lines = append(lines, [4]string{moment(c.Began), show.Line(c.Session), show.Line(outcome(c)),
				show.Call(c.Tool, c.Params)})
		}
		writeRows(out, lines)
	})
}

// writeTable prints the output of write, on a terminal cut to its width.
func (a *app) writeTable(write func(*bufio.Writer)) error {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	write(out)
	if err := out.Flush(); err != nil {
		return err
	}
	return writeFitting(a.out, text.Bytes(), terminalWidth(a.out))
}

// moment formats a time for a table: local, with the day if not today.
func moment(t time.Time) string {
	local := t.Local()
	if now := time.Now(); local.YearDay() == now.YearDay() && local.Year() == now.Year() {
		return local.Format("15:04:05")
	}
	return local.Format("2006-01-02 15:04:05")
}
