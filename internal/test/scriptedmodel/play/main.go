// Play serves a scripted model on loopback, for a command or until it is ended,
// and reports whether the script was played. See package scriptedmodel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/test/scriptedmodel"
)

type options struct {
	script, log, requests, address string
	timeout                        time.Duration
	command                        []string
}

func main() {
	var o options
	flag.StringVar(&o.script, "script", "", "the script, a JSON `file`")
	flag.StringVar(&o.log, "log", "", "where to write what happens, a `file` of JSON lines")
	flag.StringVar(&o.requests, "requests", "", "a `directory` to keep every request in")
	flag.StringVar(&o.address, "address", "127.0.0.1:0", "the `address` to serve at")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long the command may take")
	flag.Parse()
	o.command = flag.Args()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

func (o options) run() error {
	text, err := os.ReadFile(o.script)
	if err != nil {
		return err
	}
	script, err := scriptedmodel.Parse(text)
	if err != nil {
		return err
	}
	model := scriptedmodel.New(script)
	if o.log != "" {
		log, err := os.Create(o.log)
		if err != nil {
			return err
		}
		defer log.Close()
		model.Log = log
	}
	if o.requests != "" {
		model.Requests = func(number int, api string, body []byte) {
			_ = os.WriteFile(filepath.Join(o.requests, fmt.Sprintf("%03d-%s.json", number, api)), body, 0o600)
		}
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: model, ReadHeaderTimeout: time.Minute}
	defer server.Close()
	go func() { _ = server.Serve(listener) }()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	url := "http://" + listener.Addr().String()
	if len(o.command) == 0 {
		fmt.Println(url)
		<-ctx.Done()
		return model.Check()
	}
	return errors.Join(o.drive(ctx, url), model.Check())
}

// drive runs the command to its end, and ends everything that it started.
func (o options) drive(ctx context.Context, url string) error {
	argv := make([]string, len(o.command))
	for i, arg := range o.command {
		argv[i] = strings.ReplaceAll(arg, "{URL}", url)
	}
	result, err := proc.Run(ctx, proc.Command{
		Argv: argv, Env: append(os.Environ(), "SCRIPTEDMODEL_URL="+url), Timeout: o.timeout,
		OnOutput: func(stream string, p []byte) {
			to := os.Stdout
			if stream == "stderr" {
				to = os.Stderr
			}
			_, _ = to.Write(p)
		},
	})
	switch {
	case err != nil:
		return err
	case result.TimedOut:
		return fmt.Errorf("%s has not ended after %s", argv[0], o.timeout)
	case result.ExitCode != 0:
		return fmt.Errorf("%s exited with %d", argv[0], result.ExitCode)
	}
	return nil
}
