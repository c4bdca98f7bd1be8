package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/show"
)

// callAsking calls a tool and puts the questions that come up to the person
// at the terminal, until the call has an outcome.
func (a *app) callAsking(ctx context.Context, s *host.Session, request host.Request) (*host.Outcome, error) {
	answers := make(map[string]tool.Answer)
	maps.Copy(answers, request.Answers)
	for {
		outcome := s.Call(ctx, request)
		if outcome.Input == nil {
			return outcome, nil
		}
		answer, err := a.ask(ctx, request, outcome)
		if err != nil {
			return nil, err
		}
		maps.Copy(answers, outcome.Answers)
		answers[outcome.Input.Key] = answer
		request.Answers, request.ID, request.Step = answers, outcome.RequestID, outcome.Step
	}
}

func (a *app) ask(ctx context.Context, request host.Request, o *host.Outcome) (tool.Answer, error) {
	if host.IsApproval(o.Input) {
		a.showApproval(request, o)
		verdict, reason, err := a.askVerdict(ctx)
		return host.Approval(verdict, reason), err
	}
	return a.askForm(ctx, o.Input.Form)
}

// askVerdict asks whether a call may run until the answer is one. No answer at
// all is a refusal.
func (a *app) askVerdict(ctx context.Context) (v host.Verdict, reason string, err error) {
	for {
		line, ended, err := a.readLine(ctx, "Approve? (y/n/always): ")
		if err != nil {
			return host.Refuse, "", err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return host.ApproveOnce, "", nil
		case "always":
			return host.ApproveAlways, "", nil
		case "n", "no":
			reason, _, err := a.readLine(ctx, "Why not? The agent is told (Enter for no reason): ")
			return host.Refuse, strings.TrimSpace(reason), err
		case "":
			return host.Refuse, "", nil
		}
		if ended {
			return host.Refuse, "", nil
		}
		fmt.Fprintln(a.err, a.painter.yellow("! ")+"Answer y for this once, always for exactly this call from now on, or n.")
	}
}

// showApproval shows a call before it is approved.
func (a *app) showApproval(request host.Request, o *host.Outcome) {
	fmt.Fprintf(a.err, "Tool: %s\nParameters:\n", o.Tool)
	var params map[string]json.RawMessage
	_ = json.Unmarshal(request.Params, &params)
	for _, name := range declaredOrder(params, o.Definition) {
		fmt.Fprintf(a.err, "  %s: %s\n", show.Line(name), shownParam(name, params[name]))
	}
	if o.Plan != nil && len(o.Plan.FilesAffected) > 0 {
		fmt.Fprintf(a.err, "Files affected: %s\n", show.Text(strings.Join(o.Plan.FilesAffected, ", ")))
	}
	if o.Definition != nil && o.Definition.Risk != "" {
		fmt.Fprintf(a.err, "Risk level: %s\n", o.Definition.Risk)
	}
	if o.Plan != nil && o.Plan.Preview != "" {
		fmt.Fprintf(a.err, "\n%s\n", show.Text(strings.TrimSuffix(o.Plan.Preview, "\n")))
	}
	if o.Decision.Reason != "" {
		fmt.Fprintf(a.err, "Why you are asked: %s\n", o.Decision.Reason)
	}
	fmt.Fprintln(a.err)
}

// declaredOrder gives the names of parameters in the order in which the tool
// declares them, others last.
func declaredOrder(params map[string]json.RawMessage, def *tool.Definition) []string {
	names := sortedNames(params)
	if def == nil {
		return names
	}
	place := make(map[string]int)
	for i, name := range propertyNames(def.Parameters) {
		place[name] = i - len(def.Parameters) // before any that is not declared
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	return names
}

// propertyNames lists the properties of an object schema as they are written.
func propertyNames(schema json.RawMessage) []string {
	var outer struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &outer) != nil {
		return nil
	}
	var names []string
	decoder := json.NewDecoder(bytes.NewReader(outer.Properties))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// shownParam shows a parameter; the content of a file only by its size, since
// the plan shows it.
func shownParam(name string, raw json.RawMessage) string {
	var text string
	if name == "content" && json.Unmarshal(raw, &text) == nil {
		return fmt.Sprintf("<%d bytes>", len(text))
	}
	return shortValue(raw)
}

// shortValue shows a parameter; a long text only by its size.
func shortValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return show.Line(compact(raw))
	}
	if len(text) > 80 || strings.Contains(text, "\n") || show.Text(text) != text {
		return fmt.Sprintf("<%d bytes>", len(text))
	}
	return text
}

// readLine prompts and reads one line, unless ctx ends first. ended tells that
// the input ended with it, so that no more lines will come.
func (a *app) readLine(ctx context.Context, prompt string) (line string, ended bool, err error) {
	type reading struct {
		line string
		err  error
	}
	fmt.Fprint(a.err, prompt)
	read := make(chan reading, 1)
	go func() {
		text, err := bufio.NewReader(oneByte{a.in}).ReadString('\n')
		read <- reading{text, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			fmt.Fprintln(a.err) // the line of the prompt has no end yet
		}
		return r.line, r.err != nil, nil
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return "", true, tool.Errorf(tool.Cancelled, "interrupted at the question").Suggest("Nothing was run.")
	}
}
