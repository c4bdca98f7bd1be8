package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

const requiredTools = `
tool "counted" {
  description = "Wait, and note the name. Returns: the name."
  risk        = "safe_write"
  task        = "required"
  param "name" {}
  param "wait" {}
  command { argv = ["sh", "-c", "sleep $2; echo $1 >>ran; echo done-$1", "sh", param.name, param.wait] }
}
tool "asks" {
  description = "Ask two things. Returns: the answers."
  risk        = "read_only"
  task        = "required"
  ask "user" {
    message = "Who?"
    field "name" {}
  }
  ask "place" {
    message = "Where?"
    field "city" {}
  }
  command { argv = ["echo", "${ask.user.name} in ${ask.place.city}"] }
}
policy { safe_write = "allow" }
`

func requiredProject(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(requiredTools), 0o644))
	return dir
}

func countedCall(name, wait string) map[string]any {
	return map[string]any{"name": "counted", "arguments": map[string]any{"name": name, "wait": wait}}
}

// A tool that requires tasks is offered only to clients with tasks.
func TestTaskIsRequired(t *testing.T) {
	s := serveTasks(t, requiredProject(t))
	created, failure := s.ask("tools/call", countedCall("x", "0"), nil)
	require.Nil(t, failure)
	assert.Equal(t, "task", created.ResultType, "also of a call that is quick")
	done := s.settled(created.TaskID)
	assert.Equal(t, "completed", done.Status)
	assert.Contains(t, done.Result.Content[0].Text, "done-x")

	_, failure = s.ask("tools/call", countedCall("y", "0"), map[string]any{})
	require.NotNil(t, failure)
	assert.Equal(t, -32021, failure.Code)
	assert.Contains(t, failure.Message, "toolhost call counted")

	old := serve(t, requiredProject(t)).call("counted", `{"name":"z","wait":"0"}`)
	assert.True(t, old.IsError)
	assert.Contains(t, old.text(), "made as tasks")
}

// A task that asks two questions gets each answer separately.
func TestTaskAsksTwoThings(t *testing.T) {
	s := serveTasks(t, requiredProject(t))
	created := s.call("asks", map[string]any{"elicitation": map[string]any{},
		"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}})
	require.Equal(t, "task", created.ResultType)
	eventually(t, "two questions", func() bool { return len(s.get(created.TaskID).InputRequests) == 2 })
	for key, content := range map[string]map[string]any{"user": {"name": "Ada"}, "place": {"city": "Turin"}} {
		open := s.get(created.TaskID)
		assert.Equal(t, "input_required", open.Status)
		assert.Contains(t, open.InputRequests, key)
		_, failure := s.ask("tasks/update", map[string]any{"taskId": created.TaskID, "inputResponses": map[string]any{
			key: map[string]any{"action": "accept", "content": content}}}, nil)
		require.Nil(t, failure)
		assert.NotContains(t, s.get(created.TaskID).InputRequests, key)
	}
	done := s.settled(created.TaskID)
	require.NotNil(t, done.Result)
	assert.Contains(t, done.Result.Content[0].Text, "Ada in Turin")
}

// A Taskfile command becomes a task like any other call.
func TestTaskOfRunCommand(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{
		"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n",
		".agent/Taskfile.yml": "version: '3'\ntasks:\n  slow:\n    desc: Slow.\n    cmds:\n      - " +
			"while [ ! -e go -a ! -e ../go ]; do sleep 0.05; done; echo finished\n"})
	s := serveTasks(t, dir)
	created, failure := s.ask("tools/call", map[string]any{"name": "run_command",
		"arguments": map[string]any{"command": "slow"}}, nil)
	require.Nil(t, failure)
	require.Equal(t, "task", created.ResultType, created.Content)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	done := s.settled(created.TaskID)
	assert.Equal(t, "completed", done.Status)
	require.NotNil(t, done.Result)
	assert.Contains(t, done.Result.Content[0].Text, "finished")
}

// Over HTTP a task can be fetched on another connection, and from the next server.
func TestTaskAfterAReconnect(t *testing.T) {
	dir, file := slowProject(t)
	s := serveHTTP(t, dir, nil, "--http", "127.0.0.1:0", "--no-token", "--task-after", "200ms")
	ask := func(method, name string, params map[string]any) *taskAnswer {
		t.Helper()
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientInfo":      map[string]any{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{
				"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
		}
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
		require.NoError(t, err)
		for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": method,
			"Accept": "application/json, text/event-stream", "Mcp-Name": name, "MCP-Protocol-Version": "2026-07-28"} {
			request.Header.Set(header, value)
		}
		transport := new(http.Transport) // a connection of its own
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		var m rpcMessage
		for line := range strings.Lines(string(data)) {
			line = strings.TrimPrefix(line, "data:")
			if strings.HasPrefix(strings.TrimSpace(line), "{") {
				require.NoError(t, json.Unmarshal([]byte(line), &m), string(data))
			}
		}
		require.Nil(t, m.Error, string(data))
		answer := new(taskAnswer)
		require.NoError(t, json.Unmarshal(m.Result, answer), string(data))
		return answer
	}
	created := ask("tools/call", "slow", map[string]any{"name": "slow", "arguments": map[string]any{}})
	require.Equal(t, "task", created.ResultType)
	get := func() *taskAnswer {
		return ask("tasks/get", created.TaskID, map[string]any{"taskId": created.TaskID})
	}
	assert.Equal(t, "working", get().Status)
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	var done *taskAnswer
	eventually(t, "the task has ended", func() bool { done = get(); return done.Status != "working" })
	assert.Equal(t, "completed", done.Status)
	require.Equal(t, 0, s.stop())

	s = serveHTTP(t, dir, nil, "--http", "127.0.0.1:0", "--no-token")
	assert.Equal(t, done, get())
}

// A server killed at any moment leaves a task that is lost or has its result, never both, and its
// effect occurred once.
func TestKillsOfTasks(t *testing.T) {
	testneed.NotShort(t, "waits for the end of tasks")
	rounds := 3
	if os.Getenv("TOOLHOST_TEST_LONG") != "" {
		rounds = 500
	}
	dir := requiredProject(t)
	random := rand.New(rand.NewPCG(18, 5))
	s := serveTasks(t, dir)
	var lost, told int
	for i := range rounds {
		name := fmt.Sprintf("r%d", i)
		created, failure := s.ask("tools/call", countedCall(name, fmt.Sprintf("0.%03d", random.IntN(200))), nil)
		require.Nil(t, failure)
		require.Equal(t, "task", created.ResultType)
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond) // a random moment
		var before *taskAnswer
		if i%2 == 0 {
			before = s.get(created.TaskID)
		}
		require.NoError(t, s.cmd.Process.Kill())
		s.exit()

		s = serveTasks(t, dir)
		after := s.settled(created.TaskID)
		if before != nil && before.Status != "working" {
			assert.Equal(t, before, after, "what was told stays so")
		}
		ran := strings.Count(readFile(t, filepath.Join(dir, "ran")), name+"\n")
		assert.LessOrEqual(t, ran, 1, "never twice")
		switch after.Status {
		case "completed":
			told++
			require.NotNil(t, after.Result)
			assert.Contains(t, after.Result.Content[0].Text, "done-"+name)
			assert.Nil(t, after.Error)
			assert.Equal(t, 1, ran)
		default:
			lost++
			assert.Equal(t, "failed", after.Status)
			assert.Nil(t, after.Result)
			require.NotNil(t, after.Error)
			assert.Contains(t, after.Error.Message, "lost")
		}
		assert.Equal(t, after, s.get(created.TaskID))
	}
	t.Logf("%d servers killed: %d calls lost, %d with their result", rounds, lost, told)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(data)
}
