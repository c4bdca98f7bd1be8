package mcpserve

import (
	"cmp"
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// Recorded is a call's record.
type Recorded struct {
	// State is "working", "lost" or "ended".
	State        string
	Began, Ended time.Time
	// Session, Tool and Step identify the call.
	Session string
	Tool    string
	Step    int
	Result  *tool.Result
	// Error and Message describe the call's error.
	Error   tool.Code
	Message string
}

// The states of a recorded call.
const (
	RecordedWorking = "working"
	RecordedLost    = "lost"
	RecordedEnded   = "ended"
)

// randomLength is the length of the unguessable part of a task's id.
const randomLength = 26

// recordedTask returns a task from the record: another process's, or an old one.
func (s *Server) recordedTask(ctx context.Context, id string) (mcp.Result, error) {
	missing := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no task of that id"}
	if s.options.Recorded == nil || len(id) < randomLength {
		return nil, missing
	}
	call, err := s.options.Recorded(ctx, id)
	if err != nil || call == nil {
		return nil, missing
	}
	state := newState(id, taskCompleted, call.Began, call.Ended)
	switch {
	case call.State == RecordedWorking:
		state.Status = taskWorking
	case call.State == RecordedLost:
		state.Status = taskFailed
		state.Error = lost("the server ended before the call did")
	case call.Error == tool.Cancelled:
		state.Status = taskCancelled
	case call.Error == tool.Internal:
		state.Status, state.Error = taskFailed, internalFailure(call.Message)
	default:
		outcome := &host.Outcome{Tool: call.Tool, Step: call.Step, Result: cmp.Or(call.Result, new(tool.Result))}
		if call.Error != "" {
			outcome.Err = &tool.Error{Code: call.Error, Message: call.Message}
		}
		if entry, err := s.host.Catalog().Lookup(call.Tool); err == nil {
			outcome.Definition = entry.Definition()
		}
		state.Result = s.result(ctx, s.host.Session(call.Session), outcome, statelessRevision)
	}
	if state.Error != nil {
		state.StatusMessage = state.Error.Message
	}
	return state, nil
}

// lost returns the error of a call whose end is unknown.
func lost(why string) *jsonrpc.Error {
	return internalFailure("lost: " + why + "; the call may have done all or part of its work")
}

func internalFailure(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}
