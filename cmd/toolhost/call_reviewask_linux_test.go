package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// An MCP client that can ask shows the call's changes in its view, and exactly these are applied, or
// none.
func TestReviewThroughMCP(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": reviewFirst, "a.txt": "old\n"})
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), "serve")
	cmd.Dir, cmd.Env = dir, environment(t.TempDir())
	asked := ""
	answer := &mcp.ElicitResult{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked += r.Params.Message
			assert.Equal(t, "old\n", content(t, dir, "a.txt"), "while it is asked")
			return answer, nil
		},
	})
	session, err := client.Connect(t.Context(), pipes(cmd), nil)
	require.NoError(t, err)
	defer session.Close()
	call := func(decision string) (text string, failed bool) {
		asked = ""
		answer = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "stamp", Arguments: map[string]any{}})
		require.NoError(t, err)
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	text, failed := call("deny")
	assert.True(t, failed, text)
	assert.Contains(t, text, "did not approve")
	for _, part := range []string{"new file: stamp.txt", "+x", "every change is shown first"} {
		assert.Contains(t, asked, part)
	}
	assert.Equal(t, "old\n", content(t, dir, "a.txt"))
	assert.NoFileExists(t, filepath.Join(dir, "stamp.txt"))
	first := asked

	text, failed = call("once")
	require.False(t, failed, text)
	assert.Equal(t, "old\nx\n", content(t, dir, "a.txt"))
	assert.Contains(t, asked, "+"+strings.TrimSpace(content(t, dir, "stamp.txt")), "what was shown is what came")
	assert.NotEqual(t, first, asked, "it was made again")
}

// The user at a call's terminal sees its changes before they are applied.
func TestReviewOnTheTerminalOfACall(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	for answer, want := range map[string]struct {
		code    int
		changed bool
	}{"y\n": {0, true}, "n\nnot so\n": {3, false}, "always\n": {0, true}, "\x04": {3, false}} {
		dir := t.TempDir()
		plant(t, dir, texts{"agent.hcl": reviewFirst, "a.txt": "old\n"})
		home := environment(t.TempDir())
		screen, code := onTerminal(t, dir, answer, home, "call", "stamp")
		assert.Equal(t, want.code, code, "%q: %s", answer, screen)
		for _, part := range []string{"Tool: stamp", "new file: stamp.txt", "+x", "Files affected: a.txt, stamp.txt"} {
			assert.Contains(t, screen, part, "%q", answer)
		}
		if !want.changed {
			assert.Equal(t, "old\n", content(t, dir, "a.txt"), "%q", answer)
			assert.NoFileExists(t, filepath.Join(dir, "stamp.txt"), "%q", answer)
			continue
		}
		assert.Equal(t, "old\nx\n", content(t, dir, "a.txt"), "%q", answer)
		assert.Contains(t, screen, "+"+strings.TrimSpace(content(t, dir, "stamp.txt")), "what was shown is what came")
		again := program(t, dir, "call", "stamp")
		again.Env = home
		assert.Equal(t, answer == "always\n", again.Run() == nil, "always lets it run without review")
	}
}

// All changes are shown to programs too, however long.
func TestApproveShowsAllOfAReview(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": strings.Replace(reviewFirst, "date +%N >stamp.txt", "seq 30000 >stamp.txt", 1),
		"a.txt": "old\n"})
	s := serve(t, dir)
	id := waitingFor(t, s, "stamp")
	cmd := program(t, dir, "approve", id, "--json")
	cmd.Env = append(cmd.Env, homeOf(s)...)
	out, err := cmd.Output()
	require.NoError(t, err)
	var told struct {
		Question struct {
			Effect string
			Files  []string
		}
	}
	require.NoError(t, json.Unmarshal(out, &told))
	assert.Equal(t, []string{"a.txt", "stamp.txt"}, told.Question.Files)
	for _, n := range []int{1, 15000, 30000} {
		assert.Contains(t, told.Question.Effect, fmt.Sprintf("\n+%d\n", n))
	}
	assert.Contains(t, told.Question.Effect, "\n+x\n")
}
