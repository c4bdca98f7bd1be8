package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/peer/plugins/handshake"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// TestServedProgram is no test: it is the plugin that TestMutualTLS starts.
func TestServedProgram(*testing.T) {
	if os.Getenv("TOOLHOST_TEST_SERVED") != "" {
		sdk.Serve(sdk.Plugin{Name: "served", Version: "1.0.0"})
	}
}

// TestMutualTLS has go-plugin's own client ask for a certificate, as it does on
// Windows, and one that has none be refused.
func TestMutualTLS(t *testing.T) {
	stdin := os.Stdin // go-plugin hands it to the plugin, which ends with it
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	os.Stdin = null
	t.Cleanup(func() { os.Stdin = stdin; null.Close() })
	cmd := exec.Command(os.Args[0], "-test.run=^TestServedProgram$")
	cmd.Env = append(os.Environ(), "TOOLHOST_TEST_SERVED=1")
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake.Config(),
		VersionedPlugins: map[int]goplugin.PluginSet{1: {handshake.ServiceName: connection{}}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd:              cmd,
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	require.NoError(t, err)
	assert.NoError(t, protocol.Ping())
	assert.Equal(t, 1, client.NegotiatedVersion())

	stranger, err := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake.Config(),
		Plugins:          goplugin.PluginSet{handshake.ServiceName: connection{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Reattach:         client.ReattachConfig(),
		Logger:           hclog.NewNullLogger(),
	}).Client()
	if err == nil {
		err = stranger.Ping()
	}
	assert.Error(t, err, "without a certificate")

	client.Kill()
	assert.True(t, client.Exited(), "it ends when it is asked to")
}

// connection is a plugin as its host sees it.
type connection struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (connection) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return os.ErrInvalid }

func (connection) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
