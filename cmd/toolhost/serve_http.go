package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/mcpserve/listen"
	"github.com/toolhost/toolhost/internal/project"
)

func (a *app) serveHTTP(ctx context.Context, flags serveFlags) error {
	token, err := flags.http.Token()
	if err != nil {
		return usage(err)
	}
	secure, err := flags.http.TLS()
	if err != nil {
		return usage(err)
	}
	listener, err := flags.http.Listen(ctx)
	if err != nil {
		return usage(err)
	}
	defer listener.Close()
	if err := flags.http.Allowed(listener.Addr(), token); err != nil {
		return usage(err)
	}
	made := ""
	if token == "" && !flags.http.NoToken && listener.Addr().Network() != "unix" {
		made = rand.Text()
		token = made
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving := project.Serving{Search: flags.search, FirstList: a.firstList, TaskAfter: flags.tasks}
	first, err := a.offer(ctx, serving)
	if err != nil {
		return err
	}
	if flags.console {
		wait, err := a.consoleBeside(ctx)
		if err != nil {
			return err
		}
		defer func() { stop(); wait() }()
	}
	offers := first.Further(ctx, serving, flags.toolsets...)
	defer offers.Close()
	handler := mcpserve.NewHTTP(first.Server, mcpserve.HTTPOptions{
		Toolset: offers.Get, Token: token, Hosts: flags.http.Hosts, Origins: flags.http.Origins,
		Sessions: flags.http.Sessions, SessionIdle: flags.http.Idle, Logger: a.logger,
	})
	fmt.Fprintf(a.err, "toolhost serves MCP at %s\n", listen.Endpoint(listener.Addr(), secure != nil))
	if made != "" {
		fmt.Fprintf(a.err, "Clients must send this header, made for this run (--token-file FILE for one that stays): "+
			"Authorization: Bearer %s\n", made)
	}
	if token == "" && listener.Addr().Network() != "unix" {
		a.logger.WarnContext(ctx,
			"every program on this machine, also of other users, can use this server; leave out --no-token to require a token")
	}
	if token != "" && secure == nil && !mcpserve.IsLocal(listener.Addr()) {
		a.logger.WarnContext(ctx,
			"the token and all that is sent can be read on the network; use --tls-cert and --tls-key, or a proxy that speaks TLS")
	}
	return handler.ListenAndServe(ctx, listener, secure)
}
