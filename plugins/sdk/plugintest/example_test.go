package plugintest_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

type helloInput struct {
	Name string `json:"name"`
}

type helloConfig struct {
	Greeting string `json:"greeting,omitempty"`
}

// hello is the plugin under test in TestHello.
func hello() sdk.Plugin {
	tools := func(greeting string) []sdk.Tool {
		return []sdk.Tool{sdk.Func(sdk.Definition{
			Name: "say_hello", Description: "Greet somebody. Returns: the greeting.", Risk: sdk.ReadOnly,
		}, func(ctx context.Context, call *sdk.Call, in helloInput) (string, error) {
			call.Emit(ctx, "greeted", map[string]any{"name": in.Name})
			return greeting + ", " + in.Name + "!", nil
		})}
	}
	return sdk.Plugin{
		Name: "hello", Version: "1.0.0", Tools: tools(""), ConfigSchema: sdk.Schema[helloConfig](),
		Configure: func(_ context.Context, env sdk.Env) ([]sdk.Tool, error) {
			config := helloConfig{Greeting: "Hello"}
			err := env.Decode(&config)
			return tools(config.Greeting), err
		},
	}
}

// TestHello shows a plugin's test.
func TestHello(t *testing.T) {
	p := plugintest.Start(t, hello(), plugintest.Options{Config: helloConfig{Greeting: "Good day"}})
	result, err := p.Call(t.Context(), "say_hello", helloInput{Name: "world"})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Text(); got != "Good day, world!" {
		t.Errorf("got %q", got)
	}
	if events := p.Host.Events(); len(events) != 1 || events[0].Name != "greeted" {
		t.Errorf("got the events %v", events)
	}
	if _, err := p.Call(t.Context(), "say_hello", map[string]any{"nam": "world"}); err == nil {
		t.Error("a parameter that does not exist was accepted")
	}
}
