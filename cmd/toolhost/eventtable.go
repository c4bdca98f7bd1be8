package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/show"
)

// eventFacts are what the table takes from an event.
type eventFacts struct {
	RequestID string          `json:"request_id"`
	Tool      string          `json:"tool"`
	Params    json.RawMessage `json:"params"`
	Status    string          `json:"status"`
	Error     string          `json:"error"`
	Action    string          `json:"action"`
	Duration  float64         `json:"duration_sec"`
	Files     []string        `json:"files_affected"`
	DryRun    bool            `json:"dry_run"`
}

// callRow is one call in the table.
type callRow struct {
	session, call string
	began         time.Time
	status        string
}

// callTable folds events into calls: a call begins once and ends once.
type callTable struct {
	running map[string]*callRow // by session and request
}

// add notes an event, and gives the row of the call that it ends.
func (t *callTable) add(e record.Event) *callRow {
	var facts eventFacts
	if json.Unmarshal(e.Line, &facts) != nil || facts.RequestID == "" {
		return nil
	}
	key := e.Session + "\x00" + facts.RequestID
	switch e.Name {
	case "tool_call_started":
		t.running[key] = &callRow{e.Session, show.Call(facts.Tool, facts.Params), e.Time, "running"}
	case "input_required":
		if row := t.running[key]; row != nil {
			row.status = "asks"
		}
	case "tool_call_decided":
		if row := t.running[key]; row != nil && facts.Action == "deny" {
			row.status = "denied"
		}
	case "tool_call_finished":
		row := t.running[key]
		if row == nil { // its beginning is no longer there
			row = &callRow{session: e.Session, call: show.Call(facts.Tool, nil), began: e.Time}
		}
		delete(t.running, key)
		row.status = facts.outcome()
		return row
	}
	return nil
}

func (f *eventFacts) outcome() string {
	took := time.Duration(f.Duration * float64(time.Second)).Round(time.Millisecond)
	switch {
	case f.Status != "success":
		return f.Error
	case f.DryRun:
		return "dry run"
	case len(f.Files) > 0:
		return fmt.Sprintf("ok %s, %s", took, counted(len(f.Files), "file"))
	}
	return "ok " + took.String()
}

// eventTable prints a line for each call. Those that have not ended come last;
// when following, a call is printed at its end.
func (a *app) eventTable(ctx context.Context, events iter.Seq2[record.Event, error], o *eventsOptions) error {
	t := &callTable{running: make(map[string]*callRow)}
	rows := []*callRow{}
	for event, err := range events {
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if o.session != "" {
			event.Session = o.session
		}
		row := t.add(event)
		switch {
		case row == nil:
		case o.Follow:
			if err := a.writeCalls([]*callRow{row}, false); err != nil {
				return err
			}
		default:
			rows = append(rows, row)
		}
	}
	if o.Follow {
		return nil
	}
	open := slices.SortedFunc(maps.Values(t.running), func(a, b *callRow) int { return a.began.Compare(b.began) })
	if rows = append(rows, open...); len(rows) == 0 {
		fmt.Fprintln(a.out, "Nothing has run here yet.")
		return nil
	}
	return a.writeCalls(rows, true)
}

func (a *app) writeCalls(rows []*callRow, head bool) error {
	return a.writeTable(func(out *bufio.Writer) {
		var lines [][4]string
		if head {
			lines = append(lines, [4]string{"TIME", "SESSION", "STATUS", "CALL"})
		}
		for _, row := range rows {
			lines = append(lines, [4]string{moment(row.began), show.Line(row.session), show.Line(row.status), row.call})
		}
		writeRows(out, lines)
	})
}

// writeTable prints what write writes, on a terminal cut to its width.
func (a *app) writeTable(write func(*bufio.Writer)) error {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	write(out)
	if err := out.Flush(); err != nil {
		return err
	}
	return writeFitting(a.out, text.Bytes(), terminalWidth(a.out))
}

// moment is a time as a table shows it: in the local zone, the day only where
// it is another one.
func moment(t time.Time) string {
	local := t.Local()
	if now := time.Now(); local.YearDay() == now.YearDay() && local.Year() == now.Year() {
		return local.Format("15:04:05")
	}
	return local.Format("2006-01-02 15:04:05")
}
