package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// The operator's own model is asked before the caller's.
func TestWhichModelIsAsked(t *testing.T) {
	type sampler = func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error)
	says := func(text string) sampler {
		return func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
			return &tool.SampleResponse{Text: text}, nil
		}
	}
	fails := func(err error) sampler {
		return func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) { return nil, err }
	}
	broken := tool.Errorf(tool.Unavailable, "the endpoint is down")
	for _, tt := range []struct {
		name        string
		own, caller sampler
		want        string
	}{
		{"own", says("own"), says("caller"), "own"},
		{"caller", nil, says("caller"), "caller"},
		{"none configured", fails(host.ErrNoModel), says("caller"), "caller"},
		{"own fails", fails(broken), says("caller"), "the endpoint is down"},
		{"neither", fails(host.ErrNoModel), nil, "there is no language model to ask: none is configured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asks := newFake("asks", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				response, err := c.Sample(ctx, tool.SampleRequest{Prompt: "x"})
				if err != nil {
					return nil, err
				}
				return tool.Text(response.Text), nil
			})
			calls := newFake("calls", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				return c.CallTool(ctx, "asks", nil)
			})
			h := newHost(t, host.Options{Sample: tt.own}, asks, calls)
			for _, name := range []string{"asks", "calls"} {
				out := h.Session("s").Call(t.Context(), host.Request{Tool: name, Sample: tt.caller})
				assert.Contains(t, out.Result.Text(), tt.want, name)
			}
		})
	}
}

func TestAModelIsAskedOnceInACall(t *testing.T) {
	asked := 0
	asks := newFake("asks", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		for range 3 {
			_, err := c.Ask(ctx, "k", tool.Form{Sample: &tool.SampleRequest{Prompt: "x"}})
			assert.Equal(t, tool.Timeout, tool.CodeOf(err))
		}
		return tool.Text("done"), nil
	})
	h := newHost(t, host.Options{Sample: func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
		asked++
		return nil, tool.Errorf(tool.Timeout, "too slow")
	}}, asks)
	h.Session("s").Call(t.Context(), host.Request{Tool: "asks"})
	assert.Equal(t, 1, asked)
}
