package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/show"
)

// callTable prints a line for each call.
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

// followTable prints a call at its end.
func (a *app) followTable(ctx context.Context, events iter.Seq2[record.Event, error]) error {
	running := make(map[string]record.Call) // by session and request
	for event, err := range events {
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if call := endedBy(event, running); call != nil {
			if err := a.writeCalls([]record.Call{*call}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// endedBy notes the beginning of a call, and gives the call that an event ends.
func endedBy(e record.Event, running map[string]record.Call) *record.Call {
	var facts struct {
		RequestID string          `json:"request_id"`
		Tool      string          `json:"tool"`
		Params    json.RawMessage `json:"params"`
		Status    string          `json:"status"`
		Error     string          `json:"error"`
		Duration  float64         `json:"duration_sec"`
		Files     []string        `json:"files_affected"`
		DryRun    bool            `json:"dry_run"`
	}
	if json.Unmarshal(e.Line, &facts) != nil || facts.RequestID == "" {
		return nil
	}
	key := e.Session + "\x00" + facts.RequestID
	switch e.Name {
	case "tool_call_started":
		running[key] = record.Call{Session: e.Session, Tool: facts.Tool, Params: facts.Params, Began: e.Time}
	case "tool_call_finished":
		call, known := running[key]
		if !known { // it began before
			call = record.Call{Session: e.Session, Tool: facts.Tool, Began: e.Time}
		}
		delete(running, key)
		call.Status, call.Files = cmp.Or(facts.Error, facts.Status), len(facts.Files)
		call.Took = time.Duration(facts.Duration * float64(time.Second))
		if facts.DryRun && facts.Error == "" {
			call.Status = record.StatusDryRun
		}
		return &call
	}
	return nil
}

// outcome is how a call came out, in a table.
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
