package mcpserve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// The Tasks extension of MCP: a long call returns a task, whose result is fetched later. The task's id
// is the call's name in the record, which has the result even after a restart.

// tasksExtension names the extension in capabilities.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	// DefaultTaskAfter is when a call becomes a task.
	DefaultTaskAfter = 2 * time.Second
	// taskTTL is how long a task can be fetched, at least.
	taskTTL = time.Hour
	// pollInterval is how often clients should poll.
	pollInterval = 500 * time.Millisecond
	// mostTasks bounds the tasks in memory; the record has the rest.
	mostTasks = 1000
)

// The states of a task.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// taskState is a task as sent to clients.
type taskState struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     string              `json:"createdAt"`
	LastUpdatedAt string              `json:"lastUpdatedAt"`
	TTL           int64               `json:"ttlMs"`
	PollInterval  int64               `json:"pollIntervalMs"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// acknowledged answers requests that change a task.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// tasks are the tasks of this process.
type tasks struct {
	mu   sync.Mutex
	byID map[string]*task
}

type taskKey struct{}

// declaresTasks reports whether a client of a revision without sessions supports tasks.
func declaresTasks(session *mcp.ServerSession, capabilities *mcp.ClientCapabilities) bool {
	if session == nil || capabilities == nil || !isStateless(session) {
		return false
	}
	_, ok := capabilities.Extensions[tasksExtension]
	return ok
}

// offerTasks answers the methods of the extension.
func (s *Server) offerTasks() {
	s.tasks.byID = make(map[string]*task)
	methods := map[string]func(context.Context, *taskParams) (mcp.Result, error){
		"tasks/get": s.getTask, "tasks/update": s.updateTask, "tasks/cancel": s.cancelTask}
	for method, handle := range methods {
		err := mcp.AddReceivingCustomMethod(s.sdk, method,
			func(ctx context.Context, session *mcp.ServerSession, params *taskParams) (mcp.Result, error) {
				request := &mcp.ServerRequest[*taskParams]{Session: session, Params: params}
				if !declaresTasks(session, request.ClientCapabilities()) {
					return nil, needsTasks(method + " is for clients that declare the extension " + tasksExtension)
				}
				return handle(ctx, params)
			})
		if err != nil {
			panic(err) // the method exists already
		}
	}
}

// needsTasks returns the error for clients that do not declare the extension.
func needsTasks(message string) error {
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: message,
		Data: tool.MustMarshal(map[string]any{"requiredCapabilities": map[string]any{
			"extensions": map[string]any{tasksExtension: struct{}{}}}})}
}

func (s *Server) refuseWithoutTask(call *mcp.CallToolRequest) (mcp.Result, error) {
	why := tool.Errorf(tool.Unsupported, "calls of %s take long and are made as tasks, which this client does not know",
		call.Params.Name)
	if s.options.TaskAfter < 0 {
		why.Message = "calls of " + call.Params.Name +
			" are made as tasks, and this server makes none (serve --task-after)"
	}
	_ = why.Suggest("Use a client that declares the extension %s, or the command line: toolhost call %s.",
		tasksExtension,
		call.Params.Name)
	if isStateless(call.Session) && s.options.TaskAfter >= 0 {
		return nil, needsTasks(why.Message + ". " + why.Suggestion)
	}
	return errorResult(why), nil
}

// asTasks turns long calls into tasks for clients that support them.
func (s *Server) asTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if params, ok := request.GetParams().(*taskParams); ok && params != nil {
			if err := routed(request.GetExtra(), params.TaskID); err != nil {
				return nil, err
			}
		}
		if method == "initialize" {
			return withoutTasks(next(ctx, method, request))
		}
		call, ok := request.(*mcp.CallToolRequest)
		if !ok || call.Params == nil || call.Session == nil || connOf(ctx) == nil {
			return next(ctx, method, request)
		}
		entry, err := s.host.Catalog().Lookup(call.Params.Name)
		required := err == nil && entry.Tool.Definition().AsTask
		if s.options.TaskAfter < 0 || !declaresTasks(call.Session, call.ClientCapabilities()) {
			if required {
				return s.refuseWithoutTask(call)
			}
			return next(ctx, method, request)
		}
		return s.asTask(ctx, call, required,
			func(ctx context.Context, again *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				result, err := next(ctx, method, again)
				called, _ := result.(*mcp.CallToolResult)
				return called, err
			})
	}
}

// withoutTasks removes the extension from the capabilities sent to revisions with sessions.
func withoutTasks(result mcp.Result, err error) (mcp.Result, error) {
	answer, ok := result.(*mcp.InitializeResult)
	if err == nil && ok && answer.ProtocolVersion < statelessRevision && answer.Capabilities != nil {
		older := *answer.Capabilities
		older.Extensions = nil
		answer.Capabilities = &older
	}
	return result, err
}

// routed checks that the routing header names the request's task.
func routed(extra *mcp.RequestExtra, id string) error {
	if extra == nil {
		return nil
	}
	if name := extra.Header.Get("Mcp-Name"); name != "" && name != id {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch,
			Message: "the header Mcp-Name names another task than the request"}
	}
	return nil
}

// asTask runs a call and returns a task if it takes long or required is set. A call that cannot be
// recorded stays a call: no server could show it after a restart.
func (s *Server) asTask(ctx context.Context, request *mcp.CallToolRequest, required bool,
	do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) (mcp.Result, error) {
	t := &task{id: s.taskID(request.Params), started: time.Now(), changed: time.Now(), status: taskWorking,
		asked: make(map[string]bool), answered: make(chan struct{}, 1), ended: make(chan struct{}),
		begins: make(chan struct{})}
	var own context.Context
	own, t.cancel = context.WithCancel(context.WithValue(context.WithoutCancel(ctx), taskKey{}, t))
	stop := context.AfterFunc(connOf(ctx).ended, t.cancel)
	questions := make(chan *mcp.CallToolResult)
	taken := make(chan struct{}) // closed when the call becomes a task
	go func() {
		defer close(t.ended)
		defer t.cancel()
		defer stop()
		s.runTask(own, t, named(request, t.id), do, questions, taken, required)
	}()
	due := s.due(t, required)
	for waiting := true; waiting; {
		select {
		case <-t.ended:
			if required && t.recorded() {
				waiting = false
				break
			}
			if t.result == nil {
				return nil, t.err
			}
			return t.result, t.err
		case question := <-questions:
			if question != nil {
				return question, nil // the client calls again with the answer
			}
			waiting = false
		case <-ctx.Done():
			t.cancel()
			<-t.ended
			return nil, ctx.Err()
		case <-due:
			waiting = false
		}
	}
	s.remember(t)
	created := t.state()
	created.ResultType, created.Status = "task", taskWorking
	created.InputRequests, created.Result, created.Error, created.StatusMessage = nil, nil, nil, ""
	close(taken)
	return created, nil
}

// due is closed when the call becomes a task: its time is over and its beginning recorded.
func (s *Server) due(t *task, required bool) <-chan struct{} {
	due := make(chan struct{})
	go func() {
		if !required {
			select {
			case <-time.After(s.options.TaskAfter):
			case <-t.ended:
				return
			}
		}
		select {
		case <-t.begins:
			if t.recorded() {
				close(due)
			}
		case <-t.ended:
		}
	}()
	return due
}

// taskID returns an unguessable name for the call, or its old name if it continues with an answer.
func (s *Server) taskID(params *mcp.CallToolParamsRaw) string {
	if state, ok := s.verify(params.RequestState); ok && params.RequestState != "" && state.ID != "" {
		return state.ID
	}
	id := namedBy(params.Meta)
	if id != "" {
		id += "-"
	}
	return id + rand.Text()
}

// named returns the request with the call named id.
func named(request *mcp.CallToolRequest, id string) *mcp.CallToolRequest {
	again, params := *request, *request.Params
	params.Meta = maps.Clone(params.Meta)
	if params.Meta == nil {
		params.Meta = make(mcp.Meta)
	}
	params.Meta["request_id"] = id
	again.Params = &params
	return &again
}

func (s *Server) runTask(ctx context.Context, t *task, request *mcp.CallToolRequest,
	do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error),
	questions chan<- *mcp.CallToolResult, taken <-chan struct{}, required bool) {
	for {
		result, err := do(ctx, request)
		if err != nil || result == nil || len(result.InputRequests) == 0 {
			t.end(result, err)
			return
		}
		early := result
		if required && t.recorded() {
			early = nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
		case questions <- early:
			if early != nil {
				return
			}
			<-taken
		}
		responses, ok := t.ask(ctx, result.InputRequests, s.options.AskTimeout)
		if !ok {
			t.end(nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.tooLate() + "; nothing was run"})
			return
		}
		again := named(request, t.id)
		again.Params.InputResponses, again.Params.RequestState = responses, result.RequestState
		request = again
	}
}

// remember keeps a task and drops the oldest ended ones beyond the bound; the record has them.
func (s *Server) remember(t *task) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	s.tasks.byID[t.id] = t
	var over []*task
	for _, known := range s.tasks.byID {
		select {
		case <-known.ended:
			over = append(over, known)
		default:
		}
	}
	slices.SortFunc(over, func(a, b *task) int { return a.started.Compare(b.started) })
	for i, old := range over {
		if len(over)-i > mostTasks || time.Since(old.started) > taskTTL {
			delete(s.tasks.byID, old.id)
		}
	}
}

func (s *Server) liveTask(id string) *task {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	return s.tasks.byID[id]
}

func (s *Server) getTask(ctx context.Context, params *taskParams) (mcp.Result, error) {
	if t := s.liveTask(params.TaskID); t != nil {
		return t.state(), nil
	}
	return s.recordedTask(ctx, params.TaskID)
}

// updateTask answers tasks/update. Answers without a question are ignored.
func (s *Server) updateTask(ctx context.Context, params *taskParams) (mcp.Result, error) {
	t := s.liveTask(params.TaskID)
	if t == nil {
		_, err := s.recordedTask(ctx, params.TaskID)
		return &acknowledged{ResultType: "complete"}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.requests)
	for key, response := range params.InputResponses {
		if _, open := t.requests[key]; open {
			t.given[t.names[key]] = response
			delete(t.requests, key)
		}
	}
	if before > 0 && len(t.requests) == 0 {
		t.status, t.changed = taskWorking, time.Now()
		t.answered <- struct{}{}
	}
	return &acknowledged{ResultType: "complete"}, nil
}

func (s *Server) cancelTask(ctx context.Context, params *taskParams) (mcp.Result, error) {
	t := s.liveTask(params.TaskID)
	if t == nil {
		_, err := s.recordedTask(ctx, params.TaskID)
		return &acknowledged{ResultType: "complete"}, err
	}
	t.mu.Lock()
	t.cancelled = true
	t.mu.Unlock()
	t.cancel()
	return &acknowledged{ResultType: "complete"}, nil
}
