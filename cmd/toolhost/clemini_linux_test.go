package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// clemini calls a tool over MCP and returns its object. The text must be the same object.
func (s *rpcServer) clemini(name, arguments string) (object map[string]any, failed bool) {
	s.t.Helper()
	r := s.call(name, arguments)
	require.NoError(s.t, json.Unmarshal(r.Structured, &object))
	assert.JSONEq(s.t, string(r.Structured), r.Content[0].Text)
	return object, r.IsError
}

// stubbornTask ignores SIGTERM, and leaves a child in a session of its own.
const stubbornTask = `{"command":"trap '' TERM; echo started; setsid sh -c 'trap \"\" TERM; echo x > child; sleep ` +
	`600; true' & while :; do sleep 1; done","run_in_background":true}`

// TestCleminiTasksEndWithTheSession starts stubborn tasks over MCP: the session's end ends them,
// whether regular or by the server's death, and the next session can read their output.
func TestCleminiTasksEndWithTheSession(t *testing.T) {
	testneed.NotShort(t, "waits for the end of tasks")
	for name, tt := range map[string]struct {
		end    func(*rpcServer)
		status string
	}{
		"end of input": {func(s *rpcServer) { s.end() }, "killed"},
		"SIGKILL":      {func(s *rpcServer) { require.NoError(t, s.cmd.Process.Kill()); s.exit() }, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "SIGKILL" { // without namespaces, a killed host's processes may live on
				needsFull(t)
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			s := serve(t, dir, "--toolset", "clemini")
			id := startStubborn(t, s, dir)
			tt.end(s)
			noneLeft(t, dir)
			next := serve(t, dir, "--toolset", "clemini")
			after, failed := next.clemini("task_output", `{"wait":true,`+id[1:])
			assert.False(t, failed)
			assert.Equal(t, tt.status, after["status"])
			assert.Contains(t, after["stdout"], "started\n")
			assert.Zero(t, next.end())
		})
	}
}

// startStubborn starts stubbornTask, waits for its output, and returns its parameters.
func startStubborn(t *testing.T, s *rpcServer, dir string) (id string) {
	t.Helper()
	started, failed := s.clemini("bash", stubbornTask)
	require.False(t, failed, "%v", started)
	id = `{"task_id":"` + started["task_id"].(string) + `"}`
	eventually(t, "it runs", func() bool { return exists(dir, "child") })
	var running map[string]any
	eventually(t, "it has printed", func() bool {
		running, _ = s.clemini("task_output", id)
		return running["stdout"] == "started\n"
	})
	assert.Equal(t, "running", running["status"])
	return id
}

// TestCleminiTasksFromTheCommandLine lists and ends a server's tasks on the command line.
func TestCleminiTasksFromTheCommandLine(t *testing.T) {
	testneed.NotShort(t, "waits for the end of tasks")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := serve(t, dir, "--toolset", "clemini")
	id := startStubborn(t, s, dir)
	var tasks []struct{ ID, State string }
	out, err := program(t, dir, "ps", "--json").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &tasks))
	require.Len(t, tasks, 1)
	assert.Equal(t, "running", tasks[0].State)
	out, err = program(t, dir, "kill", tasks[0].ID).Output()
	require.NoError(t, err)
	assert.Equal(t, tasks[0].ID+" is killed\n", string(out))
	eventually(t, "nothing of it is left", func() bool {
		return !strings.Contains(strings.Join(inside(dir), "\n"), "sleep")
	})
	after, _ := s.clemini("task_output", id)
	assert.Equal(t, "killed", after["status"])
	assert.Zero(t, s.end())
}

// TestABackgroundTaskBelongsToItsCall: undo and record have a task's changes after its call's end.
func TestABackgroundTaskBelongsToItsCall(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	plant(t, dir, texts{"a.txt": "one\n"})
	s := serve(t, dir, "--toolset", "clemini")
	started, failed := s.clemini("bash", `{"command":"until test -e go; do sleep 0.1; done; echo two > a.txt; mkdir dir; `+
		`touch dir/late","run_in_background":true}`)
	require.False(t, failed, "%v", started)
	plant(t, dir, texts{"go": ""})
	s.clemini("task_output", `{"wait":true,"task_id":"`+started["task_id"].(string)+`"}`)
	assert.Equal(t, "two\n", content(t, dir, "a.txt"))
	out, err := program(t, dir, "events", "--path", "dir", "--format", "table").Output()
	require.NoError(t, err)
	assert.Regexp(t, `bash .*dir/late`, string(out))
	out, err = program(t, dir, "undo").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "one\n", content(t, dir, "a.txt"))
	assert.NoFileExists(t, filepath.Join(dir, "dir/late"))
	assert.Zero(t, s.end())
}

// TestCleminiAsksThroughMCP has a client with elicitation: it is asked before a destructive command,
// and for ask_user.
func TestCleminiAsksThroughMCP(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"a": "", "b": ""})
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), "serve", "--toolset", "clemini")
	cmd.Dir, cmd.Env = dir, environment(t.TempDir())
	var questions []string
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			questions = append(questions, r.Params.Message)
			if strings.Contains(r.Params.Message, "rm b") {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "2"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), pipes(cmd), nil)
	require.NoError(t, err)
	defer session.Close()
	call := func(name string, arguments map[string]any) (object map[string]any, failed bool) {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		return r.StructuredContent.(map[string]any), r.IsError
	}
	object, failed := call("bash", map[string]any{"command": "rm a"})
	assert.False(t, failed, "%v", object)
	assert.NoFileExists(t, filepath.Join(dir, "a"))
	for _, confirmed := range []bool{false, true} {
		object, failed = call("bash", map[string]any{"command": "rm b", "confirmed": confirmed})
		assert.True(t, failed)
		assert.Equal(t, "BLOCKED", object["error_code"])
	}
	assert.FileExists(t, filepath.Join(dir, "b"))
	object, _ = call("ask_user",
		map[string]any{"question": "Which database should we use?", "options": []string{"PostgreSQL", "MySQL"}})
	assert.Equal(t, map[string]any{"answer": "MySQL"}, object)
	require.Len(t, questions, 4)
	assert.Contains(t, questions[0], "$ rm a")
	assert.Contains(t, questions[3], "2. MySQL")
}

// TestCleminiOnATerminal has a user type a number.
func TestCleminiOnATerminal(t *testing.T) {
	dir := t.TempDir()
	screen, code := onTerminalAt(t, dir, "2. MySQL", "2\n", nil, "call", "--toolset", "clemini", "--json", "ask_user",
		"--params",
		`{"question":"Which database?","options":["PostgreSQL","MySQL"]}`)
	assert.Zero(t, code, screen)
	assert.Contains(t, screen, `{"answer":"MySQL"}`)
}

// TestCleminiWebThroughAgentHCL searches and fetches as the web block says, and has the model block
// process a page.
func TestCleminiWebThroughAgentHCL(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/html/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<div class="result"><a class="result__a" href="/l/?uddg=` +
			`https%3A%2F%2Fdocs.rs%2Ftokio">tokio</a><a class="result__snippet">for ` + r.URL.Query().Get("q") + `</a></div>`))
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<body><nav>menu</nav><main><h1>Title</h1><p>Text</p></main></body>`))
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"model":"m","choices":[{"message":{"role":"assistant","content":"processed"},"finish_reason":"stop"}]}`))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "web {\n  allow  = [\"127.0.0.1\"]\n  search = \"" + server.URL +
		"/html/\"\n}\nmodel {\n  url   = \"" + server.URL + "/v1\"\n  model = \"m\"\n}\n"})
	s := serve(t, dir, "--toolset", "clemini")
	found, _ := s.clemini("web_search", `{"query":"runtime"}`)
	assert.Equal(t, map[string]any{"query": "runtime",
		"results": []any{map[string]any{"title": "tokio", "url": "https://docs.rs/tokio", "snippet": "for runtime"}}},
		found)
	page, _ := s.clemini("web_fetch", `{"url":"`+server.URL+`/page"}`)
	assert.Equal(t, map[string]any{"content": "# Title\n\nText"}, page)
	page, failed := s.clemini("web_fetch", `{"url":"`+server.URL+`/page","prompt":"What?"}`)
	assert.Equal(t, map[string]any{"processed_content": "processed"}, page)
	assert.False(t, failed)
	require.NoError(t, os.Remove(filepath.Join(dir, "agent.hcl")))
	assert.Zero(t, s.end())
}
