package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
)

func (a *app) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget VALUE",
		Short: "Remove a leaked value from the record and the undo store",
		Long: `Remove a leaked value, such as a password or token, from the record and the undo
store. In the record it is replaced by [redacted]. The undo store drops the file
contents that held it, and the files that can no longer be restored are listed.
With - the value is read from standard input, which keeps it out of the shell's
history.

Names of files and targets of links stay in the undo store. Files of the workspace
are not changed; copies in .agent/runs that hold the value are listed. Change the
password or token at its source all the same.`,
		Example: `  toolhost forget - < leaked.txt`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.forget(c.Context(), args[0]) },
	}
}

// shortest is the length in bytes of the shortest searched value.
const shortest = 4

func (a *app) forget(ctx context.Context, value string) error {
	if value == "-" {
		line, _, err := a.readLine(ctx, "")
		if err != nil {
			return err
		}
		value = strings.TrimRight(line, "\r\n")
	}
	if len(value) < shortest {
		return usagef("Give the whole value.", "a value of %d bytes is too short to look for", len(value))
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	found, err := p.Recorder.Forget(value)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The record: taken out of %s.\n", counted(found.Entries, "event"))
	if found.Damaged > 0 {
		fmt.Fprintf(a.out, "  Removed without looking: %s that could not be read.\n", counted(found.Damaged, "content"))
	}
	lost, err := p.Undo.Forget(ctx, value)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Undo: %s of files can no longer be restored.\n", counted(len(lost), "earlier version"))
	slices.Sort(lost)
	a.named(slices.Compact(lost))
	if len(found.Copies) > 0 {
		fmt.Fprintln(a.out, "These copies still hold it; remove them:")
		a.named(found.Copies)
	}
	return nil
}

// named prints a bounded number of paths.
func (a *app) named(paths []string) {
	const most = 20
	for i, path := range paths {
		if i == most {
			fmt.Fprintf(a.out, "  and %d more\n", len(paths)-most)
			return
		}
		fmt.Fprintf(a.out, "  %s\n", show.Line(path))
	}
}
