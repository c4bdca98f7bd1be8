package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// TaskStore keeps how tasks stand where that outlasts the server.
type TaskStore interface {
	// Put keeps how a task stands: before its client learns of it, and when it ends.
	Put(ctx context.Context, id string, state []byte)
	// Get gives what was kept of a task that this server does not know, nil for nothing.
	Get(ctx context.Context, id string) ([]byte, error)
}

// keepTask keeps how a task stands now.
func (s *Server) keepTask(ctx context.Context, t *task) {
	if s.options.TaskStore != nil {
		s.options.TaskStore.Put(context.WithoutCancel(ctx), t.id, tool.MustMarshal(t.state()))
	}
}

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

// KeptTask is the answer to a call that is kept as JSON, nil where that is no task.
func KeptTask(data []byte) mcp.Result {
	var t taskState
	if json.Unmarshal(data, &t) != nil || t.ResultType != "task" {
		return nil
	}
	return &keptState{data: data}
}

// keptTask is a task of an earlier server whose record is not here. One that had not
// ended when that was lost is lost.
func (s *Server) keptTask(ctx context.Context, id string) (mcp.Result, error) {
	missing := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no task of that id"}
	if s.options.TaskStore == nil {
		return nil, missing
	}
	data, err := s.options.TaskStore.Get(ctx, id)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tool.AsError(err).Message}
	}
	state := new(taskState)
	if data == nil || json.Unmarshal(data, state) != nil {
		return nil, missing
	}
	if state.Status != taskWorking && state.Status != taskAsks {
		return &keptState{data: data}, nil
	}
	state.InputRequests, state.Status = nil, taskFailed
	state.Error = lost("the worker that made the call was lost before it ended")
	state.StatusMessage = state.Error.Message
	return state, nil
}

// Tasks counts the tasks that have not ended.
func (s *Server) Tasks() int { return len(s.runningTasks()) }

func (s *Server) runningTasks() (running []*task) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	for _, t := range s.tasks.byID {
		select {
		case <-t.kept:
		default:
			running = append(running, t)
		}
	}
	return running
}

// EndTasks ends the tasks that run, for a reason that their clients are told, and waits
// until it is kept how they ended.
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
		case <-t.kept:
		case <-ctx.Done():
			return
		}
	}
}

// endedFor is what came of a call that was ended for a reason: what it gave until then
// with the reason, or the reason alone.
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
