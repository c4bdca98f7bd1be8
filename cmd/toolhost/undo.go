package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/undo"
)

type undoFlags struct {
	selectFlags
	dryRun, patch bool
}

// add adds the flags common to undo and redo.
func (flags *undoFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&flags.selection.Skip, "skip", false,
		"leave out files that were changed since, or whose old content was not kept, instead of refusing")
	f.BoolVar(&flags.selection.Ours, "ours", false,
		"also overwrite files that were changed since, or are too large to keep; else their current content is recorded first")
	f.BoolVarP(&flags.patch, "patch", "p", false, "show the changes as a diff")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show what would happen and change nothing")
}

func (a *app) undoCommand() *cobra.Command {
	var flags undoFlags
	c := &cobra.Command{
		Use:   "undo [CALL]",
		Short: "Undo the file changes of a call",
		Long: `Undo the file changes of the last call, of the call named (as toolhost log shows
it), of all calls since a call or a time, or of a session. It covers changes made
by tools and by the processes of commands, at the sandbox levels full and
landlock. If a file was changed since, nothing is undone: the difference is shown,
and --skip or --ours decides.`,
		Example: `  toolhost undo
  toolhost undo k7f2 --dry-run -p
  toolhost undo --to k7f2
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
	c.Flags().StringVar(&flags.selection.To, "to", "", "go back to before this call: undo it and all calls since")
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
	if flags.dryRun {
		plan, err := p.Undo.Plan(ctx, w, flags.selection)
		if err != nil {
			return unknownName(flags.selection.Call != "", err)
		}
		return a.showUndo(ctx, p, plan, &undo.Outcome{Plan: *plan}, flags)
	}
	outcome, err := p.Undo.Undo(ctx, w, flags.selection)
	if err != nil {
		return unknownName(flags.selection.Call != "", err)
	}
	return a.showUndo(ctx, p, outcome, outcome, flags)
}

// undone returns what was done, or would be, and to which calls.
func (flags *undoFlags) undone(done *undo.Outcome) (verb string, calls []string) {
	verbs, names := [2]string{"Undid", "Would undo"}, done.Calls
	if flags.selection.Redo && len(done.Redone) > 0 {
		verbs, names = [2]string{"Redid", "Would redo"}, done.Redone
	}
	verb = verbs[0]
	if flags.dryRun {
		verb = verbs[1]
	}
	return verb, names
}

// withTool returns the names of calls for people, with the tool if there is one call of that name.
func withTool(ctx context.Context, store *undo.Store, names []string) string {
	text := show.Line(strings.Join(names, ", "))
	if len(names) != 1 {
		return text
	}
	calls, err := store.Calls(ctx, undo.Filter{Call: names[0]})
	if err != nil || len(calls) != 1 || calls[0].Tool == "" {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, show.Line(calls[0].Tool))
}

func (a *app) showUndo(ctx context.Context, p *project.Project, whole any, done *undo.Outcome, flags undoFlags) error {
	if flags.json {
		return writeIndented(a.out, whole)
	}
	verb, names := flags.undone(done)
	calls := withTool(ctx, p.Undo, names)
	files, summary := slices.Clone(done.Files), done.Summary
	files = slices.DeleteFunc(files, func(path string) bool { return slices.Contains(done.Left, path) })
	summary.Paths = len(files)
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	if len(done.Files) == 0 {
		say("Nothing to do for %s: the files are already as they were. toolhost log lists the calls before it.", calls)
	} else {
		say("%s %s: %s", verb, calls, cmp.Or(show.Line(change.Names(files)), "nothing"))
		if len(files) > 0 {
			say("  %s", summary)
		}
	}
	if flags.patch && done.Preview != "" {
		a.printDiff(done.Preview)
	}
	if len(done.Over) > 0 {
		say("Replaced, though it was changed since: %s", show.Line(change.Names(done.Over)))
	}
	for i, left := range done.Skipped {
		if i == change.MostNames {
			say("Left out: %d more", len(done.Skipped)-i)
			break
		}
		say("Left out: %s, %s", show.Line(left.Path), show.Line(left.Lost))
	}
	for i, special := range done.Special {
		switch {
		case i == change.MostNames:
			say("Left in place: %d more pipes, sockets or devices", len(done.Special)-i)
		case i > change.MostNames:
		case special.To != "":
			say("Moved aside: %s to %s, a pipe, socket or device", show.Line(special.Path), show.Line(special.To))
		default:
			say("Left in place: %s, a pipe, socket or device", show.Line(special.Path))
		}
	}
	if len(done.Unlisted) > 0 {
		say("Without the access control list that was there, which was not kept: %s", show.Line(change.Names(done.Unlisted)))
	}
	for _, call := range slices.Sorted(maps.Keys(done.NotKept)) {
		say("What %s changed besides does not come back. %s", show.Line(call), show.Line(done.NotKept[call]))
	}
	if len(done.Left) > 0 {
		say("Left in place: %s, other files are in it", show.Line(change.Names(done.Left)))
	}
	if len(done.Unkept) > 0 {
		say("Too large to keep, and so gone for good: %s", show.Line(change.Names(done.Unkept)))
	} else if done.Call != "" {
		say("To take this back: toolhost undo %s", show.Word(done.Call))
	}
	return nil
}

func (a *app) showDiff(d *undo.Difference, patch bool) {
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	say("%s changed: %s", show.Line(strings.Join(d.Calls, ", ")),
		cmp.Or(show.Line(change.Names(d.Files)), "nothing that still differs"))
	if len(d.Files) > 0 {
		say("  %s", d.Summary)
	}
	if patch && d.Diff != "" {
		a.printDiff(d.Diff)
	}
	if len(d.Since) > 0 {
		say("Changed since by others, which is included: %s", show.Line(change.Names(d.Since)))
	}
	for i, unknown := range d.Unknown {
		if i == change.MostNames {
			say("Not shown: %d more", len(d.Unknown)-i)
			break
		}
		say("Not shown: %s, %s", show.Line(unknown.Path), show.Line(unknown.Lost))
	}
}

// sayHowToUndo prints how to undo a dangerous call on a terminal, and for every call what is not kept.
func (a *app) sayHowToUndo(ctx context.Context, p *project.Project, session string, o *host.Outcome) {
	if o.Result != nil {
		if notKept, _ := o.Result.Metadata[change.NotKept].(string); notKept != "" {
			defer fmt.Fprintln(a.err, noted(a.err, show.Line(notKept), 2))
		}
	}
	if o.Definition == nil || o.Definition.Risk != tool.Dangerous || !isTerminal(a.err) {
		return
	}
	calls, err := p.Undo.Calls(ctx, undo.Filter{Session: session, Call: o.RequestID})
	if err == nil && len(calls) > 0 && len(calls[0].Files) > 0 {
		fmt.Fprintln(a.err, noted(a.err, "To take this back: toolhost undo "+show.Word(o.RequestID), 2))
	}
}
