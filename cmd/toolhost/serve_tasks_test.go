package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
)

// taskAnswer is an answer of the Tasks extension, with a call's own result.
type taskAnswer struct {
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	InputRequests map[string]struct {
		Method string `json:"method"`
	} `json:"inputRequests"`
	RequestState string      `json:"requestState"`
	Result       *toolResult `json:"result"`
	Error        *rpcError   `json:"error"`
	Content      []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// taskServer uses the newest revision, with tasks, over stdio.
type taskServer struct{ *rpcServer }

const slowTools = `
tool "slow" {
  description = "Wait for the file go. Returns: that it is done."
  risk        = "read_only"
  command { argv = ["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; echo finished"] }
}
tool "quick" {
  description = "Be quick. Returns: a text."
  risk        = "read_only"
  command { argv = ["echo", "at once"] }
}
tool "ordered" {
  description = "Be a task. Returns: a text."
  risk        = "read_only"
  task        = "required"
  command { argv = ["echo", "at once"] }
}
policy {
  rule "quick" {
    tool   = "quick"
    action = "ask"
  }
  rule "ordered" {
    tool   = "ordered"
    action = "ask"
  }
}
`

func serveTasks(t *testing.T, dir string) taskServer {
	return taskServer{serveCommand(t, program(t, dir, "serve", "--task-after", "200ms"))}
}

func (s taskServer) ask(method string, params map[string]any, capabilities map[string]any) (*taskAnswer, *rpcError) {
	s.t.Helper()
	if capabilities == nil {
		capabilities = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}
	m := s.request(method, params)
	if m.Error != nil {
		return nil, m.Error
	}
	answer := new(taskAnswer)
	require.NoError(s.t, json.Unmarshal(m.Result, answer), string(m.Result))
	return answer, nil
}

func (s taskServer) call(tool string, capabilities map[string]any) *taskAnswer {
	s.t.Helper()
	answer, failure := s.ask("tools/call", map[string]any{"name": tool, "arguments": map[string]any{}}, capabilities)
	require.Nil(s.t, failure)
	return answer
}

func (s taskServer) get(id string) *taskAnswer {
	s.t.Helper()
	answer, failure := s.ask("tasks/get", map[string]any{"taskId": id}, nil)
	require.Nil(s.t, failure)
	assert.Equal(s.t, "complete", answer.ResultType)
	return answer
}

func (s taskServer) settled(id string) *taskAnswer {
	s.t.Helper()
	var answer *taskAnswer
	eventually(s.t, "the task has ended", func() bool {
		answer = s.get(id)
		return answer.Status != "working"
	})
	return answer
}

func asksAndKnowsTasks() map[string]any {
	return map[string]any{"elicitation": map[string]any{},
		"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
}

func slowProject(t *testing.T) (dir, file string) {
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(slowTools), 0o644))
	return dir, filepath.Join(dir, "go")
}

// A long call becomes a task, whose result is available while the server runs, and from the next one.
func TestTaskOutlivesItsServer(t *testing.T) {
	dir, file := slowProject(t)
	s := serveTasks(t, dir)
	created := s.call("slow", nil)
	assert.Equal(t, "task", created.ResultType)
	assert.Equal(t, "working", created.Status)
	assert.Equal(t, "working", s.get(created.TaskID).Status)
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	done := s.settled(created.TaskID)
	assert.Equal(t, "completed", done.Status)
	require.NotNil(t, done.Result)
	assert.Contains(t, done.Result.Content[0].Text, "finished")
	assert.Equal(t, 0, s.end())

	again := serveTasks(t, dir)
	recorded := again.get(created.TaskID)
	assert.Equal(t, "completed", recorded.Status)
	require.NotNil(t, recorded.Result)
	assert.Equal(t, done.Result.Content[0].Text, recorded.Result.Content[0].Text)
	_, failure := again.ask("tasks/get", map[string]any{"taskId": "k7f2"}, nil)
	require.NotNil(t, failure)
	assert.Equal(t, -32602, failure.Code, "what can be guessed names no task")
}

// A killed server leaves a lost task, which stays lost.
func TestTaskOfAKilledServerIsLost(t *testing.T) {
	dir, file := slowProject(t)
	s := serveTasks(t, dir)
	created := s.call("slow", nil)
	require.Equal(t, "task", created.ResultType)
	require.NoError(t, s.cmd.Process.Kill())
	s.exit()

	again := serveTasks(t, dir)
	lost := again.settled(created.TaskID)
	assert.Equal(t, "failed", lost.Status)
	require.NotNil(t, lost.Error)
	assert.Contains(t, lost.Error.Message, "lost")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for range 5 {
		now := again.get(created.TaskID)
		assert.Equal(t, "failed", now.Status)
		assert.Nil(t, now.Result)
	}
}

func TestTaskIsCancelled(t *testing.T) {
	dir, _ := slowProject(t)
	s := serveTasks(t, dir)
	created := s.call("slow", nil)
	require.Equal(t, "task", created.ResultType)
	for range 2 {
		answer, failure := s.ask("tasks/cancel", map[string]any{"taskId": created.TaskID}, nil)
		require.Nil(t, failure)
		assert.Equal(t, &taskAnswer{ResultType: "complete"}, answer)
	}
	assert.Equal(t, "cancelled", s.settled(created.TaskID).Status)
	assert.Equal(t, 0, s.end())
	assert.Equal(t, "cancelled", serveTasks(t, dir).get(created.TaskID).Status, "the record says so too")
}

// A call that needs approval is a question in the foreground: the agent waits for its answer.
func TestApprovalIsNoTask(t *testing.T) {
	dir, _ := slowProject(t)
	// The answer is no task, however slow the machine.
	s := taskServer{serveCommand(t, program(t, dir, "serve", "--task-after", "10m"))}
	asked := s.call("quick", asksAndKnowsTasks())
	require.Equal(t, "input_required", asked.ResultType)
	assert.Empty(t, asked.TaskID)
	require.Len(t, asked.InputRequests, 1)
	for key, request := range asked.InputRequests {
		assert.Equal(t, "elicitation/create", request.Method)
		answer, failure := s.ask("tools/call", map[string]any{"name": "quick", "arguments": map[string]any{},
			"requestState": asked.RequestState, "inputResponses": map[string]any{
				key: map[string]any{"action": "accept", "content": map[string]any{"decision": host.ApproveOnce}}}},
			asksAndKnowsTasks())
		require.Nil(t, failure)
		assert.Contains(t, answer.Content[0].Text, "at once")
	}
}

// A tool that requires tasks waits for approval as a task, and continues with the answer.
func TestTaskWaitsForApproval(t *testing.T) {
	dir, _ := slowProject(t)
	s := serveTasks(t, dir)
	created := s.call("ordered", asksAndKnowsTasks())
	assert.Equal(t, "task", created.ResultType)
	var key string
	eventually(t, "a question", func() bool {
		for name, request := range s.get(created.TaskID).InputRequests {
			assert.Equal(t, "elicitation/create", request.Method)
			key = name
		}
		return key != ""
	})
	respond := func(key string, decision host.Verdict) {
		t.Helper()
		answer, failure := s.ask("tasks/update", map[string]any{"taskId": created.TaskID, "inputResponses": map[string]any{
			key: map[string]any{"action": "accept", "content": map[string]any{"decision": decision}}}}, nil)
		require.Nil(t, failure)
		assert.Equal(t, &taskAnswer{ResultType: "complete"}, answer)
	}
	respond("unknown", host.ApproveOnce)
	assert.Equal(t, "input_required", s.get(created.TaskID).Status)
	respond(key, host.ApproveOnce)
	done := s.settled(created.TaskID)
	assert.Equal(t, "completed", done.Status)
	require.NotNil(t, done.Result)
	assert.Contains(t, done.Result.Content[0].Text, "at once")
	respond(key, host.ApproveOnce) // the second has no effect
	assert.Equal(t, "completed", s.get(created.TaskID).Status)
}

// Clients without tasks get results, and none of the methods.
func TestTasksNeedTheExtension(t *testing.T) {
	dir, file := slowProject(t)
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	s := serveTasks(t, dir)
	answer := s.call("slow", map[string]any{})
	assert.Empty(t, answer.TaskID)
	assert.Contains(t, answer.Content[0].Text, "finished")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		_, failure := s.ask(method, map[string]any{"taskId": "x"}, map[string]any{})
		require.NotNil(t, failure, method)
		assert.Equal(t, -32021, failure.Code, method)
	}
	_, failure := s.ask("tasks/get", map[string]any{"taskId": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, nil)
	require.NotNil(t, failure)
	assert.Equal(t, -32602, failure.Code)
}
