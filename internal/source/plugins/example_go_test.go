package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestGoExample builds examples/plugin-go as an author would, in a module elsewhere, and calls its
// tool.
func TestGoExample(t *testing.T) {
	testneed.NotShort(t, "builds a plugin")
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"main.go", "main_test.go", "go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, "examples", "plugin-go", name))
		require.NoError(t, err)
		if name == "go.sum" { // the checkout's present requirements
			own, err := os.ReadFile(filepath.Join(root, "go.sum"))
			require.NoError(t, err)
			data = append(data, own...)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
		return string(out)
	}
	run("mod", "edit", "-replace=github.com/toolhost/toolhost="+root)
	run("build", "-o", "wordcount", ".")
	run("test", ".")

	f := newFixture(t)
	tools := f.add(t, plugins.Spec{Name: "wordcount", Path: filepath.Join(dir, "wordcount")})
	r, err := tools["count_words"].Call(t.Context(), &tool.Call{
		Tool: "count_words", Params: tool.MustMarshal(map[string]string{"text": "to be or not to be", "word": "to"}),
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"words":2}`, string(r.Structured))
	_, err = tools["count_words"].Call(t.Context(), &tool.Call{
		Tool: "count_words", Params: tool.MustMarshal(map[string]string{"text": "x", "word": "a b"}),
	})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

// The example in Node has its own copy of the protocol, so that it can be copied elsewhere.
func TestNodeExampleHasTheProtocolOfToday(t *testing.T) {
	ours, err := os.ReadFile("../../../plugins/proto/toolhost/plugin/v1/plugin.proto")
	require.NoError(t, err)
	theirs, err := os.ReadFile("../../../examples/plugin-node/plugin.proto")
	require.NoError(t, err)
	assert.Equal(t, string(ours), string(theirs))
}
