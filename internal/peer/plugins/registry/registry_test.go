package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/export"
	"github.com/toolhost/toolhost/internal/peer/plugins/registry"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// custom is a tool like the one that contract ocode gives as its example.
func custom() tool.Tool {
	return sdk.Func(sdk.Definition{
		Name: "custom_tool", Description: "Does something. Returns: the text.", Category: "custom", Risk: sdk.ReadOnly,
		Permissions: []sdk.Permission{"custom_permission"},
		Parameters: registry.Strict(
			registry.Parameter{Name: "input", Type: "string", Required: true, Description: "Input data"},
			registry.Parameter{Name: "options", Type: "object", Description: "Processing options",
				Properties: map[string]any{
					"format": map[string]any{"type": "string"}, "validate": map[string]any{"type": "boolean"},
				}},
			registry.Parameter{Name: "mode", Type: "string", Default: "fast", Enum: registry.Strings("fast", "slow"),
				Description: "How"},
			registry.Parameter{Name: "tags", Type: "array", Items: map[string]any{"type": "string"},
				Description: "Labels"},
			registry.Parameter{Name: "none", Type: "boolean", Default: false, Description: "A default that is nothing"},
		),
	}, func(_ context.Context, _ *sdk.Call, in struct {
		Input string `json:"input"`
		Mode  string `json:"mode"`
	}) (string, error) {
		if in.Input == "" {
			return "", sdk.Errorf(sdk.InvalidArgument, "Input is required").Suggest("Give one.")
		}
		return "Processed: " + in.Input + " " + in.Mode, nil
	})
}

func TestRegister(t *testing.T) {
	var r registry.Registry
	require.NoError(t, r.Register(custom()))
	err := r.Register(custom())
	assert.ErrorIs(t, err, &tool.Error{Code: tool.AlreadyExists})
	assert.Equal(t, []string{"custom_tool"}, r.Names())
	err = r.Register(sdk.Func(sdk.Definition{},
		func(context.Context, *sdk.Call, struct{}) (string, error) { return "", nil }))
	assert.ErrorIs(t, err, &tool.Error{Code: tool.InvalidArgument})
}

func TestGet(t *testing.T) {
	var r registry.Registry
	_, ok := r.Get("custom_tool")
	assert.False(t, ok)
	own := custom()
	require.NoError(t, r.Register(own))
	got, ok := r.Get("custom_tool")
	assert.True(t, ok)
	assert.Same(t, own, got)
}

func TestDefinitions(t *testing.T) {
	var r registry.Registry
	require.NoError(t, r.Register(custom()))
	defs := r.Definitions()
	require.Len(t, defs, 1)
	assert.Equal(t, "custom", defs[0].Category)
	assert.Equal(t, []tool.Permission{"custom_permission"}, defs[0].Permissions)
	assert.JSONEq(t, `{"type":"object","properties":{
		"input":{"type":"string","description":"Input data"},
		"options":{"type":"object","description":"Processing options","properties":{"format":{"type":"string"},"validate":{"type":"boolean"}}},
		"mode":{"type":"string","description":"How","default":"fast","enum":["fast","slow"]},
		"tags":{"type":"array","description":"Labels","items":{"type":"string"}},
		"none":{"type":"boolean","description":"A default that is nothing","default":false}
	},"required":["input"],"additionalProperties":false}`, string(defs[0].Parameters))
	order := strings.Index(string(defs[0].Parameters), `"mode"`)
	assert.Greater(t, order, strings.Index(string(defs[0].Parameters), `"options"`), "as they were given")
}

func TestExport(t *testing.T) {
	var r registry.Registry
	require.NoError(t, r.Register(custom()))
	out, err := r.Export(export.Ollama)
	require.NoError(t, err)
	var list []struct {
		Type     string
		Function struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(out, &list))
	assert.Equal(t, "function", list[0].Type)
	assert.Equal(t, "custom_tool", list[0].Function.Name)
}

func TestExecute(t *testing.T) {
	var r registry.Registry
	require.NoError(t, r.Register(custom()))
	got, err := r.Execute(t.Context(), "custom_tool",
		map[string]any{"input": "test data", "options": map[string]any{"validate": true}}, nil)
	require.NoError(t, err)
	assert.Equal(t, "Processed: test data fast", got.Text(), "defaults are filled in")
	_, err = r.Execute(t.Context(), "custom_tool", map[string]any{"input": ""}, nil)
	assert.EqualError(t, err, "Input is required")
	_, err = r.Execute(t.Context(), "custom_tool", nil, nil)
	assert.ErrorIs(t, err, &tool.Error{Code: tool.InvalidArgument})
	assert.ErrorContains(t, err, "input: is required")
	_, err = r.Execute(t.Context(), "custom_tool", map[string]any{"input": "x", "mode": "none", "more": 1}, nil)
	assert.ErrorContains(t, err, "mode")
	assert.ErrorContains(t, err, "more")
	_, err = r.Execute(t.Context(), "nope", nil, nil)
	assert.ErrorIs(t, err, &tool.Error{Code: tool.NotFound})
	_, err = r.Execute(t.Context(), "custom_tool", func() {}, nil)
	assert.ErrorIs(t, err, &tool.Error{Code: tool.InvalidArgument})
}

func TestEmptySchema(t *testing.T) {
	for _, raw := range []json.RawMessage{registry.Schema(), registry.Strict()} {
		_, err := schema.Compile(raw)
		require.NoError(t, err, string(raw))
	}
}
