package plugins_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// benchText is the payload: 1 KiB.
var benchText = strings.Repeat("0123456789abcdef", 64)

// BenchmarkCall calls a plugin's tool; compare BenchmarkBareEcho.
func BenchmarkCall(b *testing.B) {
	m, echo := benchTool(b)
	defer m.Close()
	call := &tool.Call{Tool: "back", Params: tool.MustMarshal(map[string]string{"text": benchText})}
	b.ResetTimer()
	for b.Loop() {
		r, err := echo.Call(b.Context(), call)
		if err != nil || len(r.Contents[0].Text) != len(benchText) {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallWithDeadline is BenchmarkCall as the host calls: under a
// deadline.
func BenchmarkCallWithDeadline(b *testing.B) {
	m, echo := benchTool(b)
	defer m.Close()
	call := &tool.Call{Tool: "back", Params: tool.MustMarshal(map[string]string{"text": benchText})}
	b.ResetTimer()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 1e12)
		_, err := echo.Call(ctx, call)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
	}
}

func benchTool(b *testing.B) (*plugins.Manager, tool.Tool) {
	b.Helper()
	program, err := os.Executable()
	require.NoError(b, err)
	m := plugins.NewManager(plugins.Options{})
	require.NoError(b,
		m.Add(plugins.Spec{Name: "bench", Path: program, Env: map[string]string{"TEST_PLUGIN": "bench"}}))
	tools, err := m.Source("bench").Tools(b.Context())
	require.NoError(b, err)
	return m, tools[0]
}

type backInput struct {
	Text string `json:"text"`
	Size int    `json:"size,omitempty"`
}

func benchPlugin() sdk.Plugin {
	return sdk.Plugin{Name: "bench", Tools: []sdk.Tool{sdk.Func(sdk.Definition{Name: "back", Risk: sdk.ReadOnly},
		func(_ context.Context, _ *sdk.Call, in backInput) (string, error) {
			return in.Text + strings.Repeat("x", in.Size), nil
		})}}
}

// BenchmarkBareEcho makes a unary gRPC call over a bare go-plugin connection.
func BenchmarkBareEcho(b *testing.B) {
	client, conn := bareClient(b)
	defer client.Kill()
	in, out := wrapperspb.String(benchText), new(wrapperspb.StringValue)
	b.ResetTimer()
	for b.Loop() {
		if err := conn.Invoke(b.Context(), "/bare.Echo/Echo", in, out); err != nil || len(out.Value) != len(benchText) {
			b.Fatal(err)
		}
	}
}

func bareClient(b *testing.B) (*goplugin.Client, *grpc.ClientConn) {
	b.Helper()
	program, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TEST_PLUGIN=bare")
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: bareHandshake, Plugins: goplugin.PluginSet{"echo": &barePlugin{}}, Cmd: cmd,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	require.NoError(b, err)
	raw, err := protocol.Dispense("echo")
	require.NoError(b, err)
	return client, raw.(*grpc.ClientConn)
}

var bareHandshake = goplugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE", MagicCookieValue: "echo"}

func serveBare() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: bareHandshake, Plugins: goplugin.PluginSet{"echo": &barePlugin{}},
		GRPCServer: goplugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

type barePlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*barePlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

func (*barePlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bare.Echo", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			return in, decode(in)
		},
	}}}, struct{}{})
	return nil
}

// BenchmarkLargeResult makes a call with a result of 1 MiB.
func BenchmarkLargeResult(b *testing.B) {
	m, echo := benchTool(b)
	defer m.Close()
	call := &tool.Call{Tool: "back", Params: []byte(`{"text":"","size":1048576}`)}
	b.SetBytes(1 << 20)
	b.ResetTimer()
	for b.Loop() {
		r, err := echo.Call(b.Context(), call)
		if err != nil || len(r.Contents[0].Text) != 1<<20 {
			b.Fatal(err)
		}
	}
}

// BenchmarkTools lists the tools of 20 plugins from the cache.
func BenchmarkTools(b *testing.B) {
	program, err := os.Executable()
	require.NoError(b, err)
	cache := b.TempDir()
	fill := plugins.NewManager(plugins.Options{CacheDir: cache})
	addTwenty(b, fill, program)
	for _, s := range fill.Sources() {
		_, err := s.Tools(b.Context())
		require.NoError(b, err)
	}
	require.NoError(b, fill.Close())
	b.ResetTimer()
	for b.Loop() {
		m := plugins.NewManager(plugins.Options{CacheDir: cache})
		addTwenty(b, m, program)
		for _, s := range m.Sources() {
			if _, err := s.Tools(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		for _, s := range m.Status() {
			if s.Starts != 0 {
				b.Fatal("started")
			}
		}
	}
}

func addTwenty(b *testing.B, m *plugins.Manager, program string) {
	for i := range 20 {
		spec := plugins.Spec{Name: "p" + strconv.Itoa(i), Path: program, Args: []string{strconv.Itoa(i)},
			Env: map[string]string{"TEST_PLUGIN": "faulty"}}
		require.NoError(b, m.Add(spec))
	}
}

// BenchmarkStart starts a plugin and makes its first call.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		m, echo := benchTool(b)
		if _, err := echo.Call(b.Context(), &tool.Call{Tool: "back", Params: []byte(`{"text":"x"}`)}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(resident(b, m.Status()[0].PID), "MiB")
		require.NoError(b, m.Close())
		b.StartTimer()
	}
}

// BenchmarkBareStart does the same with only go-plugin.
func BenchmarkBareStart(b *testing.B) {
	for b.Loop() {
		client, conn := bareClient(b)
		out := new(wrapperspb.StringValue)
		if err := conn.Invoke(b.Context(), "/bare.Echo/Echo", wrapperspb.String("x"), out); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(resident(b, client.ReattachConfig().Pid), "MiB")
		client.Kill()
		b.StartTimer()
	}
}

func resident(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	require.NoError(b, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
