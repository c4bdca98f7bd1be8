package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/record"
)

type callFlags struct {
	params  string
	json    bool
	dryRun  bool
	yes     bool
	learn   bool
	raw     bool
	session string
	id      string
	later   bool
}

func (a *app) callCommand() *cobra.Command {
	var flags callFlags
	c := &cobra.Command{
		Use:   "call TOOL [key=value ...]",
		Short: "Call a tool",
		Long: `Call a tool and print its result on stdout.

Parameters are key=value pairs, typed as the tool's schema says; key:=JSON
gives any value as JSON, and a repeated key adds to a list. --params gives the
whole object instead: as JSON, as @FILE, or as - for standard input.

Exit codes: 0 success, 1 the tool failed, 2 wrong use, 3 denied, 124 timeout,
130 interrupted.`,
		Example: `  toolhost call head args="-n 5 README.md"
  toolhost call write_file path=a.txt content=hi
  toolhost call edit_file --params '{"path":"a.txt","old_str":"hi","new_str":"ho"}' --dry-run`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeCall,
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c, flags, args[0], args[1:])
		},
	}
	f := c.Flags()
	f.StringVar(&flags.params, "params", "", "the parameter object: JSON, @FILE or - for stdin")
	f.BoolVar(&flags.json, "json", false, "print the result as JSON")
	f.BoolVar(&flags.dryRun, "dry-run", false, "say what would happen and change nothing")
	f.BoolVar(&flags.yes, "yes", false, "approve without being asked")
	f.BoolVar(&flags.learn, "learn", false,
		"ask about each host that the tool's processes want to reach, and print the network list that it needs")
	f.BoolVar(&flags.raw, "raw", false, "on a terminal: print the tool's output unchanged, including escape sequences")
	f.StringVar(&flags.session, "session", "cli", "the session, which holds todo lists and the like")
	a.completeSessions(c)
	f.StringVar(&flags.id, "request-id", "", "a name for this call in the record")
	f.BoolVar(&flags.later, "later", false,
		"if the call needs approval, leave it pending for the console or toolhost approve instead of failing")
	_ = f.MarkHidden("later") // the console's own calls
	a.toolsetFlag(c)
	a.artifactsFlag(c)
	return c
}

func (a *app) call(c *cobra.Command, flags callFlags, name string, pairs []string) error {
	ctx := c.Context()
	if err := record.ValidSession(flags.session); err != nil {
		return usage(err)
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	defer p.Tidy(ctx)
	p.LoadFor(ctx, name)
	params, err := a.readParams(ctx, p.Host, flags, name, pairs)
	if err != nil {
		return err
	}
	request := host.Request{
		Tool: name, Params: params, ID: flags.id, DryRun: flags.dryRun, InView: flags.dryRun, Client: "toolhost call",
		CanAsk:       isTerminal(a.in) && isTerminal(a.err),
		CanVisit:     isTerminal(a.in) && isTerminal(a.err),
		HowToApprove: "Only the user can approve it: on a terminal, where it asks, or by a policy rule in agent.hcl.",
	}
	if flags.later {
		request.ApproveLater, request.HowToApprove = true, ""
	}
	if flags.yes {
		request.Answers = host.ApproveAll()
		request.AskNow = func(context.Context, tool.Form) (tool.Answer, error) {
			return host.Approval(host.ApproveOnce, ""), nil
		}
	}
	if request.Learn = flags.learn; flags.learn && !request.CanAsk {
		return usagef("Run it in a terminal: it may reach what agent.hcl does not grant, once you allow it.",
			"--learn needs a terminal")
	}
	outcome, err := a.callAsking(ctx, p, p.Host.Session(flags.session), request, !flags.json)
	if err != nil {
		return err
	}
	if flags.raw {
		a.raw()
	}
	if err := a.printOutcome(outcome, flags, p.Host.Root()); err != nil {
		return err
	}
	if flags.learn {
		a.sayLearned(outcome)
	}
	a.sayHowToUndo(ctx, p, flags.session, outcome)
	if code := exitCode(ctx, outcome); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func (a *app) sayLearned(o *host.Outcome) {
	if len(o.Reached) == 0 {
		fmt.Fprintf(a.err, "%s reached no host.\n", show.Line(o.Tool))
	} else {
		fmt.Fprintf(a.err, "%s reached these hosts; the line for its block in agent.hcl:\n  %s\n", show.Line(o.Tool),
			network.Suggest(o.Reached))
	}
	if len(o.LookedUp) > 0 {
		fmt.Fprintf(a.err, "It looked up, and made no connection at the ports 22, 80 and 443: %s. If it needs another "+
			"port of one, write it with the port: \"HOST:PORT\".\n", show.Line(strings.Join(o.LookedUp, ", ")))
	}
}

func (a *app) printOutcome(o *host.Outcome, flags callFlags, root string) error {
	switch {
	case flags.json:
		return a.printJSON(o, flags.dryRun)
	case flags.dryRun && o.Err == nil:
		a.printPlan(o)
		return nil
	}
	return a.printHuman(o, root)
}

func (a *app) readParams(ctx context.Context, h *host.Host, flags callFlags, name string,
	pairs []string) (json.RawMessage, error) {
	if flags.params != "" {
		if len(pairs) > 0 {
			return nil,
				usagef("Give either key=value pairs or --params.", "both --params and key=value pairs are given")
		}
		return a.readParamsFlag(ctx, flags.params)
	}
	s := new(schema.Schema)
	if entry, err := h.Catalog().Lookup(name); err == nil {
		if s, err = entry.Schema(); err != nil {
			return nil, tool.Errorf(tool.Unavailable, "the tool %q has a broken parameter schema: %w", name,
				err).Suggest("Tell its author.")
		}
	}
	params, violations := s.FromPairs(pairs)
	if len(violations) > 0 {
		hint := "Give parameters as key=value, or the whole object with --params."
		if line, err := syntax.Quote("args="+strings.Join(pairs, " "), syntax.LangPOSIX); err == nil &&
			takesArgs(h, name) {
			hint = "Its arguments are one text: toolhost call " + name + " " + line
		}
		return nil, usagef(hint, "%s", schema.Join(violations))
	}
	return params, nil
}

// takesArgs reports whether a tool is a passthrough: args is its only parameter.
func takesArgs(h *host.Host, name string) bool {
	var parameters struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	entry, err := h.Catalog().Lookup(name)
	if err != nil || json.Unmarshal(entry.Tool.Definition().Parameters, &parameters) != nil {
		return false
	}
	_, ok := parameters.Properties["args"]
	return ok && len(parameters.Properties) == 1
}

func (a *app) readParamsFlag(ctx context.Context, value string) (json.RawMessage, error) {
	data, err := []byte(value), error(nil)
	switch {
	case value == "-":
		data, err = readUnlessEnded(ctx,
			func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.in, maxParams+1)) })
	case strings.HasPrefix(value, "@"):
		data, err = readUnlessEnded(ctx, func() ([]byte, error) { return readLimited(value[1:]) })
	}
	if ctx.Err() != nil {
		return nil,
			tool.Errorf(tool.Cancelled, "interrupted while --params %s was read", value).Suggest("Nothing was run.")
	}
	if err != nil {
		return nil, usagef("Check the file's name; - reads standard input.", "--params %s: %v", value, err)
	}
	if len(data) > maxParams {
		return nil, usagef("Give a smaller object.", "--params is larger than %d bytes", maxParams)
	}
	return data, nil
}

// readUnlessEnded reads until ctx ends: a pipe's writer may never write.
func readUnlessEnded(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type reading struct {
		data []byte
		err  error
	}
	done := make(chan reading, 1)
	go func() {
		data, err := read()
		done <- reading{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxParams bounds a parameter object, in bytes.
const maxParams = 64 << 20

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxParams+1))
}
