package main

import (
	"context"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/telemetry"
)

// startTelemetry has traces and metrics sent, when the environment names a
// collector. Without one it does nothing at all, and returns nil.
func (a *app) startTelemetry(ctx context.Context, workspace string) *telemetry.Relay {
	if a.telemetry != nil || !telemetry.Asked() {
		return a.telemetry
	}
	binary, err := proc.LookSibling(telemetry.Program, workspace)
	if err == nil {
		a.telemetry, err = telemetry.Start(telemetry.Options{Binary: binary, Logger: a.logger})
	}
	if err != nil {
		a.logger.WarnContext(ctx, "there is no telemetry", "error", err)
	}
	return a.telemetry
}
