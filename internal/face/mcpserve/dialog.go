package mcpserve

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// requestInfo is common to calls of tools, reads of resources and gets of prompts.
type requestInfo struct {
	method       string
	name         string // of the tool or prompt, or the resource's URI
	arguments    json.RawMessage
	session      *mcp.ServerSession
	capabilities *mcp.ClientCapabilities
	responses    mcp.InputResponseMap
	state        string
	token        any    // for progress; nil for none
	id           string // the client's name for the call, "" for none
	client       *mcp.Implementation
}

func fromCall(r *mcp.CallToolRequest) *requestInfo {
	p := r.Params
	return &requestInfo{"tools/call", p.Name, p.Arguments, r.Session, r.ClientCapabilities(), p.InputResponses,
		p.RequestState, tokenOf(r.Extra, p.GetProgressToken()), namedBy(p.Meta), r.ClientInfo()}
}

// maxClient bounds a client's recorded name and version, in bytes each.
const maxClient = 100

// nameOf returns a client's name and version for the record, "" if unknown.
func nameOf(client *mcp.Implementation) string {
	if client == nil {
		return ""
	}
	name, version := client.Name[:min(len(client.Name), maxClient)], client.Version[:min(len(client.Version), maxClient)]
	return strings.ToValidUTF8(strings.TrimSpace(name+" "+version), "")
}

// maxRequestID bounds a client's name for a request, in bytes.
const maxRequestID = 200

// namedBy returns the client's name for the request, for results and the record; "" if missing or
// invalid.
func namedBy(meta mcp.Meta) string {
	id, _ := meta["request_id"].(string)
	if len(id) > maxRequestID {
		return ""
	}
	return id
}

func fromRead(r *mcp.ReadResourceRequest) *requestInfo {
	p := r.Params
	return &requestInfo{"resources/read", p.URI, nil, r.Session, r.ClientCapabilities(), p.InputResponses, p.RequestState,
		tokenOf(r.Extra, p.GetProgressToken()), "", r.ClientInfo()}
}

func fromGet(r *mcp.GetPromptRequest) *requestInfo {
	p := r.Params
	arguments := json.RawMessage(`{}`)
	if p.Arguments != nil {
		arguments = tool.MustMarshal(p.Arguments)
	}
	return &requestInfo{"prompts/get", p.Name, arguments, r.Session, r.ClientCapabilities(), p.InputResponses,
		p.RequestState, tokenOf(r.Extra, p.GetProgressToken()), "", r.ClientInfo()}
}

// open are the questions of an input-required result.
type open struct {
	requests mcp.InputRequestMap
	state    string
}

// callWithQuestions makes the call and asks its questions of the user, the client or its model until
// there is an outcome. A client of the newest revision gets the questions as open and calls again with
// the answers. The error is a protocol error.
func (s *Server) callWithQuestions(ctx context.Context, conn *conn, in *requestInfo,
	do func(context.Context, host.Request) *host.Outcome) (*host.Outcome, *open, error) {
	asked, err := s.resume(conn, in)
	if err != nil {
		return nil, nil, invalid(err)
	}
	report, stop := s.progress(ctx, in)
	defer stop()
	log, flush := s.logTo(ctx, in)
	defer flush()
	request := host.Request{
		Tool:         in.name,
		Params:       in.arguments,
		ID:           cmp.Or(asked.ID, in.id),
		Client:       nameOf(in.client),
		Step:         asked.Step,
		Answers:      asked.answers,
		CanAsk:       in.canAsk(),
		CanVisit:     in.canVisit(),
		CanSample:    in.canSample() && isStateless(in.session),
		CanRoots:     in.canRoots(),
		Sample:       s.sampler(in),
		ApproveLater: true,
		Anonymous:    conn.anonymous,
		HowToApprove: "Ask the user to allow it with a policy rule in agent.hcl, or use a client that supports elicitation.",
		Progress:     report,
		Log:          log,
	}
	if t := taskOf(ctx); t != nil {
		request.OnStart = t.onStart
	}
	if request.CanAsk && !isStateless(in.session) {
		request.AskNow = func(ctx context.Context, form tool.Form) (tool.Answer, error) {
			return s.askNow(ctx, in, form)
		}
	}
	for {
		outcome := do(ctx, request)
		switch {
		case outcome.Input == nil:
			return outcome, nil, in.lacks(outcome)
		case asksForSecret(outcome.Input):
			secret := tool.Errorf(tool.Blocked, "%s asks for a secret in a form, which is never shown: %s", outcome.Tool,
				outcome.Input.Form.Message).Suggest("Give the tool its secret through the environment: env(\"NAME\") in agent.hcl.")
			return failed(outcome, secret), nil, nil
		}
		stateless, nonce := isStateless(in.session), rand.Text()
		lasts := s.options.AskTimeout
		if stateless {
			lasts = min(lasts, pendingFor)
		}
		if host.IsApproval(outcome.Input) &&
			!s.pending.addQuestion(digest(conn, in)+string(tool.MustMarshal(outcome.Again(request, nil).Answers)), nonce,
				asked.Nonce, lasts) {
			request = outcome.Again(request, map[string]tool.Answer{host.ApprovalKey: host.AskedAlready()})
			continue
		}
		if stateless {
			return nil, s.ask(conn, in, request, outcome, nonce), nil
		}
		given, err := s.askEach(ctx, in, outcome)
		s.pending.end(digest(conn, in))
		if err != nil {
			return failed(outcome, tool.AsError(err)), nil, nil
		}
		request = outcome.Again(request, given)
	}
}

// failed returns the outcome of a call whose questions could not be answered.
func failed(outcome *host.Outcome, err *tool.Error) *host.Outcome {
	done := *outcome
	done.Input, done.Err, done.Result = nil, err, host.ErrorResult(err)
	return &done
}

func invalid(err error) error {
	e := tool.AsError(err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message + ". " + e.Suggestion}
}

// lacks returns the protocol error for a call that needs a capability the client did not declare; nil
// for older revisions.
func (in *requestInfo) lacks(outcome *host.Outcome) error {
	if outcome.Err == nil || !isStateless(in.session) {
		return nil
	}
	needs, _ := outcome.Err.Details[host.NeedsDetail].(string)
	if needs == "" {
		return nil
	}
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: outcome.Err.Message + ". " + outcome.Err.Suggestion,
		Data:    tool.MustMarshal(map[string]any{"requiredCapabilities": capability(needs)}),
	}
}

// capability returns nested objects for a dotted name.
func capability(name string) map[string]any {
	first, rest, more := strings.Cut(name, ".")
	if more {
		return map[string]any{first: capability(rest)}
	}
	return map[string]any{first: struct{}{}}
}

// canAsk reports whether the client can show its user a form. Elicitation without a mode means forms.
func (in *requestInfo) canAsk() bool {
	if in.capabilities == nil || in.capabilities.Elicitation == nil {
		return false
	}
	e := in.capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

func (in *requestInfo) canVisit() bool {
	c := in.capabilities
	return c != nil && c.Elicitation != nil && c.Elicitation.URL != nil
}

func (in *requestInfo) canSample() bool {
	return in.capabilities != nil && in.capabilities.Sampling != nil
}

func (in *requestInfo) canRoots() bool {
	c := in.capabilities
	return c != nil && (c.RootsV2 != nil || c.Roots.ListChanged)
}

// isStateless reports whether the session's revision has no requests from server to client.
func isStateless(session *mcp.ServerSession) bool {
	params := session.InitializeParams()
	return params == nil || params.ProtocolVersion >= statelessRevision
}

// mostLogs bounds a call's queued log lines.
const mostLogs = 256

// logTo sends a tool's log lines to the client, from its log level on. Lines that come faster than they
// can be sent are dropped.
func (s *Server) logTo(ctx context.Context, in *requestInfo) (log func(slog.Level, string), flush func()) {
	var lines chan *mcp.LoggingMessageParams
	var start sync.Once // at the first line: most calls log nothing
	done := make(chan struct{})
	log = func(level slog.Level, message string) {
		start.Do(func() {
			lines = make(chan *mcp.LoggingMessageParams, mostLogs)
			go func() {
				defer close(done)
				for line := range lines {
					_ = in.session.Log(ctx, line)
				}
			}()
		})
		select {
		case lines <- &mcp.LoggingMessageParams{Level: mcpLevel(level), Logger: in.name, Data: message}:
		default:
		}
	}
	return log, func() {
		start.Do(func() { close(done) })
		if lines != nil {
			close(lines)
		}
		<-done
	}
}

func mcpLevel(level slog.Level) mcp.LoggingLevel {
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warning"
	case level >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
