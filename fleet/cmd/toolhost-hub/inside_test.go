package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/gateway"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// inside is a fleet in the test's process: hub, gateway and workers.
type inside struct {
	*place
	hub     *server.Server
	options hub.Options
	gateway *gateway.Gateway
	url     string
}

// newInside starts a fleet for the workspaces and tenants of a fleet.hcl, in which
// HOME stands for the test's directory; an empty config means empty workspaces
// with the tools of agent.
func newInside(t *testing.T, agent, config string, workers ...func(*worker.Options)) *inside {
	t.Helper()
	return newInsideOf(t, agent, config, func(*gateway.Options) {}, workers...)
}

func newInsideOf(t *testing.T, agent, config string, change func(*gateway.Options),
	workers ...func(*worker.Options)) *inside {
	t.Helper()
	f := &inside{place: newPlace(t)}
	for name, dir := range map[string]string{"HOME": "", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data",
		"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"} {
		t.Setenv(name, filepath.Join(f.home, dir))
	}
	file := f.write("agent.hcl", agent)
	c := gateway.Open(fleet.Workspace{Empty: true, Config: file})
	var err error
	if config != "" {
		c, err = gateway.Load(f.write("fleet.hcl", strings.ReplaceAll(config, "HOME", f.home)))
		require.NoError(t, err)
	}
	f.options = hub.Options{Listen: "127.0.0.1:0", Store: filepath.Join(f.home, "hub")}
	f.hub, err = hub.Start(f.options)
	require.NoError(t, err)
	t.Cleanup(func() { f.hub.Shutdown(); f.hub.WaitForShutdown() })
	o := gateway.Options{Link: f.link(hub.RoleGateway), Config: c, Logger: discard}
	change(&o)
	f.gateway, err = gateway.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(f.gateway.Close)
	for _, change := range workers {
		f.start1(discard, change)
	}
	handler := mcpserve.NewHTTP(nil, mcpserve.HTTPOptions{Backend: f.gateway, Logger: discard})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.url = "http://" + listener.Addr().String() + "/mcp"
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		_ = handler.ListenAndServe(ctx, listener, nil)
	}()
	f.waitFor(func() bool { return len(f.gateway.Workers()) == len(workers) })
	return f
}

var discard = slog.New(slog.DiscardHandler)

func plain(*worker.Options) {}

func (f *inside) link(role string) fleet.Link {
	return fleet.Link{URL: f.hub.ClientURL(), Inbox: "_INBOX." + role + "." + role + ".test",
		KeyFile: filepath.Join(f.options.Store, "keys", role+"."+role+".nk")}
}

func (f *inside) start1(logger *slog.Logger, change func(*worker.Options)) *worker.Worker {
	f.t.Helper()
	o := worker.Options{Link: f.link(hub.RoleWorker), Key: hub.RoleWorker,
		Dir: filepath.Join(f.home, fmt.Sprint("worker", len(f.gateway.Workers()))), Slots: 4, Queue: 16,
		Sessions: 100, Idle: time.Hour, PackAfter: 10 * time.Millisecond, Version: "test", Logger: logger}
	require.NoError(f.t, os.MkdirAll(o.Dir, 0o700))
	change(&o)
	w, err := worker.Start(f.t.Context(), o)
	require.NoError(f.t, err)
	f.t.Cleanup(w.Close)
	return w
}

func (f *inside) waitFor(what func() bool) {
	f.t.Helper()
	testproc.Until(f.t, "what the test waits for", func() (bool, string) { return what(), "" })
}
