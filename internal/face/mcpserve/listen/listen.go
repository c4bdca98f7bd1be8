// Package listen has the flags of servers over HTTP: address, access and certificate.
package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// Flags are the flags of a server over HTTP.
type Flags struct {
	Address        string
	TokenFile      string
	NoToken        bool
	Cert, Key      string
	Hosts, Origins []string
	Sessions       int
	Idle           time.Duration
	flags          *pflag.FlagSet
}

// TokenVariable is the environment variable that may hold the token.
const TokenVariable = "TOOLHOST_HTTP_TOKEN"

// Register adds the flags to flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.Address, "http", "",
		"serve over HTTP at this address: PORT, HOST:PORT or unix:PATH; without a HOST only this machine")
	flags.StringVar(&f.TokenFile, "token-file", "",
		"a file that only you can read, with the token that clients must send (default: $"+TokenVariable+
			", or a token made for this run)")
	flags.BoolVar(&f.NoToken, "no-token", false,
		"accept clients without a token; only for addresses of this machine")
	flags.StringVar(&f.Cert, "tls-cert", "", "a file with the certificate, to serve HTTPS")
	flags.StringVar(&f.Key, "tls-key", "", "a file with the certificate's key")
	flags.StringSliceVar(&f.Hosts, "allow-host", nil, "a name under which clients reach the server (repeatable)")
	flags.StringSliceVar(&f.Origins, "allow-origin", nil,
		"the origin of web pages that may use the server (repeatable)")
	flags.IntVar(&f.Sessions, "max-sessions", mcpserve.DefaultSessions, "how many sessions may be open")
	flags.DurationVar(&f.Idle, "session-idle", mcpserve.DefaultSessionIdle,
		"how long a session lives without a request")
}

// Unused returns an error for flags that need --http.
func (f *Flags) Unused() error {
	for _, name := range []string{"token-file", "no-token", "tls-cert", "tls-key", "allow-host", "allow-origin",
		"max-sessions", "session-idle"} {
		if f.flags.Changed(name) {
			return usagef("Add --http ADDR, or leave it out.", "--%s is for a server over HTTP", name)
		}
	}
	return nil
}

// Endpoint returns the server's URL for clients.
func Endpoint(addr net.Addr, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if addr.Network() == "unix" {
		return scheme + "://localhost/mcp on the socket " + addr.String()
	}
	return scheme + "://" + addr.String() + "/mcp"
}

// Token returns the token that clients must send, "" for none.
func (f *Flags) Token() (string, error) {
	token, source := os.Getenv(TokenVariable), TokenVariable
	if f.TokenFile != "" {
		source = f.TokenFile
		info, err := os.Stat(f.TokenFile)
		if err != nil {
			return "", usagef("Make one: umask 077; openssl rand -hex 32 > FILE", "--token-file: %v", err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return "", usagef("Run chmod 600 "+f.TokenFile+".",
				"--token-file %s can be read by others: its mode is %04o", f.TokenFile, info.Mode().Perm())
		}
		data, err := readToken(f.TokenFile)
		if err != nil {
			return "", usagef("Name a file that contains only the token.", "--token-file: %v", err)
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	if f.NoToken && (token != "" || f.TokenFile != "") {
		return "", usagef("Leave out --no-token, or the token.", "--no-token, but %s has a token", source)
	}
	if token == "" && f.TokenFile == "" {
		return "", nil
	}
	if !mcpserve.IsToken(token) {
		return "", usagef("Make one with openssl rand -hex 32.",
			"the token in %s must be one word of at least %d plain characters", source, mcpserve.MinToken)
	}
	return token, nil
}

// TLS returns the TLS configuration, nil for none.
func (f *Flags) TLS() (*tls.Config, error) {
	if f.Cert == "" && f.Key == "" {
		return nil, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, usagef("Give both.", "--tls-cert and --tls-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, usagef("Give the certificate and its key as PEM files.", "--tls-cert %s, --tls-key %s: %v", f.Cert,
			f.Key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Listen listens at the address.
func (f *Flags) Listen(ctx context.Context) (net.Listener, error) {
	if path, ok := strings.CutPrefix(f.Address, "unix:"); ok {
		return listenUnix(ctx, path)
	}
	address := f.Address
	if _, err := strconv.Atoi(address); err == nil {
		address = ":" + address
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usagef("Write PORT, HOST:PORT or unix:PATH.", "--http %s: %v", f.Address, err)
	}
	if name == "" {
		name = "127.0.0.1"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, usagef("Choose another port, or 0 for any that is free.", "--http %s: %v", f.Address, err)
	}
	return listener, nil
}

// listenUnix opens a socket for its owner alone. A stale one is replaced; one in use is not.
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

// Allowed refuses to listen to other machines without a token.
func (f *Flags) Allowed(addr net.Addr, token string) error {
	if token != "" || mcpserve.IsLocal(addr) {
		return nil
	}
	return usagef("Give one with --token-file FILE (umask 077; openssl rand -hex 32 > FILE) or in "+TokenVariable+
		", or listen on 127.0.0.1.",
		"--http %s: other machines reach this address, so it needs a token", f.Address)
}

// maxToken bounds a token file, in bytes.
const maxToken = 64 << 10

func readToken(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxToken+1))
	if len(data) > maxToken {
		return nil, fmt.Errorf("%s has more than %d bytes", file, maxToken)
	}
	return data, err
}

func usagef(suggestion, format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion)
}
