package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/show"
)

// undoFlags are the flags of toolhost undo.
type undoFlags struct {
	selection          undo.Selection
	list, dryRun, json bool
}

func (a *app) undoCommand() *cobra.Command {
	var flags undoFlags
	c := &cobra.Command{
		Use:   "undo [CALL]",
		Short: "Take back what a call changed in files",
		Long: `Take back what a call changed in files: the last one, the one named (as
toolhost undo --list shows it), or all of a session. It covers what tools change
themselves and what the processes of commands change, at the sandbox levels full
and landlock. Nothing is undone when a file has been changed since; the
difference is shown.`,
		Example: `  toolhost undo --list
  toolhost undo
  toolhost undo tool_step_0045 --dry-run
  toolhost undo --all --session cli`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				flags.selection.Call = args[0]
			}
			if s := flags.selection.Session; s != "" {
				if err := record.ValidSession(s); err != nil {
					return usage(err)
				}
			}
			return a.undo(c, flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.selection.Session, "session", "", "the session (default: the one that changed something last)")
	f.BoolVar(&flags.selection.All, "all", false, "every call of the session")
	f.BoolVar(&flags.selection.Redo, "redo", false, "take the last undo back")
	f.BoolVar(&flags.selection.SkipLost, "skip-lost", false,
		"leave out files whose old content was not kept, instead of refusing")
	f.BoolVar(&flags.list, "list", false, "list the calls that can be undone")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show what would happen and change nothing")
	f.BoolVar(&flags.json, "json", false, "print JSON, for programs")
	a.completeFrom(c, "", callsToUndo)
	a.completeSessions(c)
	return c
}

func (a *app) undo(c *cobra.Command, flags undoFlags) error {
	ctx := c.Context()
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	switch {
	case flags.list:
		calls, err := p.Undo.Calls(ctx, undo.Filter{Session: flags.selection.Session})
		if err != nil {
			return err
		}
		return a.listUndo(calls, flags.json)
	case flags.dryRun:
		plan, err := p.Undo.Plan(ctx, p.Workspace, flags.selection)
		if err != nil {
			return unknownName(flags.selection.Call != "", err)
		}
		return a.showUndo(plan, &undo.Outcome{Plan: *plan}, "Would undo", flags.json)
	}
	outcome, err := p.Undo.Undo(ctx, p.Workspace, flags.selection)
	if err != nil {
		return unknownName(flags.selection.Call != "", err)
	}
	return a.showUndo(outcome, outcome, "Undid", flags.json)
}

func (a *app) listUndo(calls []undo.CallInfo, asJSON bool) error {
	if asJSON {
		return writeIndented(a.out, append([]undo.CallInfo{}, calls...))
	}
	return a.writeTable(func(out *bufio.Writer) { listCalls(out, calls) })
}

func listCalls(out io.Writer, calls []undo.CallInfo) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CALL\tSESSION\tTOOL\tWHEN\tFILES")
	for _, call := range calls {
		name := call.Call
		if call.UndoneBy != "" {
			name += " (undone)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", show.Line(name), show.Line(call.Session),
			show.Line(firstOf(call.Tool, "-")),
			call.Time.Local().Format("2006-01-02 15:04:05"), show.Line(strings.Join(call.Files, ", ")))
	}
	_ = w.Flush()
}

func (a *app) showUndo(whole any, done *undo.Outcome, verb string, asJSON bool) error {
	if asJSON {
		return writeIndented(a.out, whole)
	}
	files := firstOf(show.Line(strings.Join(done.Files, ", ")), "the files are already as they were")
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	say("%s %s: %s", verb, show.Line(strings.Join(done.Calls, ", ")), files)
	if done.Preview != "" {
		a.printDiff(done.Preview)
	}
	for _, change := range done.Skipped {
		say("Left out: %s, %s", show.Line(change.Path), show.Line(change.Lost))
	}
	for _, dir := range done.Left {
		say("Left in place: %s, other files are in it", show.Line(dir))
	}
	if done.Call != "" {
		say("To take this back: toolhost undo %s", show.Word(done.Call))
	}
	return nil
}
