package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/command"
)

// A program that finds nothing may print nothing, which is no JSON.
func TestJSONOfNothing(t *testing.T) {
	ws, err := workspace.Open(t.TempDir(), workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	for printed, want := range map[string]string{"": "[]", " \n": "[]", "[1]": "[1]"} {
		for _, empty := range []string{"", "[]"} {
			made, err := command.New(argv.Spec{
				Name: "rows", Risk: tool.ReadOnly,
				Command: &argv.Template{Argv: []argv.Expr{{Literal: "printf"}, {Literal: "%s"}, {Literal: printed}}},
				Outputs: []argv.Content{{Kind: tool.KindText, JSON: true, Empty: empty}},
			}, command.Deps{Workspace: ws})
			require.NoError(t, err)
			result, err := made.Call(t.Context(), &tool.Call{Tool: "rows", Params: []byte("{}"), Workspace: ws.Root()})
			if empty == "" && printed != "[1]" {
				require.Error(t, err)
				assert.Equal(t, "nothing was printed, but JSON is expected", tool.AsError(err).Message)
				assert.Contains(t, tool.AsError(err).Suggestion, `empty = "[]"`)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, want, string(result.Structured))
			assert.Equal(t, want, result.Text())
		}
	}
}
