package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// upstreamProject is a project with the reference MCP servers and one that hangs. mark is in the
// servers' environment.
func upstreamProject(t *testing.T) (dir, mark string) {
	t.Helper()
	node := testneed.Program(t, "node")
	packages := os.Getenv("TOOLHOST_NODE_PACKAGES")
	if packages == "" {
		testneed.Missing(t, "TOOLHOST_NODE_PACKAGES does not name a directory with node_modules; see .ci/node-packages")
	}
	dir, mark = t.TempDir(), fmt.Sprintf("upstream-%d-%d", os.Getpid(), time.Now().UnixNano())
	hcl := ""
	for name, arg := range map[string]string{"filesystem": ".", "everything": "stdio"} {
		hcl += fmt.Sprintf("mcp %q {\n  command = [%q, %q, %q]\n  read = [%q]\n  env = { TEST_MARK = %q }\n  prefix = %q\n}\n",
			name, node, filepath.Join(packages, "node_modules/@modelcontextprotocol/server-"+name+"/dist/index.js"),
			arg, packages, mark, name[:2]+"_")
	}
	hcl += fmt.Sprintf("mcp \"hanging\" {\n  command = [\"sleep\", \"1000\"]\n  env = { TEST_MARK = %q }\n}\n", mark)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(hcl), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("first\nsecond\n"), 0o600))
	return dir, mark
}

// marked lists the living processes with mark in their environment, oldest first. Process ids order
// only those of one clock tick: they wrap around at the system's limit, which may be 32,768.
func marked(mark string) (pids []int) {
	began := make(map[int]uint64)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, afterName, alive := bytes.Cut(stat, []byte(") "))
		if err != nil || !alive || !bytes.Contains(environ, []byte(mark)) {
			continue
		}
		began[pid], _ = strconv.ParseUint(string(bytes.Fields(afterName)[19]), 10, 64) // proc_pid_stat(5), starttime
		pids = append(pids, pid)
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(cmp.Compare(began[a], began[b]), cmp.Compare(a, b)) })
	return pids
}

// connectUpstream serves the project to a client, which notes changes of the tools and answers forms.
func connectUpstream(t *testing.T, dir string, changed chan struct{}, progress chan string) (*mcp.ClientSession,
	*exec.Cmd) {
	t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), "serve")
	cmd.Dir = dir
	cmd.Env = environment(t.TempDir())
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.URL == "https://login.example/start" && strings.Contains(r.Params.Message, "login.example") {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept",
				Content: map[string]any{"name": "Ada", "question": r.Params.Message}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case progress <- fmt.Sprint(r.Params.Progress):
			default:
			}
		},
	})
	session, err := client.Connect(t.Context(), pipes(cmd), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session, cmd
}

func toolNames(t *testing.T, session *mcp.ClientSession) string {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	return " " + strings.Join(names, " ") + " "
}

// TestUpstreamReferenceServers offers the reference servers through toolhost, beside one that hangs.
func TestUpstreamReferenceServers(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	dir, mark := upstreamProject(t)
	changed, progress := make(chan struct{}, 16), make(chan string, 16)
	began := time.Now()
	session, _ := connectUpstream(t, dir, changed, progress)
	call := func(name string, args map[string]any) *mcp.CallToolResult {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		require.NoError(t, err)
		return result
	}
	require.Contains(t, text(call("head", map[string]any{"args": "-n 1 note.txt"})), "first")
	require.Less(t, time.Since(began), project.FirstList+20*time.Second,
		"the server that hangs delays the first answer for no longer")

	for names := ""; !strings.Contains(names, " fi_read_text_file ") ||
		!strings.Contains(names, " ev_trigger-elicitation-request "); {
		names = toolNames(t, session)
		select {
		case <-changed:
		case <-time.After(time.Second):
			require.Less(t, time.Since(began), 3*time.Minute, "the servers' tools come: %s", names)
		}
	}
	assert.Equal(t, "first\nsecond\n", text(call("fi_read_text_file", map[string]any{"path": "note.txt"})))
	assert.True(t, call("fi_read_text_file", map[string]any{"path": "/etc/passwd"}).IsError)
	assert.Equal(t, "Echo: hi", text(call("ev_echo", map[string]any{"message": "hi"})))
	image := call("ev_get-tiny-image", nil)
	require.IsType(t, &mcp.ImageContent{}, image.Content[1])
	assert.Equal(t, "image/png", image.Content[1].(*mcp.ImageContent).MIMEType)
	annotated := call("ev_get-annotated-message", map[string]any{"messageType": "error"})
	require.NotNil(t, annotated.Content[0].(*mcp.TextContent).Annotations)
	assert.EqualValues(t, 1, annotated.Content[0].(*mcp.TextContent).Annotations.Priority)
	assert.Contains(t, text(call("ev_get-roots-list", nil)), "file://"+dir)
	assert.NotNil(t, call("ev_get-structured-content", map[string]any{"location": "New York"}).StructuredContent)
	assert.Contains(t, kinds(call("ev_get-resource-links", map[string]any{"count": 2})),
		"*mcp.ResourceLink *mcp.ResourceLink")
	visited := call("ev_trigger-url-elicitation", map[string]any{"url": "https://login.example/start"})
	assert.False(t, visited.IsError)
	assert.Contains(t, text(visited), "accept", "the page was shown to the user")
	assert.True(t, call("ev_trigger-url-elicitation", map[string]any{"url": "http://login.example/start"}).IsError,
		"it is not https")
	assert.Contains(t, text(call("ev_trigger-elicitation-request", nil)), "Ada",
		"the form reached the user and the answer the server")

	// Killed during a call: the call fails with the reason, and the next one works.
	params := &mcp.CallToolParams{Name: "ev_trigger-long-running-operation",
		Arguments: map[string]any{"duration": 30, "steps": 60}}
	params.SetProgressToken("p")
	ended := make(chan *mcp.CallToolResult, 1)
	go func() {
		result, err := session.CallTool(t.Context(), params)
		assert.NoError(t, err)
		ended <- result
	}()
	testproc.Receive(t, progress, "the call's progress")
	for _, pid := range marked(mark) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(line,
			[]byte("server-everything")) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
	result := testproc.Receive(t, ended, "the end of the call")
	assert.True(t, result.IsError)
	assert.Contains(t, text(result), "the MCP server everything broke off during the call")
	assert.Equal(t, "Echo: again", text(call("ev_echo", map[string]any{"message": "again"})))

	require.NoError(t, session.Close())
	eventually(t, "no server outlives toolhost", func() bool { return len(marked(mark)) == 0 })
}

// TestUpstreamDiesWithAKilledHost: no MCP server outlives toolhost, even if killed.
func TestUpstreamDiesWithAKilledHost(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	dir, mark := upstreamProject(t)
	_, cmd := connectUpstream(t, dir, nil, nil)
	eventually(t, "all servers run", func() bool { return len(marked(mark)) >= 3 })
	require.NoError(t, cmd.Process.Kill())
	eventually(t, "no server outlives toolhost", func() bool { return len(marked(mark)) == 0 })
}

func kinds(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, fmt.Sprintf("%T", c))
	}
	return strings.Join(all, " ")
}

func text(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	if len(all) == 0 {
		data, _ := json.Marshal(r)
		return string(data)
	}
	return strings.Join(all, "\n")
}
