package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/fleet/internal/hub"
)

func (a *app) hubCommand() *cobra.Command {
	var o hub.Options
	c := &cobra.Command{
		Use:   "hub",
		Short: "Run the hub of a fleet: NATS with JetStream, embedded",
		Long: `Run the hub of a fleet: NATS with JetStream, embedded. Workers and gateways
connect to it. At its first start it makes a key for each role, in keys/ in its data
directory. A program with a key may connect, and do what the key's role needs.`,
		Example: `  toolhost hub
  toolhost hub --listen 0.0.0.0:4222 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.hub(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:4222", "HOST:PORT to listen on")
	f.StringVar(&o.Store, "store", defaultStore(), "the hub's data directory, which also has its keys")
	f.StringVar(&o.Name, "name", "", "the hub's name, unique in its cluster")
	f.StringVar(&o.ClusterListen, "cluster", "", "HOST:PORT to listen on for other hubs of the same cluster")
	f.StringSliceVar(&o.Routes, "route", nil, "HOST:PORT of another hub's --cluster (repeatable)")
	f.StringVar(&o.Cert, "tls-cert", "", "a file with the certificate, for TLS")
	f.StringVar(&o.Key, "tls-key", "", "a file with the certificate's key")
	f.StringVar(&o.CA, "tls-ca", "",
		"a file with CA certificates; clients must show a certificate that one of them signed")
	return c
}

func (a *app) hub(ctx context.Context, o hub.Options) error {
	if o.ClusterListen != "" && o.Name == "" {
		return usagef("Add --name, another one for each hub.", "a hub of a cluster needs a name")
	}
	if (o.Cert == "") != (o.Key == "") {
		return usagef("Give both.", "--tls-cert and --tls-key belong together")
	}
	ns, err := hub.Start(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "toolhost hub is at %s, its keys are in %s\n", ns.ClientURL(),
		filepath.Join(o.Store, "keys"))
	changed := keysChanged(ctx, filepath.Join(o.Store, "keys"))
	for {
		select {
		case <-ctx.Done():
			ns.Shutdown()
			ns.WaitForShutdown()
			return nil
		case <-changed:
			if err := o.Reload(ns); err != nil {
				a.logger.Error("the changed keys are not used", "error", err)
			}
		}
	}
}

// keysChanged signals added and revoked keys.
func keysChanged(ctx context.Context, dir string) <-chan struct{} {
	changed := make(chan struct{})
	go func() {
		last := modified(dir)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			if now := modified(dir); !now.Equal(last) {
				last = now
				select {
				case changed <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
	}()
	return changed
}

func modified(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
