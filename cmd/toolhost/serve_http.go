package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/internal/mcpserve"
	"github.com/toolhost/toolhost/internal/project"
)

// httpFlags say how toolhost serve --http listens, and to whom.
type httpFlags struct {
	address        string
	tokenFile      string
	noToken        bool
	cert, key      string
	hosts, origins []string
	sessions       int
	idle           time.Duration
	flags          *pflag.FlagSet
}

// tokenVariable is the environment variable that may hold the token.
const tokenVariable = "TOOLHOST_HTTP_TOKEN"

func (f *httpFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.address, "http", "",
		"serve over HTTP at this address: PORT, HOST:PORT or unix:PATH; without a HOST only this machine")
	flags.StringVar(&f.tokenFile, "token-file", "",
		"a file with the token that clients must send, readable by you alone (or "+tokenVariable+
			"; else one is made for this run)")
	flags.BoolVar(&f.noToken, "no-token", false,
		"let every program on this machine use the server; for addresses of this machine alone")
	flags.StringVar(&f.cert, "tls-cert", "", "a file with the certificate, to serve HTTPS")
	flags.StringVar(&f.key, "tls-key", "", "a file with the certificate's key")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "a name under which clients reach the server (repeatable)")
	flags.StringSliceVar(&f.origins, "allow-origin", nil,
		"the origin of web pages that may use the server (repeatable)")
	flags.IntVar(&f.sessions, "max-sessions", mcpserve.DefaultSessions, "how many sessions may be open")
	flags.DurationVar(&f.idle, "session-idle", mcpserve.DefaultSessionIdle,
		"how long a session lives without a request")
}

// unused refuses flags that mean nothing without --http.
func (f *httpFlags) unused() error {
	for _, name := range []string{"token-file", "no-token", "tls-cert", "tls-key", "allow-host", "allow-origin",
		"max-sessions", "session-idle"} {
		if f.flags.Changed(name) {
			return usagef("Add --http ADDR, or leave it out.", "--%s is for a server over HTTP", name)
		}
	}
	return nil
}

// serveHTTP serves any number of clients until ctx ends.
func (a *app) serveHTTP(ctx context.Context, flags serveFlags) error {
	token, err := flags.http.token()
	if err != nil {
		return err
	}
	secure, err := flags.http.tls()
	if err != nil {
		return err
	}
	listener, err := flags.http.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := flags.http.allowed(listener.Addr(), token); err != nil {
		return err
	}
	made := ""
	if token == "" && !flags.http.noToken && listener.Addr().Network() != "unix" {
		made = rand.Text()
		token = made
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving := project.Serving{Search: flags.search, FirstList: a.firstList}
	first, err := a.offer(ctx, serving)
	if err != nil {
		return err
	}
	offers := first.Further(ctx, serving, flags.toolsets...)
	defer offers.Close()
	handler := mcpserve.NewHTTP(first.Server, mcpserve.HTTPOptions{
		Toolset: offers.Get, Token: token, Hosts: flags.http.hosts, Origins: flags.http.origins,
		Sessions: flags.http.sessions, SessionIdle: flags.http.idle, Logger: a.logger,
	})
	fmt.Fprintf(a.err, "toolhost serves MCP at %s\n", endpoint(listener.Addr(), secure != nil))
	if made != "" {
		fmt.Fprintf(a.err, "Clients must send this header, made for this run (--token-file FILE for one that stays): "+
			"Authorization: Bearer %s\n", made)
	}
	if token == "" && listener.Addr().Network() != "unix" {
		a.logger.WarnContext(ctx,
			"every program on this machine, of other users too, can use this server; leave --no-token out to have a token")
	}
	if token != "" && secure == nil && !mcpserve.IsLocal(listener.Addr()) {
		a.logger.WarnContext(ctx,
			"the token and all that is sent can be read on the network; use --tls-cert and --tls-key, or a proxy that speaks TLS")
	}
	return handler.ListenAndServe(ctx, listener, secure)
}

// endpoint is where clients find the server.
func endpoint(addr net.Addr, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if addr.Network() == "unix" {
		return scheme + "://localhost/mcp on the socket " + addr.String()
	}
	return scheme + "://" + addr.String() + "/mcp"
}

// token is the one that was given for clients to send, "" for none.
func (f *httpFlags) token() (string, error) {
	token, source := os.Getenv(tokenVariable), tokenVariable
	if f.tokenFile != "" {
		source = f.tokenFile
		info, err := os.Stat(f.tokenFile)
		if err != nil {
			return "", usagef("Make one: umask 077; openssl rand -hex 32 > FILE", "--token-file: %v", err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return "", usagef("Run chmod 600 "+f.tokenFile+".",
				"--token-file %s can be read by others: its mode is %04o", f.tokenFile, info.Mode().Perm())
		}
		data, err := readLimited(f.tokenFile)
		if err != nil {
			return "", usagef("Name a file with the token alone.", "--token-file: %v", err)
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	if f.noToken && (token != "" || f.tokenFile != "") {
		return "", usagef("Leave out --no-token, or the token.", "--no-token, but %s has a token", source)
	}
	if token == "" && f.tokenFile == "" {
		return "", nil
	}
	if !mcpserve.IsToken(token) {
		return "", usagef("Make one with openssl rand -hex 32.",
			"the token in %s must be one word of at least %d plain characters", source, mcpserve.MinToken)
	}
	return token, nil
}

func (f *httpFlags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, usagef("Give both.", "--tls-cert and --tls-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, usagef("Give the certificate and its key as PEM files.", "--tls-cert %s, --tls-key %s: %v", f.cert,
			f.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listen opens the address.
func (f *httpFlags) listen(ctx context.Context) (net.Listener, error) {
	if path, ok := strings.CutPrefix(f.address, "unix:"); ok {
		return listenUnix(ctx, path)
	}
	address := f.address
	if _, err := strconv.Atoi(address); err == nil {
		address = ":" + address
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usagef("Write PORT, HOST:PORT or unix:PATH.", "--http %s: %v", f.address, err)
	}
	if name == "" {
		name = "127.0.0.1"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, usagef("Choose another port, or 0 for any that is free.", "--http %s: %v", f.address, err)
	}
	return listener, nil
}

// listenUnix opens a socket that its owner alone may use. One that a server
// has left behind is replaced; one that answers is not.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, usagef("End that server first, or use another path.",
				"--http unix:%s: a server is there already", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, usagef("Use another path.", "--http unix:%s: %v", path, err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil,
			usagef("Name a file in a directory of yours; the path must be short.", "--http unix:%s: %v", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

// allowed refuses to listen to other machines without a token.
func (f *httpFlags) allowed(addr net.Addr, token string) error {
	if token != "" || mcpserve.IsLocal(addr) {
		return nil
	}
	return usagef("Give one with --token-file FILE (umask 077; openssl rand -hex 32 > FILE) or in "+tokenVariable+
		", or listen on 127.0.0.1.",
		"--http %s: other machines reach this address, so it needs a token", f.address)
}
