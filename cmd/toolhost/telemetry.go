package main

import (
	"context"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/telemetry"
	"github.com/toolhost/toolhost/host/tool"
)

// startTelemetry has traces and metrics sent, when the environment names a
// collector. Without one it does nothing at all.
func (a *app) startTelemetry(ctx context.Context, workspace string) {
	if a.telemetry != nil || !telemetry.Asked() {
		return
	}
	binary, err := proc.LookSibling(telemetry.Program, workspace)
	if err == nil {
		a.telemetry, err = telemetry.Start(telemetry.Options{Binary: binary, Logger: a.logger})
	}
	if err != nil {
		a.logger.WarnContext(ctx, "there is no telemetry", "error", err)
	}
}

// tracing is what a host tells of its calls; nil when nobody wants to know.
func (a *app) tracing() func(context.Context, string, *tool.Call) (context.Context, func(*host.Outcome)) {
	if a.telemetry == nil {
		return nil
	}
	return a.telemetry.Trace
}
