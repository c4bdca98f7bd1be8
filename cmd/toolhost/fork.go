package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/keep/fork"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/show"
	"github.com/toolhost/toolhost/internal/telemetry"
)

func (a *app) forkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "fork NAME",
		Short: "Give an agent a view of the workspace of its own, and merge it later",
		Long: `Make a fork of the workspace: a view of it that lives on, in which an agent works
without others seeing what it changes, and without seeing what they change in the
same files. "toolhost serve --fork NAME" has an agent work in it, "toolhost call
--fork NAME" makes one call there.

What the fork has changed lies in your state directory, never in the workspace,
until "toolhost fork merge NAME" puts it there: three-way, file by file, with both
sides kept where they conflict.`,
		Example: `  toolhost fork one
  toolhost fork list
  toolhost fork diff one
  toolhost fork merge one
  toolhost fork drop one`,
		Args: cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
			if err := fork.CheckName(args[0]); err != nil {
				return usage(err)
			}
			return nil
		}),
		RunE: a.inProject(func(_ *cobra.Command, args []string, p *project.Project) error {
			if err := p.MakeFork(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Made the fork %s of %s. An agent works in it by: toolhost serve --fork %s\n", args[0],
				show.Line(p.Workspace.Root()), args[0])
			return nil
		}),
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List the forks of the workspace",
		Example: `  toolhost fork list
  toolhost fork list --json`,
		Args: cobra.NoArgs,
		RunE: a.inProject(func(c *cobra.Command, _ []string, p *project.Project) error {
			forks, err := p.Forks(c.Context())
			if err != nil {
				return err
			}
			return a.listForks(forks, asJSON)
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	c.AddCommand(list, a.forkDiffCommand(), a.forkMergeCommand(), a.forkDropCommand())
	return c
}

func (a *app) listForks(forks []fork.Info, asJSON bool) error {
	if asJSON {
		return writeIndented(a.out, append([]fork.Info{}, forks...))
	}
	if len(forks) == 0 {
		fmt.Fprintln(a.out, "The workspace has no forks. toolhost fork NAME makes one.")
		return nil
	}
	return a.writeTable(func(out *bufio.Writer) {
		rows := [][4]string{{"NAME", "MADE", "MERGED", "IN USE"}}
		for _, f := range forks {
			merged, used := "-", "no"
			if !f.Merged.IsZero() {
				merged = f.Merged.Local().Format(time.DateTime)
			}
			if f.Undone {
				merged += " (undone)"
			}
			if f.InUse {
				used = "yes"
			}
			rows = append(rows, [4]string{show.Line(f.Name), f.Made.Local().Format(time.DateTime), merged, used})
		}
		writeRows(out, rows)
	})
}

// forkNames are those of the workspace's forks.
func forkNames(ctx context.Context, p *project.Project) (names []string) {
	forks, _ := p.Forks(ctx)
	for _, f := range forks {
		names = append(names, f.Name)
	}
	return names
}

func (a *app) forkDiffCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a fork has changed since it was made or merged",
		Long: `Show what a fork has changed, against what the workspace held when the fork was
made or last merged. What others have changed meanwhile is not shown.`,
		Example: `  toolhost fork diff one`,
		Args:    cobra.ExactArgs(1),
		RunE: a.inFork(func(ctx context.Context, _ *project.Project, f *fork.Fork) error {
			changes, err := f.Diff(ctx)
			if err != nil {
				return err
			}
			if diff := changes.Diff(); diff != "" {
				a.printDiff(diff)
				return nil
			}
			fmt.Fprintf(a.out, "The fork %s has changed nothing.\n", f.Name)
			return nil
		}),
	}
	a.completeFrom(c, "", forkNames)
	return c
}

// inFork is what a command does with the fork that its argument names.
func (a *app) inFork(do func(context.Context, *project.Project, *fork.Fork) error) func(*cobra.Command, []string) error {
	return a.inProject(func(c *cobra.Command, args []string, p *project.Project) error {
		f, err := p.OpenFork(c.Context(), args[0])
		if err != nil {
			return unknownName(true, err)
		}
		defer f.Close()
		return do(c.Context(), p, f)
	})
}

func (a *app) forkMergeCommand() *cobra.Command {
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "merge NAME",
		Short: "Put what a fork has changed into the workspace",
		Long: `Put what a fork has changed into the workspace, as one call that toolhost undo
takes back. A file that others have changed too is merged by lines, as git
merge-file does: where both have changed the same lines, the file holds both sides
between marks. Where that cannot be, the workspace's file stays and the fork's comes
beside it, as FILE.fork-NAME. Nothing of anybody's is lost.

The fork lives on, and what it holds is what the next merge begins with. Of what has
been undone since the next merge brings all again.

Exit codes: 0 all is merged, 1 there are conflicts or paths that stay in the fork.`,
		Example: `  toolhost fork merge one --dry-run
  toolhost fork merge one`,
		Args: cobra.ExactArgs(1),
		RunE: a.inFork(func(ctx context.Context, p *project.Project, f *fork.Fork) error {
			return a.mergeFork(ctx, p, f, dryRun, asJSON)
		}),
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	a.completeFrom(c, "", forkNames)
	return c
}

// merged is what a merge has done, for programs.
type merged struct {
	Fork      string          `json:"fork"`
	Call      string          `json:"call,omitempty"`
	Files     []string        `json:"files_affected"`
	Conflicts []fork.Conflict `json:"conflicts"`
	Left      []fork.Left     `json:"left"`
	Kept      []string        `json:"kept_directories,omitempty"`
	DryRun    bool            `json:"dry_run,omitempty"`
}

func (a *app) mergeFork(ctx context.Context, p *project.Project, f *fork.Fork, dryRun, asJSON bool) error {
	m, err := f.Plan(ctx)
	if err != nil {
		return err
	}
	done := merged{Fork: f.Name, Files: append([]string{}, m.Changes.Names()...),
		Conflicts: append([]fork.Conflict{}, m.Conflicts...), Left: append([]fork.Left{}, m.Left...), DryRun: dryRun}
	if !dryRun {
		if done.Call, done.Kept, err = p.MergeFork(ctx, f, m); err != nil {
			return err
		}
	}
	if asJSON {
		err = writeIndented(a.out, done)
	} else {
		a.showMerge(&done, m)
	}
	if err == nil && len(m.Conflicts)+len(m.Left) > 0 {
		return &exitError{code: exitFailed}
	}
	return err
}

func (a *app) showMerge(done *merged, m *fork.Merge) {
	say := func(format string, args ...any) { fmt.Fprintln(a.out, noted(a.out, fmt.Sprintf(format, args...), 2)) }
	switch names := show.Line(strings.Join(done.Files, ", ")); {
	case m.Empty():
		say("There is nothing to merge from the fork %s.", done.Fork)
	case done.DryRun:
		say("Merging the fork %s would change: %s", done.Fork, cmp.Or(names, "nothing"))
		if diff := m.Changes.Diff(); diff != "" {
			a.printDiff(diff)
		}
	default:
		say("Merged the fork %s: %s", done.Fork, cmp.Or(names, "nothing had to be changed"))
	}
	for _, c := range done.Conflicts {
		text := "Conflict: " + show.Line(c.Path) + ": " + show.Line(c.Why)
		if c.Beside != "" {
			text += "; the fork's side is " + show.Line(c.Beside)
		}
		say("%s", text)
	}
	for _, l := range done.Left {
		say("Stays in the fork: %s: %s", show.Line(l.Path), show.Line(l.Why))
	}
	for _, dir := range done.Kept {
		say("Left in place: %s, other files are in it", show.Line(dir))
	}
	if done.Call != "" {
		say("To take this back: toolhost undo %s", show.Word(done.Call))
	}
}

func (a *app) forkDropCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "drop NAME",
		Short: "Remove a fork with all that is in it",
		Long: `Remove a fork with all that is in it, its record and what undo would bring back
there. What was merged stays in the workspace.`,
		Example: `  toolhost fork drop one`,
		Args:    cobra.ExactArgs(1),
		RunE: a.inProject(func(_ *cobra.Command, args []string, p *project.Project) error {
			if err := p.DropFork(args[0]); err != nil {
				return unknownName(true, err)
			}
			fmt.Fprintf(a.out, "Dropped the fork %s.\n", args[0])
			return nil
		}),
	}
	a.completeFrom(c, "", forkNames)
	return c
}

// forkFlag adds --fork to a command that works in a fork.
func (a *app) forkFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.fork, "fork", "", "work in this fork of the workspace (toolhost fork)")
	a.completeFrom(c, "fork", forkNames)
}

// lookOnly are commands that look at what a fork's sessions keep, and lookInside those
// that look at its files too, also while a session works in it.
var (
	lookOnly   = []string{"events", "kill", "ps", "show"}
	lookInside = []string{"approve", "diff"}
)

// enterFork has the program go on in the fork that --fork names.
func (a *app) enterFork(c *cobra.Command) error {
	name := a.flags.fork
	if name == "" {
		return nil
	}
	if err := fork.CheckName(name); err != nil {
		return usage(err)
	}
	if f, root := fork.Inside(); f != nil {
		if f.Name != name {
			return usagef("Leave the fork first.", "this runs in the fork %s of %s already", f.Name, root)
		}
		sandbox.BelieveFull() // a fork is entered where it works
		a.forked = f
		return nil
	}
	ctx := c.Context()
	opening, err := a.opening(ctx)
	if err != nil {
		return err
	}
	opening.Note = nil // it comes in the fork
	opening.Telemetry = func(string) *telemetry.Relay { return nil }
	p, err := opening.Open(ctx)
	if err != nil {
		return a.asUsage(err)
	}
	var f *fork.Fork
	look, root := slices.Contains(lookOnly, c.Name()), p.Workspace.Root()
	switch {
	case look:
		a.forked, err = p.NamedFork(name)
	case slices.Contains(lookInside, c.Name()):
		f, err = p.LookInFork(name)
	default:
		f, err = p.HoldFork(name)
	}
	p.Close()
	if err != nil || look {
		return unknownName(true, err)
	}
	defer f.Close()
	code, err := f.Enter(ctx, root, a.args)
	if err != nil {
		return err
	}
	return &exitError{code: code}
}
