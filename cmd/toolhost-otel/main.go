// Toolhost-otel sends traces of calls to an OpenTelemetry collector. toolhost starts it if
// OTEL_EXPORTER_OTLP_ENDPOINT is set and writes to its standard input.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/telemetry/otlp"
)

func main() {
	if buildinfo.Answer(os.Args[1:], "toolhost-otel", os.Stdout) {
		return
	}
	// It ends with its input, so that a terminal's interrupt, which toolhost gets too, loses nothing.
	signal.Ignore(os.Interrupt)
	if err := otlp.Serve(context.Background(), os.Stdin,
		otlp.Options{Version: buildinfo.Read().Version, Complain: complain}); err != nil {
		complain(err)
		os.Exit(1)
	}
}

// complain writes an error on one line: toolhost logs lines.
func complain(err error) {
	fmt.Fprintln(os.Stderr, strings.ReplaceAll(err.Error(), "\n", "; "))
}
