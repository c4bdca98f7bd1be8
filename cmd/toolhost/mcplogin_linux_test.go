package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/oauthtest"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// TestServeSeesALogin runs a server of tools while its user logs in to, and out of, a server behind it.
func TestServeSeesALogin(t *testing.T) {
	behind, stop := oauthtest.New()
	t.Cleanup(stop)
	dir, home := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"),
		fmt.Appendf(nil, "mcp \"docs\" {\n  url = %q\n}\n", behind.URL), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(home, "xdg-open")))
	toolhost := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(binaries, "toolhost"), args...)
		cmd.Dir = dir
		cmd.Env = environment(home, "PATH="+home+string(os.PathListSeparator)+os.Getenv("PATH"))
		return cmd
	}
	changed := make(chan struct{}, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), pipes(toolhost("serve")), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	assert.NotContains(t, toolNames(t, session), " whoami ")

	out, err := toolhost("mcp", "login", "docs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	testproc.Receive(t, changed, "word of the tools")
	assert.Contains(t, toolNames(t, session), " whoami ")
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
	require.NoError(t, err)
	assert.False(t, result.IsError)

	out, err = toolhost("mcp", "logout", "docs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
	require.NoError(t, err)
	require.True(t, result.IsError)
	text, _ := result.Content[0].(*mcp.TextContent)
	assert.Contains(t, text.Text, "the MCP server docs wants a login")
	assert.Contains(t, text.Text, "toolhost mcp login docs")
}
