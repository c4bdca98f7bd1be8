package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/telemetry"
	"github.com/toolhost/toolhost/internal/trajectory"
)

// formatReplay is written for toolhost itself.
const formatReplay = "replay"

func (a *app) exportCommand() *cobra.Command {
	var format string
	content := telemetry.ContentAsked()
	names := make([]string, 0, len(trajectory.Formats())+1)
	for _, f := range trajectory.Formats() {
		names = append(names, string(f))
	}
	names = append(names, formatReplay)
	c := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a recorded session in a format that others read",
		Long: `Write a recorded session in a format that others read:

  jsonl   one JSON object a line for each call, with all that is kept of it
  otel    spans of OpenTelemetry, as one OTLP request in JSON
  atif    Harbor's Agent Trajectory Interchange Format
  replay  what "toolhost replay --from FILE" runs again in another checkout

Spans have no parameters, results or messages of errors, if --content does not
ask for them. "toolhost events --sessions" lists the sessions; function schemas
for model APIs are what "toolhost schema" prints.`,
		Example: `  toolhost export cli --format jsonl > session.jsonl
  toolhost export cli --format atif > trajectory.json
  toolhost export cli --format otel > spans.json
  toolhost export cli --format replay > session.replay`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.export(c.Context(), args[0], trajectory.Format(format), content)
		},
	}
	f := c.Flags()
	f.StringVar(&format, "format", string(trajectory.JSONL), "one of "+strings.Join(names, ", "))
	f.BoolVar(&content, "content", content, "with otel: parameters, results and messages of errors too")
	completeFlag(c, "format", names...)
	a.artifactsFlag(c)
	a.completeFrom(c, "", sessionNames)
	return c
}

func (a *app) export(ctx context.Context, session string, format trajectory.Format, content bool) error {
	if err := record.ValidSession(session); err != nil {
		return usage(err)
	}
	if format != formatReplay && !slices.Contains(trajectory.Formats(), format) {
		return usage(trajectory.UnknownFormat(format, formatReplay))
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Recorder.HasSession(ctx, session); err != nil {
		return unknownName(true, err)
	}
	if format == formatReplay {
		return a.exportForReplay(ctx, p, session)
	}
	return trajectory.Write(a.out, format, trajectory.Session{Name: session, Workspace: p.Workspace.Root(),
		Version: buildinfo.Read().Version, Content: content}, p.Recorder.Details(ctx, record.Filter{Session: session}))
}
