package plugins_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

// buildProgram builds a program below testdata and returns its path.
func buildProgram(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./testdata/"+name).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// Plugins of versions 1 and 2 work in the same host, each with its own version.
func TestTwoVersionsOfTheProtocol(t *testing.T) {
	testneed.NotShort(t, "builds a plugin")
	f := newFixture(t)
	old := f.add(t, plugins.Spec{Name: "old", Path: buildProgram(t, "oldplugin")})
	current := f.add(t, testPlugin(t, "services"))
	services := new(plugintest.Host)

	call := func(tl tool.Tool, params string) (*tool.Result, error) {
		return tl.Call(t.Context(),
			&tool.Call{Tool: tl.Definition().Name, Params: json.RawMessage(params), Host: services})
	}
	r, err := call(old["old_greet"], `{"name":"Ada"}`)
	assert.Equal(t, `Good day, {"name":"Ada"}.`, text(t, r, err))
	require.Len(t, services.ProgressReports(), 1)
	assert.Equal(t, "halfway", services.ProgressReports()[0].Message)

	// Version 1 has no declared services: all are answered.
	for _, want := range []string{"x", "xx"} {
		r, err = call(old["old_count"], `{}`)
		assert.Equal(t, want, text(t, r, err))
	}
	// In version 2 only declared ones are.
	r, err = call(current["count"], `{}`)
	assert.Equal(t, "1", text(t, r, err))
	_, err = call(current["sample"], `{}`)
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err))
	assert.ErrorContains(t, err, "uses the service sample without having declared it")

	d, err := f.Source("services").Describe(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"state"}, d.Services)
	assert.Equal(t, 1, f.status(t, "old").Protocol)
	assert.Equal(t, 2, f.status(t, "services").Protocol)
}

// A version 1 host, as in the first release, can use a plugin made with today's SDK.
func TestPluginOfTodayInAnOldHost(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TEST_PLUGIN=services")
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: "TOOLHOST_PLUGIN",
			MagicCookieValue: "toolhost.plugin"},
		VersionedPlugins: map[int]goplugin.PluginSet{1: {"toolhost": oldHost{}}},
		Cmd:              cmd, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger: hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	require.NoError(t, err)
	assert.Equal(t, 1, client.NegotiatedVersion())
	raw, err := protocol.Dispense("toolhost")
	require.NoError(t, err)
	rpc := raw.(toolpb.PluginClient)
	_, err = rpc.Configure(t.Context(), &toolpb.ConfigureRequest{Config: []byte("{}")})
	require.NoError(t, err)
	stream, err := rpc.Call(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Start{Start: &toolpb.Call{Tool: "hello", Params: []byte(
		"{}")}}}))
	answer, err := stream.Recv()
	require.NoError(t, err)
	assert.Equal(t, "hi", string(answer.GetResult().GetContents()[0].GetText()))
}

type oldHost struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (oldHost) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return os.ErrInvalid }

func (oldHost) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return toolpb.NewPluginClient(conn), nil
}

// A plugin in a debugger is found by what it prints.
func TestAttach(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program, "attach")
	cmd.Env = append(os.Environ(), "TEST_PLUGIN=services")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Signal(os.Interrupt) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	value, ok := strings.CutPrefix(strings.TrimSpace(line), plugins.AttachVariable+"='")
	require.True(t, ok, line)
	attach, err := plugins.ParseAttach(strings.TrimSuffix(value, "'"))
	require.NoError(t, err)
	assert.Equal(t, cmd.Process.Pid, attach["services"].PID)

	for range 2 { // it outlives a host
		f := newFixture(t, func(o *plugins.Options) { o.Attach = attach })
		tools := f.add(t, plugins.Spec{Name: "services", Path: "/nowhere"})
		assert.GreaterOrEqual(t, tools["hello"].Definition().Timeout.Hours(), 1.0)
		r, err := tools["hello"].Call(t.Context(), &tool.Call{Tool: "hello", Params: []byte("{}")})
		assert.Equal(t, "hi", text(t, r, err))
		require.NoError(t, f.Close())
		assert.True(t, testproc.Alive(cmd.Process.Pid))
	}

	f := newFixture(t, func(o *plugins.Options) { o.Attach = attach })
	tools := f.add(t, plugins.Spec{Name: "services", Path: "/nowhere"})
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	eventually(t, "its end is seen", func() bool { return f.status(t, "services").State == plugins.Failed })
	_, err = tools["hello"].Call(t.Context(), &tool.Call{Tool: "hello", Params: []byte("{}")})
	assert.ErrorContains(t, err, "does not answer at "+attach["services"].Socket)
}

func TestAttachmentsThatAreNone(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"a":{"socket":"s","protocol":1}}`, `{"a":{"socket":"/s","protocol":3}}`,
		`{"a":{"socket":"/s"}}`} {
		_, err := plugins.ParseAttach(text)
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), text)
	}
	none, err := plugins.ParseAttach("")
	require.NoError(t, err)
	assert.Empty(t, none)
}
