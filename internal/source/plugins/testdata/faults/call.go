package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/plugins/sdk"
)

func crash() {
	serve(func(context.Context) (*sdk.Result, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(9)
		return nil, nil
	})
}

// hang never answers, and ignores cancellation.
func hang() {
	serve(func(context.Context) (*sdk.Result, error) {
		_ = os.WriteFile(os.Getenv("FAULT_BEGUN"), nil, 0o600)
		select {}
	})
}

// deaf hangs, and ignores SIGTERM and the end of its standard input.
func deaf() {
	signal.Ignore(syscall.SIGTERM)
	os.Stdin, _ = os.Open(os.DevNull)
	hang()
}

func hugeResult() {
	serve(func(context.Context) (*sdk.Result, error) { return sdk.Text(strings.Repeat("x", 65<<20)), nil })
}

// logFlood logs for longer than a test runs.
func logFlood() {
	serve(func(context.Context) (*sdk.Result, error) {
		w := bufio.NewWriter(os.Stderr)
		for i := range 100_000 {
			fmt.Fprintln(w, "log line", i)
		}
		return sdk.Text("flooded"), w.Flush()
	})
}

// stdoutNoise writes to the real standard output, where the handshake was.
func stdoutNoise() {
	real := os.NewFile(1, "stdout")
	serve(func(context.Context) (*sdk.Result, error) {
		for range 1000 {
			fmt.Fprintln(real, "1|2|unix|/tmp/evil|grpc")
		}
		return sdk.Text("noisy"), nil
	})
}

func leak() {
	serve(func(context.Context) (*sdk.Result, error) {
		for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}, {Setpgid: true}} {
			cmd := exec.Command("sleep", os.Getenv("FAULT_SLEEP"))
			cmd.SysProcAttr = attr
			if err := cmd.Start(); err != nil {
				return nil, err
			}
		}
		os.Exit(5)
		return nil, nil
	})
}

func panics() {
	serve(func(ctx context.Context) (*sdk.Result, error) {
		go func() { panic("at the disco") }()
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

func badResult() {
	serve(func(context.Context) (*sdk.Result, error) {
		return &sdk.Result{Structured: json.RawMessage("{broken")}, nil
	})
}

// serviceFlood makes more service requests than are answered at a time, and leaves meanwhile.
func serviceFlood() {
	serveWith(nil, func(ctx context.Context, call *sdk.Call) (*sdk.Result, error) {
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() { _, _, _ = call.State(sdk.SessionScope).Get(ctx, "k") })
		}
		all.Wait()
		return sdk.Text("asked"), nil
	})
}
