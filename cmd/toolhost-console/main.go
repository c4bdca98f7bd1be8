// Toolhost-console shows what waits for a person and what ran, in a browser.
// toolhost console starts it, and it ends with its standard input, which
// toolhost console holds open.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/console"
	"github.com/toolhost/toolhost/internal/show"
)

func main() {
	if buildinfo.Answer(os.Args[1:], "toolhost-console", os.Stdout) {
		return
	}
	toolhost := flag.String("toolhost", "", "the program toolhost that is asked about projects")
	open := flag.Bool("open", false, "open the page in a browser where there can be one")
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
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := console.Listen(port, console.Options{Toolhost: toolhost, Version: buildinfo.Read().Version,
		Logger: logger})
	if err != nil {
		return err
	}
	address := server.Address()
	fmt.Println(address)
	if open && console.BrowserExpected(os.Getenv) {
		server.OpenBrowser(address, func(err error) {
			fmt.Fprintf(os.Stderr, "No browser was opened: %s. Open the address yourself.\n", show.Line(err.Error()))
		})
	}
	go func() {
		tellAgain(server, os.Stdin)
		stop() // toolhost console has ended, however it did
	}()
	return server.Serve(ctx)
}

// tellAgain prints a new address for each line that it is given: one opens the
// console once. It returns where no more can come.
func tellAgain(server *console.Server, in io.Reader) {
	for in := bufio.NewReader(in); ; {
		switch b, err := in.ReadByte(); {
		case err != nil:
			return
		case b == '\n':
			fmt.Println(server.Address())
		}
	}
}
