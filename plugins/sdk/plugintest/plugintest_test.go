package plugintest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_PLUGIN") != "" || len(os.Args) == 2 && os.Args[1] == "describe" {
		sdk.Serve(plugin())
		return
	}
	os.Exit(m.Run())
}

type greetInput struct {
	Name string `json:"name" jsonschema:"Whom to greet."`
	How  string `json:"how" default:"Hello" enum:"Hello,Goodbye"`
}

type config struct {
	Loud bool `json:"loud,omitempty"`
}

// services is a tool that uses every service, by name.
func services(ctx context.Context, call *sdk.Call, in struct {
	Use string `json:"use"`
}) (*sdk.Result, error) {
	switch in.Use {
	case "progress":
		call.Progress(ctx, sdk.Progress{Done: 1, Total: 2, Message: "half"})
	case "log":
		call.Log(ctx, slog.LevelWarn, "careful", slog.Int("n", 3), slog.Any("err", errors.New("bad")))
	case "emit":
		return sdk.Text("emitted"), call.Emit(ctx, "done", map[string]int{"n": 1})
	case "emit nonsense":
		return nil, call.Emit(ctx, "done", func() {})
	case "ask":
		answer, err := call.Ask(ctx, "sure", sdk.Form{Message: "Sure?", Schema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			return nil, err
		}
		return sdk.Text(answer.Action + string(answer.Content)), nil
	case "sample":
		r, err := call.Sample(ctx, sdk.SampleRequest{System: "s", Prompt: "p", MaxTokens: 5})
		if err != nil {
			return nil, err
		}
		return sdk.Text(r.Text + " by " + r.Model), nil
	case "call":
		return call.CallTool(ctx, "other", json.RawMessage(`{"a":1}`))
	case "state":
		return useState(ctx, call.State(sdk.PersistentScope))
	case "count":
		err := call.State(sdk.SessionScope).Update(ctx, "n", func(old []byte) ([]byte, error) {
			n, _ := strconv.Atoi(string(old))
			return []byte(strconv.Itoa(n + 1)), nil
		})
		return sdk.Text("counted"), err
	}
	return sdk.Text("used " + in.Use), nil
}

func useState(ctx context.Context, s sdk.State) (*sdk.Result, error) {
	_, before, err := s.Get(ctx, "a")
	empty := s.Set(ctx, "a", nil)
	value, after, getErr := s.Get(ctx, "a")
	if err := errors.Join(err, empty, getErr, s.Set(ctx, "ab", []byte("\xff\x00")),
		s.Set(ctx, "b", []byte("x"))); err != nil {
		return nil, err
	}
	keys, err := s.Keys(ctx, "a")
	if err != nil {
		return nil, err
	}
	refused := s.Update(ctx, "b", func([]byte) ([]byte, error) { return nil, errors.New("changed my mind") })
	deleted := s.Update(ctx, "ab", func(old []byte) ([]byte, error) {
		if string(old) != "\xff\x00" {
			return nil, fmt.Errorf("got %q", old)
		}
		return nil, nil
	})
	if err := errors.Join(deleted, s.Delete(ctx, "a"), s.Delete(ctx, "missing")); err != nil {
		return nil, err
	}
	left, err := s.Keys(ctx, "")
	return sdk.JSON([]any{before, after, value == nil, keys, refused.Error(), left}), err
}

// chatty prints where it must not disturb the handshake.
type chatty struct{ sdk.Tool }

func (c chatty) Definition() *sdk.Definition {
	fmt.Println("about to be described")
	return c.Tool.Definition()
}

func plugin() sdk.Plugin {
	tools := func(loud bool) []sdk.Tool {
		return []sdk.Tool{
			sdk.Func(sdk.Definition{Name: "greet", Description: "Greets. Returns: the greeting.", Risk: sdk.ReadOnly},
				func(_ context.Context, _ *sdk.Call, in greetInput) (string, error) {
					if in.Name == "" {
						return "", sdk.Errorf(sdk.InvalidArgument, "nobody is named").Suggest("Give a name.")
					}
					text := in.How + ", " + in.Name
					if loud {
						text = strings.ToUpper(text)
					}
					fmt.Println("tools may print")
					return text, nil
				}),
			chatty{sdk.Func(sdk.Definition{Name: "services", Risk: sdk.ReadOnly}, services)},
		}
	}
	return sdk.Plugin{
		Services: []sdk.Service{sdk.ServiceEmit, sdk.ServiceAsk, sdk.ServiceSample, sdk.ServiceState,
			sdk.ServiceCallTool},
		Name: "greeter", Version: "0.1.0", Tools: tools(false), ConfigSchema: sdk.Schema[config](),
		Configure: func(_ context.Context, env sdk.Env) ([]sdk.Tool, error) {
			var c config
			if err := env.Decode(&c); err != nil {
				return nil, err
			}
			return tools(c.Loud), nil
		},
		RenderError: func(_ *sdk.Call, err *sdk.Error) *sdk.Result {
			if err.Code == sdk.Denied {
				return nil
			}
			return sdk.Text("ERR " + err.Message)
		},
	}
}

func TestBothHarnessesBehaveAlike(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for name, start := range map[string]func(*testing.T, plugintest.Options) *plugintest.Plugin{
		"in process": func(t *testing.T,
			o plugintest.Options) *plugintest.Plugin {
			return plugintest.Start(t, plugin(), o)
		},
		"program": func(t *testing.T, o plugintest.Options) *plugintest.Plugin {
			o.Env = map[string]string{"TEST_PLUGIN": "1"}
			return plugintest.StartProgram(t, program, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, plugintest.Options{Config: config{Loud: true}})
			assert.Equal(t, "greeter", p.Name())
			assert.Equal(t, "0.1.0", p.Version())
			assert.Len(t, p.Tools(), 2)
			r, err := p.Call(t.Context(), "greet", map[string]string{"name": "Ada"})
			require.NoError(t, err)
			assert.Equal(t, "HELLO, ADA", r.Text())
			_, err = p.Call(t.Context(), "greet", greetInput{How: "Hello"})
			assert.ErrorContains(t, err, "nobody is named")
			_, err = p.Call(t.Context(), "greet", `{"nme":"Ada","how":"Hi"}`)
			assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
			_, err = p.Call(t.Context(), "gret", nil)
			assert.Equal(t, tool.NotFound, tool.CodeOf(err))
			_, err = p.Plan(t.Context(), "greet", greetInput{"Ada", "Hello"})
			assert.Error(t, err)
			r, err = p.RenderError(t.Context(), "greet", nil, sdk.Errorf(sdk.Timeout, "too slow"))
			require.NoError(t, err)
			assert.Equal(t, "ERR too slow", r.Text())
			r, err = p.RenderError(t.Context(), "greet", nil, sdk.Errorf(sdk.Denied, "no"))
			require.NoError(t, err)
			assert.Nil(t, r)
			plugintest.Golden(t, "greeting", &sdk.Result{Contents: sdk.Text("hi").Contents})
		})
	}
	_, err = plugintest.TryStart(t, plugin(), plugintest.Options{Config: map[string]any{"loud": "very"}})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

func TestHostServices(t *testing.T) {
	host := &plugintest.Host{
		Answers: map[string]sdk.Answer{"sure": {Action: "accept", Content: json.RawMessage(`{"ok":true}`)}},
		OnSample: func(r sdk.SampleRequest) (*sdk.SampleResponse, error) {
			return &sdk.SampleResponse{Text: fmt.Sprint(r.System, r.Prompt, r.MaxTokens), Model: "m"}, nil
		},
		OnCallTool: func(name string, params json.RawMessage) (*sdk.Result, error) {
			return sdk.Text(name + string(params)), nil
		},
	}
	p := plugintest.Start(t, plugin(), plugintest.Options{Host: host})
	use := func(what string) (*sdk.Result, error) {
		return p.Call(t.Context(), "services", map[string]string{"use": what})
	}
	for what, want := range map[string]string{
		"progress": "used progress", "log": "used log", "emit": "emitted",
		"ask": `accept{"ok":true}`, "sample": "sp5 by m", "call": `other{"a":1}`,
		"state": `[false,true,false,["a","ab"],"changed my mind",["b"]]`,
	} {
		r, err := use(what)
		require.NoError(t, err, what)
		assert.Equal(t, want, r.Text(), what)
	}
	assert.Equal(t, []sdk.Progress{{Done: 1, Total: 2, Message: "half"}}, host.ProgressReports())
	assert.Equal(t, []string{"WARN careful err=bad n=3"}, host.Logs())
	require.Len(t, host.Events(), 1)
	assert.Equal(t, "done", host.Events()[0].Name)
	assert.JSONEq(t, `{"n":1}`, string(host.Events()[0].Payload))
	_, err := use("emit nonsense")
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

func TestServicesThatAreMissing(t *testing.T) {
	p := plugintest.Start(t, plugin(), plugintest.Options{})
	_, err := p.Call(t.Context(), "services", map[string]string{"use": "ask"})
	require.ErrorIs(t, err, sdk.ErrInputRequired)
	var question *tool.InputRequired
	require.ErrorAs(t, err, &question)
	assert.Equal(t, "sure", question.Key)
	assert.Equal(t, "Sure?", question.Form.Message)
	assert.JSONEq(t, `{"type":"object"}`, string(question.Form.Schema))
	_, err = p.Call(t.Context(), "services", map[string]string{"use": "sample"})
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	_, err = p.Call(t.Context(), "services", map[string]string{"use": "call"})
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
}

func TestStateUpdatesOfManyCallsAreNotLost(t *testing.T) {
	p := plugintest.Start(t, plugin(), plugintest.Options{})
	var all sync.WaitGroup
	q := plugintest.Start(t, plugin(), plugintest.Options{Host: p.Host})
	for _, plugin := range []*plugintest.Plugin{p, q} {
		all.Go(func() {
			for range 50 {
				_, err := plugin.Call(t.Context(), "services", map[string]string{"use": "count"})
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	value, ok, err := p.Host.State(sdk.SessionScope).Get(t.Context(), "n")
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, "100", string(value))
}

func TestPluginsThatContradictThemselves(t *testing.T) {
	tl := sdk.Func(sdk.Definition{Name: "a", Risk: sdk.ReadOnly}, services)
	for name, p := range map[string]sdk.Plugin{
		"no name":   {Tools: []sdk.Tool{tl}},
		"two tools": {Name: "p", Tools: []sdk.Tool{tl, tl}},
		"no risk":   {Name: "p", Tools: []sdk.Tool{sdk.Func(sdk.Definition{Name: "a"}, services)}},
		"no tool":   {Name: "p", Tools: []sdk.Tool{sdk.Func(sdk.Definition{Risk: sdk.ReadOnly}, services)}},
	} {
		_, err := plugintest.TryStart(t, p, plugintest.Options{})
		assert.Error(t, err, name)
		_, err = p.Describe()
		assert.Error(t, err, name)
	}
}

func TestDescribeCommand(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	var d struct {
		Name     string
		Version  string
		Protocol []int `json:"protocol_versions"`
		Tools    []sdk.Definition
	}
	require.NoError(t, json.Unmarshal(plugintest.DescribeProgram(t, program), &d))
	assert.Equal(t, "greeter", d.Name)
	assert.Equal(t, []int{1, sdk.ProtocolVersion}, d.Protocol)
	require.Len(t, d.Tools, 2)
	assert.JSONEq(t, `{"type":"object","properties":{
		"name":{"type":"string","description":"Whom to greet."},
		"how":{"type":"string","enum":["Hello","Goodbye"],"default":"Hello"}},
		"required":["name"],"additionalProperties":false}`, string(d.Tools[0].Parameters))
}

func TestProgramStartedByHand(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TEST_PLUGIN=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Empty(t, stdout.String())
	assert.Contains(t, stderr.String(), "greeter is a plugin of toolhost")
}
