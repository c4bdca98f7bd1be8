package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/peer/plugins/handshake"
	"github.com/toolhost/toolhost/internal/peer/plugins/pluginserver"
)

// Serve runs the plugin until the host ends it. Call it from main, with
// nothing printed to standard output before.
//
// Run with the one argument "describe", the program prints the plugin's
// description as JSON instead. With "attach" it waits for a toolhost that finds
// it through the environment variable which it prints, and can be run under a
// debugger. Started in any other way than by toolhost, it
// says so and exits with status 1.
//
// From the start of Serve on os.Stdout is standard error, since the real one
// belongs to the handshake; what the plugin prints ends up in the host's log.
// When the host dies the process ends at once, with all the processes of its
// group. A panic of a tool is an error of that call alone.
func Serve(p Plugin) {
	if code := serve(p, os.Args[1:]); code != 0 {
		os.Exit(code)
	}
}

func serve(p Plugin, args []string) (code int) {
	std := takeStdout()
	defer std.tellPanic(&code)
	server, err := p.server()
	if err != nil {
		std.tell(err.Error())
		return 1
	}
	cookie := handshake.Config()
	switch {
	case len(args) == 1 && args[0] == "describe":
		fmt.Fprintln(std.out, string(server.Describe()))
		return 0
	case len(args) == 1 && args[0] == "attach":
		return attach(p.Name, server, std)
	case os.Getenv(cookie.MagicCookieKey) != cookie.MagicCookieValue:
		fmt.Fprintf(os.Stderr, "%s is a plugin of toolhost: name it in a plugin block of agent.hcl.\n"+
			"Run it with the argument \"describe\" to see what it offers, or \"attach\" to debug it.\n", p.Name)
		return 1
	}
	go watchHost()
	std.give()
	goplugin.Serve(serveConfig(server, std))
	return 0
}

func serveConfig(server *pluginserver.Server, std *stdio) *goplugin.ServeConfig {
	versions := make(map[int]goplugin.PluginSet)
	for _, v := range handshake.Versions() {
		versions[v] = goplugin.PluginSet{handshake.ServiceName: &service{server: server}}
	}
	return &goplugin.ServeConfig{
		HandshakeConfig:  handshake.Config(),
		VersionedPlugins: versions,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, serverOptions(std)...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: std.err, JSONFormat: true}),
	}
}

func serverOptions(std *stdio) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(handshake.MaxMessage),
		grpc.MaxSendMsgSize(handshake.MaxMessage),
		grpc.InitialWindowSize(handshake.Window),
		grpc.InitialConnWindowSize(4 * handshake.Window),
		grpc.ReadBufferSize(handshake.Buffer),
		grpc.WriteBufferSize(handshake.Buffer),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
			next grpc.UnaryHandler) (any, error) {
			std.takeBack()
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
			next grpc.StreamHandler) error {
			std.takeBack()
			return next(srv, stream)
		}),
	}
}

// service hands the plugin's server to go-plugin.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	server *pluginserver.Server
}

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, registrar *grpc.Server) error {
	s.server.Register(registrar)
	return nil
}

func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("%s: the SDK is the plugin's side only", handshake.ServiceName)
}

// stdio keeps the process's standard output for the handshake. go-plugin
// writes it to os.Stdout and puts pipes of its own in place of os.Stdout and
// os.Stderr afterwards, so they are handed over for that moment only.
type stdio struct {
	out, err *os.File
	once     sync.Once
}

func takeStdout() *stdio {
	s := &stdio{out: os.Stdout, err: os.Stderr}
	os.Stdout = s.err
	return s
}

func (s *stdio) give() { os.Stdout = s.out }

// takeBack runs when the first request is served: after the handshake and
// before any code of the plugin. Output then goes straight to standard error,
// from where the last lines survive a crash.
func (s *stdio) takeBack() {
	s.once.Do(func() { os.Stdout, os.Stderr = s.err, s.err })
}

// tell says on the handshake line why the plugin cannot start.
func (s *stdio) tell(reason string) {
	line, _ := json.Marshal(reason)
	fmt.Fprintf(s.out, "%s%s\n", handshake.StartupErrorPrefix, line)
	fmt.Fprintln(s.err, reason)
}

func (s *stdio) tellPanic(code *int) {
	if v := recover(); v != nil {
		s.tell(fmt.Sprintf("panic: %v", v))
		*code = 1
	}
}

// watchHost ends the process when the host is gone, which shows as the end of
// standard input: the host holds the other end of that pipe and never writes.
func watchHost() {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	endGroup()
}
