package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A tool's questions are all asked at once, even if the tool's error names only the first, as through a plugin.
func TestAskAll(t *testing.T) {
	for name, forget := range map[string]bool{"as it is": false, "through a plugin": true} {
		t.Run(name, func(t *testing.T) {
			ask := func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				answers, err := c.AskAll(ctx, tool.Question{Key: "b", Form: tool.Form{Message: "B?"}},
					tool.Question{Key: "a", Form: tool.Form{Message: "A?"}})
				if asks, ok := errors.AsType[*tool.InputRequired](err); ok && forget {
					return nil, &tool.InputRequired{Key: asks.Key, Form: asks.Form}
				}
				if err != nil {
					return nil, err
				}
				return tool.Text(answers["a"].Action + " " + answers["b"].Action), nil
			}
			session := newHost(t, host.Options{}, newFake("both", ask)).Session("s")
			request := host.Request{Tool: "both", CanAsk: true}
			out := session.Call(t.Context(), request)
			require.NotNil(t, out.Input)
			assert.Equal(t, "b", out.Input.Key)
			require.Len(t, out.Input.Also, 1)
			assert.Equal(t, "a", out.Input.Also[0].Key)

			request = out.Again(request, map[string]tool.Answer{"b": {Action: "accept"}})
			out = session.Call(t.Context(), request)
			require.NotNil(t, out.Input)
			assert.Equal(t, "a", out.Input.Key, "what is answered is not asked again")
			assert.Empty(t, out.Input.Also)

			out = session.Call(t.Context(), out.Again(request, map[string]tool.Answer{"a": {Action: "decline"}}))
			require.Nil(t, out.Err)
			assert.Equal(t, "decline accept", out.Result.Contents[0].Text)
		})
	}
}
