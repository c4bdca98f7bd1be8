package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/show"
)

func (a *app) recordCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "record",
		Short: "Check the record of what ran",
		Args:  cobra.NoArgs,
		RunE:  group,
	}
	c.AddCommand(a.recordVerifyCommand())
	return c
}

func (a *app) recordVerifyCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [SESSION]",
		Short: "Check that nothing in the record was changed or removed",
		Long: `Check that nothing in the record was changed or removed: every entry, their
order, and what they hold. Each entry has the hash of all before it. With SESSION,
problems in the entries of other sessions are left out.

Exit codes: 0 the record is as it was written, 1 it is not.`,
		Example: `  toolhost record verify
  toolhost record verify cli --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			session := ""
			if len(args) > 0 {
				session = args[0]
				if err := record.ValidSession(session); err != nil {
					return usage(err)
				}
			}
			return a.verifyRecord(c.Context(), session, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

func (a *app) verifyRecord(ctx context.Context, session string, asJSON bool) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if session != "" {
		if err := p.Recorder.HasSession(ctx, session); err != nil {
			return unknownName(true, err)
		}
	}
	v, err := p.Recorder.Verify(ctx, session)
	if err != nil {
		return err
	}
	if asJSON {
		if err := writeIndented(a.out, v); err != nil {
			return err
		}
	} else {
		a.printVerified(v)
	}
	if len(v.Problems) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) printVerified(v *record.Verified) {
	for _, p := range v.Problems {
		line := p.Where
		if p.Entry > 0 {
			line += fmt.Sprintf(", entry %d", p.Entry)
		}
		if p.Session != "" {
			line += " of session " + p.Session
		}
		fmt.Fprintln(a.out, noted(a.out, show.Line(line+": "+p.What), 2))
	}
	if n := len(v.Problems); n > 0 {
		fmt.Fprintf(a.out, "The record is not as it was written: %s in %s.\n", counted(n, "problem"),
			counted(int(v.Entries), "line"))
		return
	}
	fmt.Fprintf(a.out, "The record is as it was written: %s, %s with contents.\n", counted(int(v.Entries), "line"),
		counted(int(v.Blobs), "file"))
}

// pruneFlags are the flags of toolhost prune.
type pruneFlags struct {
	olderThan string
	maxMB     int64
}

func (a *app) pruneCommand() *cobra.Command {
	var flags pruneFlags
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove what is kept of old calls",
		Long: `Remove what is kept of old calls: entries of the record, copies in .agent/runs,
and what undo would bring back, beyond their bounds. Without flags the bounds are
those that hold anyway.`,
		Example: `  toolhost prune
  toolhost prune --older-than 7d
  toolhost prune --max-mb 100`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.prune(c.Context(), flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.olderThan, "older-than", "", "remove what is older, as 12h or 7d (default: the bound in force)")
	f.Int64Var(&flags.maxMB, "max-mb", 0, "keep so many megabytes of the record (default: the bound in force)")
	return c
}

func (a *app) prune(ctx context.Context, flags pruneFlags) error {
	since, err := timeFlag("older-than", flags.olderThan)
	if err != nil {
		return err
	}
	if flags.maxMB < 0 {
		return usagef("Give a positive number.", "--max-mb %d: there is no such size", flags.maxMB)
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	limits := p.RecordLimits()
	if !since.IsZero() {
		limits.Age = max(time.Since(since), time.Nanosecond)
	}
	if flags.maxMB > 0 {
		limits.Bytes = flags.maxMB << 20
	}
	before := p.Recorder.LogSize()
	removed, err := p.Recorder.Prune(limits)
	if err != nil {
		return err
	}
	if _, err := p.Undo.Prune(ctx); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The record takes %s, before %s. Removed copies of %s.\n", megabytes(p.Recorder.LogSize()),
		megabytes(before), counted(len(removed), "session"))
	return nil
}
