package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// Build builds the Go program in dir, such as ".", and returns its path, or fails the test.
func Build(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("plugintest: go build in %s: %v\n%s", dir, err, out)
	}
	return path
}

// StartProgram runs a plugin program until the test ends. Its output is shown if the test fails.
func StartProgram(t testing.TB, path string, options Options) *Plugin {
	t.Helper()
	var printed bytes.Buffer
	client := goplugin.NewClient(programConfig(path, options, &printed))
	t.Cleanup(func() {
		client.Kill()
		if t.Failed() {
			t.Logf("the plugin printed:\n%s", printed.String())
		}
	})
	protocol, err := client.Client()
	if err != nil {
		t.Fatalf("plugintest: %s does not start: %v", path, err)
	}
	raw, err := protocol.Dispense(wire.ServiceName)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	p, err := introduce(t, raw.(*pluginclient.Client), options)
	if err != nil {
		t.Fatalf("plugintest: %s does not start: %v", path, err)
	}
	return p
}

func programConfig(path string, options Options, printed *bytes.Buffer) *goplugin.ClientConfig {
	cmd := exec.Command(path)
	for name, value := range options.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	versions := make(map[int]goplugin.PluginSet)
	for _, v := range wire.Versions() {
		versions[v] = goplugin.PluginSet{wire.ServiceName: dispenser{version: v}}
	}
	return &goplugin.ClientConfig{
		HandshakeConfig:  wire.HandshakeConfig(),
		VersionedPlugins: versions,
		Cmd:              cmd,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Stderr:           printed,
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage))},
	}
}

type dispenser struct {
	goplugin.NetRPCUnsupportedPlugin
	version int
}

func (dispenser) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return os.ErrInvalid }

func (d dispenser) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pluginclient.New(conn, d.version, wire.CancelGrace), nil
}

// DescribeProgram runs the program with the argument "describe" and returns its output, which must be JSON.
func DescribeProgram(t testing.TB, path string) json.RawMessage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path, "describe").Output()
	if err != nil || !json.Valid(out) {
		t.Fatalf("plugintest: %s describe: %v\n%s", path, err, out)
	}
	return out
}
