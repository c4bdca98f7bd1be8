// Toolhost-console shows waiting approvals and past calls in a browser. toolhost console starts it and
// holds its standard input open; it ends with that.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/console"
)

func main() {
	if buildinfo.Answer(os.Args[1:], "toolhost-console", os.Stdout) {
		return
	}
	toolhost := flag.String("toolhost", "", "the program toolhost that is asked about projects")
	open := flag.Bool("open", false, "open the page in a browser if there can be one")
	port := flag.String("port", "0", "the port of 127.0.0.1 to listen on")
	flag.Parse()
	if err := serve(*toolhost, *port, *open); err != nil {
		e := tool.AsError(err)
		fmt.Fprintf(os.Stderr, "%s\n%s\n", e.Message, e.Suggestion)
		os.Exit(1)
	}
}

func serve(toolhost, port string, open bool) error {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return console.Run(ctx, port, open, console.Options{Toolhost: toolhost, Version: buildinfo.Read().Version,
		Logger: logger}, os.Stdin, os.Stdout, os.Stderr)
}
