package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

type workerFlags struct {
	dir         string
	slots       int
	queue       int
	sessions    int
	labels      []string
	directories []string
	idle        time.Duration
	packAfter   time.Duration
	taskAfter   time.Duration
	drain       time.Duration
}

func (f *workerFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", defaultWorkerDir(), "where the workspaces of sessions are made")
	flags.IntVar(&f.slots, "slots", 4*runtime.NumCPU(), "how many calls run at one time")
	flags.IntVar(&f.queue, "queue", 0,
		"how many calls wait for a slot before more are refused (default: 8 for each slot)")
	flags.IntVar(&f.sessions, "sessions", 1000, "how many sessions the worker takes")
	flags.StringArrayVar(&f.labels, "label", nil,
		"a label of this worker, NAME=VALUE; workspaces can require labels (repeatable)")
	flags.StringArrayVar(&f.directories, "directory", nil,
		"a directory that sessions may use as their workspace, including its subdirectories (repeatable)")
	flags.DurationVar(&f.idle, "idle", 10*time.Minute,
		"how long a session may be idle before it is packed and released")
	flags.DurationVar(&f.packAfter, "pack-after", 5*time.Second, "how long after a change a workspace is packed, which saves it to the hub")
	flags.DurationVar(&f.taskAfter, "task-after", mcpserve.DefaultTaskAfter,
		"how long a call runs before it becomes an MCP task, for clients that support tasks; negative: never")
	flags.DurationVar(&f.drain, "drain", 20*time.Second,
		"how long to wait for a session's background tasks before they are ended and the session moves")
}

func defaultWorkerDir() string {
	data, err := userdir.Data()
	if err != nil {
		return ""
	}
	return data + "-worker"
}

func (f *workerFlags) options() (worker.Options, error) {
	o := worker.Options{Dir: f.dir, Slots: f.slots, Queue: f.queue, Sessions: f.sessions, Idle: f.idle,
		PackAfter: f.packAfter, TaskAfter: f.taskAfter, Drain: f.drain, Version: buildinfo.Read().Version,
		Labels: make(map[string]string)}
	if f.slots < 1 || f.sessions < 1 || f.queue < 0 {
		return o, usagef("Use 1 or more.", "--slots, --sessions and --queue are numbers of calls and sessions")
	}
	if o.Queue == 0 {
		o.Queue = 8 * f.slots
	}
	for _, label := range f.labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return o, usagef("Write NAME=VALUE.", "--label %s has no value", label)
		}
		o.Labels[name] = value
	}
	for _, dir := range f.directories {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return o, err
		}
		o.Directories = append(o.Directories, abs)
	}
	if f.dir == "" {
		return o, usagef("Name a directory.", "--dir is empty")
	}
	return o, os.MkdirAll(f.dir, 0o700)
}

func (a *app) workerCommand() *cobra.Command {
	var link linkFlags
	var flags workerFlags
	c := &cobra.Command{
		Use:   "worker --hub URL",
		Short: "Run sessions of a fleet on this machine",
		Long: `Run sessions of a fleet on this machine. Each has a workspace of its own and is
confined as toolhost serve confines. When the worker is told to end (SIGTERM), it
finishes its calls first, and its sessions go on at other workers.`,
		Example: `  toolhost worker --hub nats://127.0.0.1:4222
  toolhost worker --hub tls://hub.example.com:4222 --hub-ca ca.pem --key build7.worker.nk`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.worker(c.Context(), link, flags) },
	}
	link.register(c.Flags())
	flags.register(c.Flags())
	return c
}

func (a *app) worker(ctx context.Context, link linkFlags, flags workerFlags) error {
	if link.url == "" {
		return usagef("Add --hub nats://127.0.0.1:4222; toolhost hub prints its URL.", "a worker needs a hub")
	}
	o, err := flags.options()
	if err != nil {
		return err
	}
	if o.Link, o.Key, err = link.link(hub.RoleWorker); err != nil {
		return err
	}
	o.Logger, o.Telemetry = a.logger, project.StartTelemetry(ctx, "", a.logger)
	defer o.Telemetry.Close(context.WithoutCancel(ctx))
	w, err := worker.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "toolhost worker %s takes sessions: %d slots\n", w.Name(), o.Slots)
	w.Wait(ctx)
	return nil
}
