package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/show"
)

// undoFlags are the flags of toolhost undo.
type undoFlags struct {
	selectFlags
	list, dryRun bool
}

// add adds the flags that undo and redo have in common.
func (flags *undoFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&flags.selection.Skip, "skip", false,
		"leave out files that somebody has changed since, instead of refusing")
	f.BoolVar(&flags.selection.Ours, "ours", false,
		"replace files that somebody has changed since, too; what is replaced is kept")
	f.BoolVar(&flags.selection.SkipLost, "skip-lost", false,
		"leave out files whose old content was not kept, instead of refusing")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show what would happen and change nothing")
	c.MarkFlagsMutuallyExclusive("skip", "ours")
}

func (a *app) undoCommand() *cobra.Command {
	var flags undoFlags
	c := &cobra.Command{
		Use:   "undo [CALL]",
		Short: "Take back what a call changed in files",
		Long: `Take back what a call changed in files: the last one, the one named (as
toolhost undo --list shows it), all of a session, or all since a time. It covers
what tools change themselves and what the processes of commands change, at the
sandbox levels full and landlock. Nothing is undone when somebody has changed a
file since; the difference is shown, and --skip or --ours says what to do.`,
		Example: `  toolhost undo --list
  toolhost undo
  toolhost undo tool_step_0045 --dry-run
  toolhost undo --all --session cli
  toolhost undo --since 30m --path src`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.read(args); err != nil {
				return err
			}
			return a.undo(c, flags)
		},
	}
	a.selecting(c, &flags.selectFlags)
	flags.add(c)
	c.Flags().BoolVar(&flags.selection.Redo, "redo", false, "take the last undo back, as toolhost redo does")
	c.Flags().BoolVar(&flags.list, "list", false, "list the calls that can be undone")
	return c
}

func (a *app) undo(c *cobra.Command, flags undoFlags) error {
	ctx := c.Context()
	p, w, err := a.changing(c, &flags.selectFlags)
	if err != nil {
		return err
	}
	defer p.Close()
	defer w.Close()
	switch {
	case flags.list:
		calls, err := p.Undo.Calls(ctx, undo.Filter{Session: flags.selection.Session})
		if err != nil {
			return err
		}
		return a.listUndo(calls, flags.json)
	case flags.dryRun:
		plan, err := p.Undo.Plan(ctx, w, flags.selection)
		if err != nil {
			return unknownName(flags.selection.Call != "", err)
		}
		return a.showUndo(plan, &undo.Outcome{Plan: *plan}, flags)
	}
	outcome, err := p.Undo.Undo(ctx, w, flags.selection)
	if err != nil {
		return unknownName(flags.selection.Call != "", err)
	}
	return a.showUndo(outcome, outcome, flags)
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
			show.Line(cmp.Or(call.Tool, "-")),
			call.Time.Local().Format("2006-01-02 15:04:05"), show.Line(changedBy(&call)))
	}
	_ = w.Flush()
}

// changedBy names what a call changed, and what of it cannot come back.
func changedBy(call *undo.CallInfo) string {
	files := strings.Join(call.Files, ", ")
	switch {
	case call.NotKept == "":
		return files
	case files == "":
		return "[" + call.NotKept + "]"
	}
	return files + " [" + call.NotKept + "]"
}

// undone names what was done, or would be, and to which calls.
func (flags *undoFlags) undone(done *undo.Outcome) (verb, calls string) {
	verbs, names := [2]string{"Undid", "Would undo"}, done.Calls
	if flags.selection.Redo && len(done.Redone) > 0 {
		verbs, names = [2]string{"Redid", "Would redo"}, done.Redone
	}
	verb = verbs[0]
	if flags.dryRun {
		verb = verbs[1]
	}
	return verb, show.Line(strings.Join(names, ", "))
}

func (a *app) showUndo(whole any, done *undo.Outcome, flags undoFlags) error {
	if flags.json {
		return writeIndented(a.out, whole)
	}
	verb, calls := flags.undone(done)
	files := cmp.Or(show.Line(strings.Join(done.Files, ", ")), "the files are already as they were")
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	say("%s %s: %s", verb, calls, files)
	if done.Preview != "" {
		a.printDiff(done.Preview)
	}
	for _, path := range done.Over {
		say("Replaced, though somebody had changed it since: %s", show.Line(path))
	}
	for _, change := range done.Skipped {
		say("Left out: %s, %s", show.Line(change.Path), show.Line(change.Lost))
	}
	for _, call := range slices.Sorted(maps.Keys(done.NotKept)) {
		say("What %s changed besides does not come back. %s", show.Line(call), show.Line(done.NotKept[call]))
	}
	for _, dir := range done.Left {
		say("Left in place: %s, other files are in it", show.Line(dir))
	}
	if done.Call != "" {
		say("To take this back: toolhost undo %s", show.Word(done.Call))
	}
	return nil
}

func (a *app) showDiff(d *undo.Difference) {
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	say("%s changed: %s", show.Line(strings.Join(d.Calls, ", ")),
		cmp.Or(show.Line(strings.Join(d.Files, ", ")), "nothing that still differs"))
	if d.Diff != "" {
		a.printDiff(d.Diff)
	}
	for _, path := range d.Since {
		say("Somebody has changed it since: %s", show.Line(path))
	}
	for _, change := range d.Unknown {
		say("Not shown: %s, %s", show.Line(change.Path), show.Line(change.Lost))
	}
}

// sayHowToUndo ends a dangerous call on a terminal with the way to take it back.
func (a *app) sayHowToUndo(ctx context.Context, p *project.Project, session string, o *host.Outcome) {
	if o.Definition == nil || o.Definition.Risk != tool.Dangerous || !isTerminal(a.err) {
		return
	}
	calls, err := p.Undo.Calls(ctx, undo.Filter{Session: session, Call: o.RequestID})
	if err != nil || len(calls) == 0 {
		return
	}
	if len(calls[0].Files) > 0 {
		fmt.Fprintln(a.err, noted(a.err, "To take this back: toolhost undo "+show.Word(o.RequestID), 2))
	}
	if calls[0].NotKept != "" {
		fmt.Fprintln(a.err, noted(a.err, show.Line(calls[0].NotKept), 2))
	}
}
