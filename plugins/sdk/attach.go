package sdk

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/source/plugins/pluginserver"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// attach serves, for debugging, a host that did not start the plugin, until an interrupt. It prints the
// environment variable by which the host finds it. The socket is in a directory of the user's.
func attach(name string, server *pluginserver.Server, std *stdio) int {
	dir, err := os.MkdirTemp("", "toolhost-attach-")
	if err != nil {
		std.reportStartupError(err.Error())
		return 1
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "plugin.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		std.reportStartupError(err.Error())
		return 1
	}
	where, _ := json.Marshal(map[string]wire.Attachment{
		name: {Socket: socket, Protocol: wire.ProtocolVersion, PID: os.Getpid()},
	})
	fmt.Fprintf(std.out, "%s='%s'\n", wire.AttachVariable, where)
	fmt.Fprintln(os.Stderr, "Run toolhost with that variable in its environment. Interrupt to end.")

	rpc := grpc.NewServer(serverOptions()...)
	server.Register(rpc)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() { <-interrupted; rpc.Stop() }()
	if err := rpc.Serve(listener); err != nil {
		std.reportStartupError(err.Error())
		return 1
	}
	return 0
}
