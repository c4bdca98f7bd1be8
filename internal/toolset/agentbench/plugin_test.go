package agentbench_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

func answer(t *testing.T, result *sdk.Result, err error) *envelope {
	t.Helper()
	require.NoError(t, err)
	e := &envelope{result: result}
	require.NoError(t, json.Unmarshal(result.Structured, e))
	return e
}

func TestPlugin(t *testing.T) {
	p := plugintest.Start(t, agentbench.Plugin(), plugintest.Options{})
	assert.Equal(t, "agentbench", p.Name())
	var names []string
	for _, d := range p.Tools() {
		names = append(names, d.Name)
	}
	assert.Equal(t, []string{"list_files", "read_file", "search", "apply_patch", "run"}, names)
	require.NoError(t, os.WriteFile(filepath.Join(p.Root, "f"), []byte("a\n"), 0o644))
	require.NoError(t, os.Symlink("f", filepath.Join(p.Root, "link")))

	r, err := p.Call(t.Context(), "list_files", map[string]any{"glob": nil})
	e := answer(t, r, err)
	assert.Equal(t, []string{"f"}, strs(e.Data["files"]))
	r, err = p.Call(t.Context(), "read_file", map[string]any{"path": "link"})
	e = answer(t, r, err)
	assert.Equal(t, "symlink_blocked", e.Error.Type, "links are blocked unless the operator says otherwise")
	assert.Equal(t, tool.Blocked, r.Failed.Code)

	diff := diffOf("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")
	plan, err := p.Plan(t.Context(), "apply_patch", diff)
	require.NoError(t, err)
	assert.Equal(t, []string{"f"}, plan.FilesAffected)
	r, err = p.Call(t.Context(), "apply_patch", diff)
	e = answer(t, r, err)
	assert.Equal(t, "success", e.Status)
	require.Len(t, p.Host.Events(), 1)
	assert.Equal(t, "PATCH_APPLIED", p.Host.Events()[0].Name)
	r, err = p.Call(t.Context(), "search", map[string]any{"query": "B"})
	assert.Equal(t, []string{"f:1:b"}, found(answer(t, r, err).Data))

	r, err = p.RenderError(t.Context(), "run", map[string]any{}, tool.Errorf(tool.Denied, "no").Suggest("Ask."))
	e = answer(t, r, err)
	assert.Equal(t, "denied", e.Error.Type)
	assert.Equal(t, "Ask.", e.Error.Details["suggestion"])
}

func TestPluginSymlinks(t *testing.T) {
	for _, o := range []plugintest.Options{
		{Workspace: sdk.Workspace{Symlinks: "inside"}},
		{Config: map[string]any{"symlinks": "inside"}, Workspace: sdk.Workspace{Symlinks: "block"}},
	} {
		o.Workspace.Root = t.TempDir()
		p := plugintest.Start(t, agentbench.Plugin(), o)
		require.NoError(t, os.WriteFile(filepath.Join(p.Root, "f"), []byte("a\n"), 0o644))
		require.NoError(t, os.Symlink("f", filepath.Join(p.Root, "link")))
		r, err := p.Call(t.Context(), "read_file", map[string]any{"path": "link"})
		assert.Equal(t, "a\n", answer(t, r, err).Data["content"])
	}
	_, err := plugintest.TryStart(t, agentbench.Plugin(), plugintest.Options{Config: map[string]any{"symlinks": "all"}})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

func TestPluginUnconfinedByTheOperator(t *testing.T) {
	testneed.NotShort(t, "starts many plugins")
	p := plugintest.Start(t, agentbench.Plugin(),
		plugintest.Options{Config: map[string]any{"timeout_sec": 1, "confine": unconfined()}})
	r, err := p.Call(t.Context(), "run", map[string]any{"command": "exit 0"})
	e := answer(t, r, err)
	assert.Equal(t, 0, *e.ExitCode)
	assert.Equal(t, "off", r.Metadata["sandbox"])
	r, err = p.Call(t.Context(), "run", map[string]any{"command": string(testproc.Sleep(t))})
	assert.Equal(t, "timeout", answer(t, r, err).Error.Type)
}

func unconfined() map[string]any { return map[string]any{"level": "off"} }

// TestPluginSandbox runs commands with the defaults: no network, and only the workspace writable.
func TestPluginSandbox(t *testing.T) {
	strongest := sandbox.Detect(t.Context()).Strongest
	if strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	p := plugintest.Start(t, agentbench.Plugin(), plugintest.Options{})
	outside := filepath.Join(homeLike(t), "outside")
	run := func(command string) *envelope {
		r, err := p.Call(t.Context(), "run", map[string]any{"command": command})
		e := answer(t, r, err)
		assert.Equal(t, string(strongest), r.Metadata["sandbox"])
		return e
	}
	assert.Equal(t, "success", run("echo x > inside && cat inside").Status)
	assert.FileExists(t, filepath.Join(p.Root, "inside"))
	require.NoError(t, os.WriteFile(outside, nil, 0o644), "without a sandbox it could")
	require.NoError(t, os.Remove(outside))
	assert.Equal(t, "abnormal_exit", run("echo x > "+outside).Error.Type)
	assert.NoFileExists(t, outside)
}

// The server is reachable without a sandbox.
func TestPluginNetworkIsOff(t *testing.T) {
	testneed.Program(t, "curl")
	if sandbox.Detect(t.Context()).Strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	params := map[string]any{"command": "curl -sS -m 5 --noproxy '*' " + server.URL}
	p := plugintest.Start(t, agentbench.Plugin(), plugintest.Options{})
	r, err := p.Call(t.Context(), "run", params)
	assert.Equal(t, "abnormal_exit", answer(t, r, err).Error.Type)
	p = plugintest.Start(t, agentbench.Plugin(), plugintest.Options{Config: map[string]any{"confine": unconfined()}})
	r, err = p.Call(t.Context(), "run", params)
	assert.Equal(t, "success", answer(t, r, err).Status)
}

// homeLike is a directory that is writable for the test and neither in the
// workspace nor in /tmp, which may be private to a sandbox.
func homeLike(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "sandbox-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	abs, err := filepath.Abs(dir)
	require.NoError(t, err)
	return abs
}
