package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keptState is how a task stood, as it was kept.
type keptState struct {
	mcp.ResultBase
	data json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (k *keptState) MarshalJSON() ([]byte, error) { return k.data, nil }

// IsTask reports whether the answer to a call is a task, whose result comes later.
func IsTask(answer mcp.Result) bool {
	t, ok := answer.(*taskState)
	return ok && t.ResultType == "task"
}

// KeptTask returns the task stored as JSON, nil if data is no task.
func KeptTask(data []byte) mcp.Result {
	var t taskState
	if json.Unmarshal(data, &t) != nil || t.ResultType != "task" {
		return nil
	}
	return &keptState{data: data}
}

// Tasks counts the tasks that have not ended.
func (s *Server) Tasks() int { return len(s.runningTasks()) }

func (s *Server) runningTasks() (running []*task) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	for _, t := range s.tasks.byID {
		select {
		case <-t.ended:
		default:
			running = append(running, t)
		}
	}
	return running
}

// EndTasks ends the running tasks, telling their clients the reason, and waits until they have
// ended.
func (s *Server) EndTasks(ctx context.Context, reason string) {
	running := s.runningTasks()
	for _, t := range running {
		t.mu.Lock()
		t.reason = reason
		t.mu.Unlock()
		t.cancel()
	}
	for _, t := range running {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return
		}
	}
}

// endedFor adds the reason to the result of a call that was ended.
func (t *task) endedFor(result *mcp.CallToolResult, err error) (*mcp.CallToolResult, error) {
	if t.status == taskAsks {
		return nil, internalFailure(t.reason + "; nothing was run")
	}
	if err != nil || result == nil {
		return nil, lost(t.reason)
	}
	told := *result
	told.Content = append([]mcp.Content{&mcp.TextContent{
		Text: "The call was ended: " + t.reason + ". It may have done a part of its work."}}, told.Content...)
	return &told, nil
}
