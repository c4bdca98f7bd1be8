// Toolhost-hub runs a fleet: hubs, workers and gateways. Only it links NATS; toolhost starts it
// for the commands hub, worker and fleet, and for serve with --hub or --workers.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if code, ok := project.Reexec(args); ok {
		return code
	}
	if buildinfo.Answer(args, "toolhost-hub", os.Stdout) {
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := new(app)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "toolhost:", err)
	own := new(tool.Error)
	if errors.As(err, &own) && own.Suggestion != "" {
		fmt.Fprintln(os.Stderr, "  ", own.Suggestion)
	}
	if own.Code == tool.InvalidArgument {
		return 2
	}
	return 1
}

type app struct {
	logLevel string
	logger   *slog.Logger
	config   string
	work     string
	toolset  string
	trust    bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{Use: "toolhost", Short: "Run many sessions on many machines", SilenceUsage: true,
		SilenceErrors: true, Version: buildinfo.Read().Version,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.setUp() }}
	f := root.PersistentFlags()
	f.StringVar(&a.logLevel, "log-level", "warn", "debug, info, warn or error; the log goes to stderr")
	f.StringVar(&a.config, "config", "", "the agent.hcl to use, on the workers; it counts as approved")
	f.StringVar(&a.work, "workspace", "", "the directory to work in, on the workers")
	f.StringVar(&a.toolset, "toolset", "", "the toolset to offer")
	f.BoolVar(&a.trust, "trust", false, "use an agent.hcl that is not approved, without storing an approval")
	root.AddCommand(a.hubCommand(), a.workerCommand(), a.serveCommand(), a.fleetCommand(), a.consoleCommand())
	return root
}

func (a *app) setUp() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return usagef("Use debug, info, warn or error.", "--log-level %s: there is no such level", a.logLevel)
	}
	a.logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	return nil
}

func usagef(suggestion, format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion)
}

func defaultStore() string {
	dir, err := userdir.Fleet()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "hub")
}
