package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/mcpserve"
	"github.com/toolhost/toolhost/internal/replay"
)

// serveRecording answers an MCP client from the record of a session.
func (a *app) serveRecording(ctx context.Context, session, order string) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Recorder.HasSession(ctx, session); err != nil {
		return unknownName(true, err)
	}
	recording, err := replay.ReadAnswers(ctx, p.Recorder, session)
	if err != nil {
		return err
	}
	playback, err := replay.NewPlayback(recording, p.Host.Catalog(), order)
	if err != nil {
		return usage(err)
	}
	h, err := host.New(ctx, host.Options{Root: p.Workspace.Root(), Sources: []host.Source{playback}, Logger: a.logger})
	if err != nil {
		return err
	}
	server := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: version(), Logger: a.logger,
		Instructions: func(context.Context) string {
			return "The tools of the recorded session " + session +
				". Calls are answered from the record; nothing runs."
		}})
	err = server.ServeStdio(ctx, a.in, a.out)
	if left := playback.Left(); err == nil && left > 0 {
		fmt.Fprintf(a.err, "%s of the record were not asked for.\n", counted(left, "call"))
	}
	return err
}
