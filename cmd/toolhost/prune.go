package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

type pruneFlags struct {
	olderThan string
	maxMB     int64
}

func (a *app) pruneCommand() *cobra.Command {
	var flags pruneFlags
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old records",
		Long: `Delete old records: entries of the record, copies in .agent/runs, and the contents
kept for undo. By default the limits of the record block apply. --max-mb limits the
record; --older-than also limits undo. Copies that changed within the last minute
stay.`,
		Example: `  toolhost prune
  toolhost prune --older-than 7d
  toolhost prune --max-mb 100`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.prune(c.Context(), flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.olderThan, "older-than", "", "delete records older than this, such as 12h or 7d (default: the limit in force)")
	f.Int64Var(&flags.maxMB, "max-mb", 0,
		"keep at most this many megabytes of the record (default: the limit in force)")
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
	copies, err := p.Recorder.Prune(limits)
	if err != nil {
		return err
	}
	left := p.Recorder.LogSize()
	fmt.Fprintf(a.out, "The record takes %s, before %s. Removed %s of long outputs; they take %s.\n", megabytes(left),
		megabytes(before), counted(copies.Removed, "file"), megabytes(copies.Left))
	if copies.Fresh > 0 {
		fmt.Fprintf(a.out, "Not removed: %s, written within the last minute. Try again in a minute.\n",
			counted(copies.Fresh, "file"))
	}
	changes, err := p.PruneUndo(ctx, limits.Age, !since.IsZero())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Undo takes %.1f MiB; %s can no longer be undone.\n", float64(changes.Left)/(1<<20),
		counted(changes.Lines, "change"))
	return nil
}
