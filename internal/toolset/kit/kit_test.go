package kit_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

func TestOpenWorkspace(t *testing.T) {
	for symlinks, want := range map[string]tool.Code{"": "", "inside": "", "block": tool.Blocked} {
		root := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
		require.NoError(t, os.Symlink("file", filepath.Join(root, "link")))
		ws, err := kit.OpenWorkspace(sdk.Workspace{Root: root, Symlinks: symlinks, Protect: []string{"secret"}},
			sandbox.Settings{})
		require.NoError(t, err)
		_, _, err = ws.ReadFile("link", 0)
		assert.Equal(t, want, tool.CodeOf(err), "symlinks %q", symlinks)
	}
}

func TestDecode(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer","default":7}},"additionalProperties":false}`))
	require.NoError(t, err)
	type params struct{ N int }
	var got params
	err = kit.Decode("count", s, json.RawMessage(`{}`), &got)
	require.NoError(t, err)
	assert.Equal(t, params{7}, got)
	err = kit.Decode("count", s, json.RawMessage(`{"n":"x","m":1}`), &got)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	assert.ErrorContains(t, err, "Invalid parameters for count: ")
	assert.Len(t, tool.AsError(err).Details["violations"], 2)
}

func TestWorded(t *testing.T) {
	for _, c := range []struct {
		err  error
		want tool.Error
	}{
		{tool.Errorf(tool.NotFound, "there is no \xff").Suggest("Look."),
			tool.Error{Code: tool.NotFound, Message: "There is no \uFFFD", Suggestion: "Look."}},
		{tool.Errorf(tool.NotFound, "a.txt is gone"),
			tool.Error{Code: tool.NotFound, Message: "a.txt is gone",
				Suggestion: "Look at the parameters and try again."}},
		{context.DeadlineExceeded,
			tool.Error{Code: tool.Timeout, Message: "The call did not finish in time",
				Suggestion: "Ask for less in one call."}},
		{context.Canceled, tool.Error{Code: tool.Cancelled, Message: "The call was cancelled",
			Suggestion: "Call again if the result is still wanted."}},
	} {
		got := kit.Worded(c.err)
		assert.Equal(t, c.want, tool.Error{Code: got.Code, Message: got.Message, Suggestion: got.Suggestion})
	}
	own := tool.Errorf(tool.Internal, "lower")
	kit.Worded(own)
	assert.Equal(t, "lower", own.Message, "the error itself stays as it was")
	assert.True(t, errors.Is(kit.Worded(context.Canceled), context.Canceled))
}

func TestPathThatAMessageBeginsWith(t *testing.T) {
	about := tool.Errorf(tool.Unsupported, "pipe is a named pipe")
	assert.Equal(t, "pipe is a named pipe", kit.Worded(about.With("path", "pipe")).Message)
	assert.Equal(t, "Pipe is a named pipe",
		kit.Worded(tool.Errorf(tool.Unsupported, "pipe is a named pipe").With("path", "pi")).Message)
}

func TestCapital(t *testing.T) {
	for text, want := range map[string]string{"the call": "The call", "a.txt is odd": "a.txt is odd", "über": "über",
		"": "", "Done": "Done"} {
		assert.Equal(t, want, kit.Capital(&tool.Error{Message: text}))
	}
	assert.Equal(t, "pp is odd", kit.Capital(tool.Errorf(tool.Unsupported, "pp is odd").With("path", "pp")))
}
