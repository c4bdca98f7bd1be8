package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A structured result other than the tool promised is an error: strict clients would lose the text with it.
func TestStructuredResultsAreWhatWasPromised(t *testing.T) {
	tests := map[string]struct{ returns, structured, want, wrong string }{
		"as promised":     {`{"type":"object","required":["a"]}`, `{"a":1}`, `{"a":1}`, ""},
		"array":           {`{"type":"array","items":{"type":"integer"}}`, `[1]`, `[1]`, ""},
		"missing":         {`{"type":"object","required":["a"]}`, `{"b":1}`, ``, "a: is required"},
		"another kind":    {`{"type":"object"}`, `[1]`, ``, "must be an object, not array"},
		"not there":       {`{"type":"object"}`, ``, ``, "has no structured part, which its output schema promises"},
		"none promised":   {``, ``, ``, ""},
		"nothing said":    {``, `[1]`, `[1]`, ""},
		"schema unusable": {`{"type":"strng"}`, `[1]`, `[1]`, ""},
		"not UTF-8":       {``, "{\"a\":\"caf\xe9\"}", "{\"a\":\"caf\ufffd\"}", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake("made", func(context.Context, *tool.Call) (*tool.Result, error) {
				r := tool.Text("the text")
				r.Structured = json.RawMessage(tt.structured)
				return r, nil
			})
			f.def.Returns = json.RawMessage(tt.returns)
			out := newHost(t, host.Options{}, f).Session("s").Call(t.Context(), host.Request{Tool: "made"})
			assert.Equal(t, tt.want, string(out.Result.Structured))
			assert.Contains(t, out.Result.Text(), "the text")
			if tt.wrong == "" {
				assert.Nil(t, out.Err)
				return
			}
			require.NotNil(t, out.Err)
			assert.Equal(t, tool.CommandFailed, out.Err.Code)
			assert.Contains(t, out.Result.Text(), tt.wrong)
			assert.Contains(t, out.Result.Text(), "Tell the tool's author")
		})
	}
}
