package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// task is a call of this process that clients can poll.
type task struct {
	id      string
	cancel  context.CancelFunc
	started time.Time

	mu        sync.Mutex
	changed   time.Time
	status    string
	cancelled bool // by the client
	result    *mcp.CallToolResult
	err       error
	requests  mcp.InputRequestMap        // open questions, under keys used once
	names     map[string]string          // the tool's keys of these
	asked     map[string]bool            // all keys used
	given     map[string]json.RawMessage // answers, under the tool's keys
	answered  chan struct{}              // holds a token when no question is open
	ended     chan struct{}
	reason    string // why the server ended it

	once            sync.Once
	begins          chan struct{} // closed when it is known whether the beginning is recorded
	beginUnrecorded error         // why it is not
	endUnrecorded   error         // why the end is not recorded
}

// onStart notes whether the record has the beginning of the call.
func (t *task) onStart(unrecorded error) {
	t.once.Do(func() {
		t.beginUnrecorded = unrecorded
		close(t.begins)
	})
}

// recorded reports whether the call's beginning is recorded.
func (t *task) recorded() bool {
	select {
	case <-t.begins:
		return t.beginUnrecorded == nil
	default:
		return false
	}
}

// onEnd notes whether the record has the end of the call.
func (t *task) onEnd(unrecorded error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endUnrecorded = unrecorded
}

// taskOf returns the task of a call; nil if it cannot become one.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// ask shows questions to the client that polls the task, and waits for all answers.
func (t *task) ask(ctx context.Context, requests mcp.InputRequestMap,
	patience time.Duration) (responses mcp.InputResponseMap, ok bool) {
	t.mu.Lock()
	t.requests, t.names = make(mcp.InputRequestMap), make(map[string]string)
	t.given = make(map[string]json.RawMessage)
	for key, request := range requests {
		once := key
		for n := 2; t.asked[once]; n++ {
			once = key + "." + strconv.Itoa(n)
		}
		t.asked[once] = true
		t.requests[once], t.names[once] = request, key
	}
	t.status, t.changed = taskAsks, time.Now()
	t.mu.Unlock()
	select {
	case <-t.answered:
	case <-ctx.Done():
		return nil, false
	case <-time.After(patience):
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return responses, json.Unmarshal(tool.MustMarshal(t.given), &responses) == nil
}

// end stores how the call ended. If the server ended it, the result or error says why.
func (t *task) end(result *mcp.CallToolResult, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cut := t.reason != "" && !t.cancelled && (err != nil || result == nil || result.IsError)
	if cut {
		result, err = t.endedFor(result, err)
	} else {
		t.reason = ""
	}
	t.result, t.err, t.changed, t.requests = result, err, time.Now(), nil
	switch {
	case t.cancelled && (err != nil || result == nil || result.IsError):
		t.status = taskCancelled
	case err != nil:
		t.status = taskFailed
	default:
		t.status = taskCompleted
	}
}

func (t *task) state() *taskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := t.status
	if t.endUnrecorded != nil {
		status = taskFailed
	}
	state := newState(t.id, status, t.started, t.changed)
	if status != taskWorking && status != taskAsks {
		state.StatusMessage = t.reason
	}
	if t.endUnrecorded != nil { // as the record will say after a restart
		state.Error = lost("the call ended, and its end could not be recorded (" +
			strings.TrimSuffix(tool.AsError(t.endUnrecorded).Message, ".") + ")")
		state.StatusMessage = state.Error.Message
		return state
	}
	switch status {
	case taskAsks:
		state.InputRequests = maps.Clone(t.requests)
	case taskCompleted:
		state.Result = t.result
	case taskFailed:
		if e, ok := errors.AsType[*jsonrpc.Error](t.err); ok {
			state.Error = e
		} else {
			state.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tool.AsError(t.err).Message}
		}
	}
	return state
}

func newState(id, status string, started, changed time.Time) *taskState {
	stamp := func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
	return &taskState{ResultType: "complete", TaskID: id, Status: status, CreatedAt: stamp(started),
		LastUpdatedAt: stamp(changed), TTL: taskTTL.Milliseconds(), PollInterval: pollInterval.Milliseconds()}
}
