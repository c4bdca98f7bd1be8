package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type keptState struct {
	mcp.ResultBase
	data json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (k *keptState) MarshalJSON() ([]byte, error) { return k.data, nil }

// IsTask reports whether a call's answer is a task, whose result comes later.
func IsTask(answer mcp.Result) bool {
	t, ok := answer.(*taskState)
	return ok && t.ResultType == "task"
}

// KeptTask returns the task stored as JSON; nil if data is no task.
func KeptTask(data []byte) mcp.Result {
	var t taskState
	if json.Unmarshal(data, &t) != nil || t.ResultType != "task" {
		return nil
	}
	return &keptState{data: data}
}

// Tasks returns the number of running tasks.
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

// EndTasks ends the running tasks, with the reason for their clients, and waits for them.
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

// endedFor adds the reason to an ended call's result.
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
