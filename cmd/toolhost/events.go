package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/record"
)

func (a *app) eventsCommand() *cobra.Command {
	var options record.ReadOptions
	var session string
	c := &cobra.Command{
		Use:   "events",
		Short: "Show what ran: the record of a session, one JSON object a line",
		Example: `  toolhost events --last 10
  toolhost events --session cli --follow`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := record.ValidSession(session); err != nil {
				return usage(err)
			}
			if options.Last < 0 {
				return usagef("Give how many are to be shown, or 0 for all.", "--last %d: there is no such number of events", options.Last)
			}
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			for event, err := range p.Recorder.Events(c.Context(), session, options) {
				if err != nil {
					if c.Context().Err() != nil {
						return nil
					}
					return err
				}
				fmt.Fprintf(a.out, "%s\n", event.Line)
			}
			return nil
		},
	}
	c.Flags().StringVar(&session, "session", "cli", "the session")
	c.Flags().BoolVar(&options.Follow, "follow", false, "go on with the events that come")
	a.artifactsFlag(c)
	c.Flags().IntVar(&options.Last, "last", 0, "only so many of the events that are there; 0 shows all")
	return c
}
