package sdk

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/source/plugins/pluginserver"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// serveHost is go-plugin's Serve over gRPC only, until the host shuts the plugin down. go-plugin's links
// net/rpc, which keeps the linker from dropping methods.
func serveHost(server *pluginserver.Server, std *stdio) error {
	listener, err := listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	rpc, err := hostServer(server)
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // for the host, which ends its plugins
	if _, err := fmt.Fprintf(std.out, "%d|%d|%s|%s|%s|\n", goplugin.CoreProtocolVersion, spokenVersion(),
		listener.Addr().Network(), listener.Addr(), goplugin.ProtocolGRPC); err != nil {
		return err
	}
	return rpc.Serve(listener)
}

// hostServer returns a server with go-plugin's services and the plugin's.
func hostServer(server *pluginserver.Server) (*grpc.Server, error) {
	var rpc *grpc.Server
	protocol := goplugin.GRPCServer{
		Plugins: map[string]goplugin.Plugin{wire.ServiceName: &service{server: server}},
		Server: func(options []grpc.ServerOption) *grpc.Server {
			rpc = grpc.NewServer(append(options, serverOptions()...)...)
			return rpc
		},
		Stdout: silent{},
		Stderr: silent{},
	}
	err := protocol.Init()
	return rpc, err
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage),
		grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.InitialWindowSize(wire.Window),
		grpc.InitialConnWindowSize(4 * wire.Window),
		grpc.ReadBufferSize(wire.Buffer),
		grpc.WriteBufferSize(wire.Buffer),
	}
}

func listen() (net.Listener, error) {
	f, err := os.CreateTemp(os.Getenv(goplugin.EnvUnixSocketDir), "plugin")
	if err != nil {
		return nil, err
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	return net.Listen("unix", f.Name())
}

// spokenVersion returns the newest protocol version that the host supports too, else the oldest, and the host
// reports the mismatch.
func spokenVersion() int {
	theirs := strings.Split(os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), ",")
	for _, v := range slices.Backward(wire.Versions()) {
		if slices.Contains(theirs, strconv.Itoa(v)) {
			return v
		}
	}
	return wire.OldestVersion
}

// silent is go-plugin's stream of standard output and error to the host: empty, since both go there without it. It
// never ends: go-plugin would log that, and its logger cannot be set from here.
type silent struct{}

func (silent) Read([]byte) (int, error) { select {} }

// service passes the plugin's server to go-plugin.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	server *pluginserver.Server
}

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, registrar *grpc.Server) error {
	s.server.Register(registrar)
	return nil
}

func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("%s: the SDK is the plugin's side only", wire.ServiceName)
}
