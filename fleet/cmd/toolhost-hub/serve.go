package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/gateway"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/mcpserve/listen"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/project"
)

type serveFlags struct {
	http     listen.Flags
	link     linkFlags
	worker   workerFlags
	workers  int
	fleet    string
	store    string
	replicas int
	limit    time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve --http ADDR (--hub URL | --workers N)",
		Short: "Run the gateway of a fleet: serve its sessions over HTTP",
		Long: `Serve the sessions of a fleet to MCP clients over HTTP. With --hub the workers of
that hub run them; any number of such gateways serve the same sessions. With
--workers N hub and workers run here, and nothing but --http listens.`,
		Example: `  toolhost serve --http 127.0.0.1:8123 --hub nats://127.0.0.1:4222
  toolhost serve --http 127.0.0.1:8123 --workers 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), flags) },
	}
	flags.http.Register(c.Flags())
	flags.link.register(c.Flags())
	flags.worker.register(c.Flags())
	c.Flags().IntVar(&flags.workers, "workers", 0, "run a hub and this many workers here")
	c.Flags().StringVar(&flags.fleet, "fleet-config", "", "a file with workspaces and tenants (docs/FLEET.md)")
	c.Flags().StringVar(&flags.store, "store", defaultStore(), "with --workers: the hub's data directory")
	c.Flags().IntVar(&flags.replicas, "replicas", 1, "how many hubs of the cluster keep a copy of the data: 1, 3 or 5")
	c.Flags().DurationVar(&flags.limit, "call-limit", gateway.DefaultCallLimit,
		"how long a call may go without reporting progress, including time spent waiting")
	return c
}

func (a *app) serve(ctx context.Context, flags serveFlags) error {
	if flags.http.Address == "" || (flags.link.url == "") == (flags.workers == 0) {
		return usagef("Write serve --http ADDR --hub URL, or serve --http ADDR --workers N.",
			"a gateway needs --http, and either --hub or --workers")
	}
	config, err := a.fleetConfig(&flags)
	if err != nil {
		return err
	}
	token, err := flags.http.Token()
	if err != nil {
		return err
	}
	secure, err := flags.http.TLS()
	if err != nil {
		return err
	}
	listener, err := flags.http.Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	made := ""
	switch {
	case config.NeedsToken() && token != "":
		return usagef("Leave out the token of the server.", "the tenants of %s have tokens of their own", flags.fleet)
	case config.NeedsToken():
	default:
		if err := flags.http.Allowed(listener.Addr(), token); err != nil {
			return err
		}
		if token == "" && !flags.http.NoToken && listener.Addr().Network() != "unix" {
			made = rand.Text()
			token = made
		}
	}
	link, end, err := a.reach(ctx, &flags)
	if err != nil {
		return err
	}
	defer end()
	relay := project.StartTelemetry(ctx, a.work, a.logger)
	defer relay.Close(context.WithoutCancel(ctx))
	g, err := gateway.Start(ctx, gateway.Options{Link: link, Config: config, Replicas: flags.replicas,
		CallLimit: flags.limit, Telemetry: relay, Logger: a.logger})
	if err != nil {
		return err
	}
	defer g.Close()
	stop, err := a.startWorkers(ctx, link, relay, &flags)
	if err != nil {
		return err
	}
	defer stop()
	handler := mcpserve.NewHTTP(nil, mcpserve.HTTPOptions{Backend: g, Token: token, Hosts: flags.http.Hosts,
		Origins: flags.http.Origins, Logger: a.logger})
	fmt.Fprintf(os.Stderr, "toolhost serves MCP at %s\n", listen.Endpoint(listener.Addr(), secure != nil))
	if made != "" {
		fmt.Fprintf(os.Stderr,
			"Clients must send this header, made for this run (--token-file FILE for one that stays): "+
				"Authorization: Bearer %s\n", made)
	}
	return handler.ListenAndServe(ctx, listener, secure)
}

// fleetConfig returns the file's configuration, or one workspace for all: the project here with
// --workers, an empty one with --hub.
func (a *app) fleetConfig(flags *serveFlags) (*gateway.Config, error) {
	if flags.fleet != "" {
		return gateway.Load(flags.fleet)
	}
	w := fleet.Workspace{Directory: a.work, Config: a.config, Trust: a.trust, Toolset: a.toolset}
	if w.Directory == "" && flags.workers > 0 {
		w.Directory = "."
	}
	if w.Directory == "" {
		w.Empty = true
		return gateway.Open(w), nil
	}
	var err error
	if flags.workers > 0 {
		w.Directory, err = filepath.Abs(w.Directory)
		flags.worker.directories = append(flags.worker.directories, w.Directory)
	}
	return gateway.Open(w), err
}

// reach returns the link to the hub, which it starts if it should run here.
func (a *app) reach(_ context.Context, flags *serveFlags) (fleet.Link, func(), error) {
	if flags.workers == 0 {
		link, _, err := flags.link.link(hub.RoleGateway)
		return link, func() {}, err
	}
	ns, err := hub.Start(hub.Options{Store: flags.store})
	if err != nil {
		return fleet.Link{}, nil, err
	}
	return fleet.Link{Server: ns,
			KeyFile: filepath.Join(flags.store, "keys", hub.RoleGateway+"."+hub.RoleGateway+".nk")},
		func() {
			ns.Shutdown()
			ns.WaitForShutdown()
		}, nil
}

func (a *app) startWorkers(ctx context.Context, link fleet.Link, relay *telemetry.Relay, flags *serveFlags) (stop func(),
	err error) {
	if flags.workers == 0 {
		return func() {}, nil
	}
	o, err := flags.worker.options()
	if err != nil {
		return nil, err
	}
	var running []*worker.Worker
	stop = func() {
		var ending sync.WaitGroup
		for _, w := range running {
			ending.Go(w.Close)
		}
		ending.Wait()
	}
	o.Logger, o.Key, o.Link, o.Telemetry = a.logger, hub.RoleWorker, link, relay
	o.Link.KeyFile = filepath.Join(flags.store, "keys", hub.RoleWorker+"."+hub.RoleWorker+".nk")
	for range flags.workers {
		w, err := worker.Start(ctx, o)
		if err != nil {
			stop()
			return nil, err
		}
		running = append(running, w)
	}
	return stop, nil
}
