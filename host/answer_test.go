package host_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A foreign tool's result is truncated to the operator's bound; the operator's own tools have their own limits.
func TestForeignResultsAreBounded(t *testing.T) {
	const most = 1 << 20
	long := strings.Repeat("é", 2<<20)
	f := newFake("made", func(context.Context, *tool.Call) (*tool.Result, error) {
		r := tool.Text("first " + long)
		r.Contents = append(r.Contents, tool.Content{Kind: tool.KindImage, Data: make([]byte, 2<<20)},
			tool.Content{Kind: tool.KindText, Text: "last"})
		return r, nil
	})
	data := newFake("data", func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Structured: tool.MustMarshal(map[string]string{"a": long})}, nil
	})
	short := newFake("short",
		func(context.Context, *tool.Call) (*tool.Result, error) { return tool.Text("short"), nil })
	source := list{name: "mcp up", tools: []tool.Tool{f, data, short}}
	h := newHost(t, host.Options{Sources: []host.Source{host.Foreign(source, nil)}})
	call := func(h *host.Host, name string) host.Outcome {
		return *h.Session("s").Call(t.Context(), host.Request{Tool: name})
	}

	out := call(h, "made")
	require.Nil(t, out.Err)
	assert.Less(t, len(out.Result.Text()), most+1000)
	assert.True(t, utf8.ValidString(out.Result.Text()))
	assert.True(t, out.Result.Truncated)
	require.Len(t, out.Result.Contents, 3, "the image stays")
	assert.Contains(t, out.Result.Contents[2].Text, "1048576 of 4194314 bytes are shown")
	assert.Contains(t, out.Result.Contents[2].Text, "Ask for less")

	out = call(h, "data")
	require.NotNil(t, out.Err)
	assert.Equal(t, tool.TooLarge, out.Err.Code)
	assert.Empty(t, out.Result.Structured)
	assert.Contains(t, out.Result.Text(), "Ask for less")
	assert.False(t, call(h, "short").Result.Truncated)

	h.SetOutput(8 << 20)
	assert.False(t, call(h, "made").Result.Truncated, "the operator allows more")
	assert.Nil(t, call(h, "data").Err)
	assert.False(t, call(newHost(t, host.Options{Sources: []host.Source{source}}), "made").Result.Truncated,
		"the operator's own")
}

type fixedPrompt struct{ tool.Tool }

func (fixedPrompt) Prompt() *tool.PromptDefinition { return &tool.PromptDefinition{Name: "ask"} }

// Wrappers of a source, in any order, keep each other's properties.
func TestWrappersKeepWhatTheyWrap(t *testing.T) {
	own := list{name: "own", tools: []tool.Tool{echo("echo")}}
	prompts := []tool.Prompt{fixedPrompt{echo("ask")}}
	refuse := func(tool.Tool) *tool.Error { return tool.Errorf(tool.NeedsConfirmation, "refused").Suggest("Look.") }
	for name, c := range map[string]struct {
		source  host.Source
		tools   []string
		prompts int
	}{
		"a prefix within offers": {host.Offering(host.Prefixed(own, "x_"), nil, prompts), []string{"x_echo"}, 1},
		"offers within a prefix": {host.Prefixed(host.Offering(own, nil, prompts), "x_"), []string{"x_echo"}, 1},
		"two prefixes":           {host.Prefixed(host.Prefixed(own, "y_"), "x_"), []string{"x_y_echo"}, 0},
		"foreign within":         {host.Prefixed(host.Offering(host.Foreign(own, refuse), nil, prompts), "x_"), nil, 1},
		"foreign around":         {host.Foreign(host.Prefixed(host.Offering(own, nil, prompts), "x_"), refuse), nil, 1},
	} {
		catalog := newHost(t, host.Options{Sources: []host.Source{c.source}}).Catalog()
		var tools []string
		for _, e := range catalog.Entries() {
			tools = append(tools, e.Name)
		}
		assert.Equal(t, c.tools, tools, name)
		assert.Len(t, catalog.Prompts(), c.prompts, name)
	}
}
