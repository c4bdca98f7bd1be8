// Package mcpserve offers a host's tools over the Model Context Protocol
// (https://modelcontextprotocol.io).
package mcpserve

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// Options configures a Server.
type Options struct {
	// Name and Version introduce the server to clients.
	Name, Version string
	// Instructions returns instructions for each client's model. May be nil.
	Instructions func(context.Context) string
	// Session names the host session of ServeStdio. Empty means a random name for each connection.
	Session string
	// SessionEnded is called when a session and all its calls have ended. May be nil.
	SessionEnded func(session string)
	// KeepQuestion stores an approval question that is too long to show and returns its absolute path,
	// which tools cannot change. Nil shows it whole.
	KeepQuestion func(text string) (file string, err error)
	// AskTimeout bounds the wait for the user's answer. Zero means DefaultAskTimeout.
	AskTimeout time.Duration
	// NoUndo leaves `toolhost undo`, which the client's user cannot run, out of results.
	NoUndo bool
	// Search offers three tools that find, describe and call the others, instead of the list.
	Search bool
	// Heartbeat is the interval of reports that a silent call runs. Zero means DefaultHeartbeat.
	Heartbeat time.Duration
	// TaskAfter is when a call becomes a task, for clients that support tasks. Zero means
	// DefaultTaskAfter; negative never.
	TaskAfter time.Duration
	// Recorded returns the record of a call, for tasks of other servers; nil if unknown. May be nil.
	Recorded func(ctx context.Context, id string) (*Recorded, error)
	// Settled is closed when no further tools are expected. Lists and calls of unknown tools wait for
	// it. May be nil.
	Settled <-chan struct{}
	// SessionID names sessions over HTTP. Nil means random names.
	SessionID func() string
	// Middleware sees every request first. May be nil.
	Middleware mcp.Middleware
	// Logger receives messages for operators. Nil discards.
	Logger *slog.Logger
}

// The defaults of Options.
const (
	DefaultAskTimeout = 15 * time.Minute
	DefaultHeartbeat  = 10 * time.Second
)

// Server offers a host's tools over MCP, for any number of connections over stdio or HTTP.
type Server struct {
	host    *host.Host
	options Options
	sdk     *mcp.Server

	changing  sync.RWMutex // held during changes: lists show all of a change or nothing
	mu        sync.Mutex   // guards offered, resources, prompts
	offered   map[string]*host.Entry
	resources map[string]*host.Entry // by URI
	prompts   map[string]*host.Entry // by name
	secret    []byte                 // signs requestState
	spent     spent
	pending   pending
	tasks     tasks
}

// New returns a server for the tools of h's catalog.
func New(h *host.Host, options Options) *Server {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.SessionEnded == nil {
		options.SessionEnded = func(string) {}
	}
	if options.AskTimeout <= 0 {
		options.AskTimeout = DefaultAskTimeout
	}
	if options.TaskAfter == 0 {
		options.TaskAfter = DefaultTaskAfter
	}
	if options.Heartbeat <= 0 {
		options.Heartbeat = DefaultHeartbeat
	}
	if options.Settled == nil {
		settled := make(chan struct{})
		close(settled)
		options.Settled = settled
	}
	s := &Server{host: h, options: options, offered: make(map[string]*host.Entry), secret: []byte(rand.Text())}
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: options.Name, Version: options.Version}, s.sdkOptions())
	s.sdk.AddReceivingMiddleware(withStack, boundErrors, refuseWrong, s.nameUnknown, s.asTasks, s.awaitListed, s.listWhole,
		s.describeListed, keepSession, s.instruct)
	if options.Middleware != nil {
		s.sdk.AddReceivingMiddleware(options.Middleware)
	}
	s.sdk.AddSendingMiddleware(checkElicited)
	s.offerRuns()
	s.offerTasks()
	s.Refresh()
	return s
}

// nameUnknown answers a call of an unknown tool with the nearest names; the SDK does not.
func (s *Server) nameUnknown(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if call, ok := request.(*mcp.CallToolRequest); ok && call.Params != nil {
			if e := s.unknown(ctx, call.Params.Name); e != nil {
				s.recordRefusal(ctx, call, e)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message + ". " + e.Suggestion}
			}
		}
		return next(ctx, method, request)
	}
}

// recordRefusal records and counts a call of an unknown tool.
func (s *Server) recordRefusal(ctx context.Context, call *mcp.CallToolRequest, why *tool.Error) {
	conn := connOf(ctx)
	if conn == nil {
		return
	}
	ctx, done, err := conn.begin(ctx)
	if err != nil {
		return
	}
	defer done()
	conn.session.Refuse(withOrigin(ctx, call), host.Request{Tool: call.Params.Name, Params: call.Params.Arguments}, why)
}

// unknown returns an error if there is no tool of that name, else nil.
func (s *Server) unknown(ctx context.Context, name string) *tool.Error {
	if s.searching() {
		return s.unlisted(ctx, name)
	}
	if _, err := s.lookup(ctx, name); err != nil {
		return tool.AsError(err)
	}
	s.mu.Lock()
	behind := s.offered[name] == nil
	s.mu.Unlock()
	if behind { // just added: Refresh is about to be called
		s.Refresh()
	}
	return nil
}

// lookup finds a tool, after Settled if it is not there yet.
func (s *Server) lookup(ctx context.Context, name string) (*host.Entry, error) {
	if entry, err := s.host.Catalog().Lookup(name); err == nil {
		return entry, nil
	}
	s.awaitSettled(ctx)
	return s.host.Catalog().Lookup(name)
}

func (s *Server) awaitSettled(ctx context.Context) {
	select {
	case <-s.options.Settled:
	case <-ctx.Done():
	}
}

// Refresh offers the tools in the host's catalog and notifies clients of changes.
func (s *Server) Refresh() {
	s.changing.Lock() // clients may hear of the first tool before the last one is added
	defer s.changing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.offered
	s.offered = make(map[string]*host.Entry)
	if s.searching() {
		for _, t := range searchTools() {
			entry, known := gone[t.def.Name]
			if !known || entry != nil {
				s.sdk.AddTool(describe(t.entry(), ""), t.handler(s))
			}
			s.offered[t.def.Name] = nil
			delete(gone, t.def.Name)
		}
	} else {
		for _, entry := range s.host.Catalog().Entries() {
			if before := gone[entry.Name]; before == nil || !same(describe(before, ""), describe(entry, "")) {
				s.add(entry)
			}
			s.offered[entry.Name] = entry
			delete(gone, entry.Name)
		}
	}
	var names []string
	for name := range gone {
		names = append(names, name)
	}
	if len(names) > 0 {
		s.sdk.RemoveTools(names...)
	}
	s.refreshResources(s.host.Catalog())
	s.refreshPrompts(s.host.Catalog())
}

// same reports whether clients see a and b alike and need no notification. Calls use the current
// catalog.
func same(a, b any) bool { return bytes.Equal(tool.MustMarshal(a), tool.MustMarshal(b)) }

// Announce notifies clients although the list is unchanged, such as after an edit of the Taskfile.
func (s *Server) Announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.searching() {
		first := searchTools()[0]
		s.sdk.AddTool(describe(first.entry(), ""), first.handler(s))
		return
	}
	for _, entry := range s.host.Catalog().Entries() {
		s.add(entry)
		return
	}
}

// ServeStdio serves one client until in ends or ctx is done, and returns when every call has ended. At
// the end of in, calls get a moment to finish before they are cancelled; that is no error.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	conn := s.newConn(s.options.Session)
	conn.stdio = true
	defer conn.close()
	stop := context.AfterFunc(ctx, conn.end)
	defer stop()
	in, done := polled(in)
	defer done()
	transport := &lineTransport{in: in, out: out, settled: s.options.Settled, onEOF: conn.end}
	connection, err := s.sdk.Connect(context.WithValue(ctx, connKey{}, conn), transport, nil)
	if err != nil {
		return err
	}
	go func() {
		<-conn.ended.Done()
		_ = connection.Close()
	}()
	err = connection.Wait()
	if conn.ended.Err() != nil { // whatever err is, the end caused it
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

func describe(entry *host.Entry, revision string) *mcp.Tool {
	def := entry.Definition()
	return &mcp.Tool{
		Meta:         resultSize(def),
		Name:         def.Name,
		Title:        title(def),
		Description:  def.Description,
		InputSchema:  inputSchema(entry, def),
		OutputSchema: outputSchema(revision, entry, def),
		Annotations:  annotations(def),
	}
}

// resultSizeKey in _meta bounds a tool's results. Claude Code writes longer ones to a file, by default
// from a fraction of toolhost's bound.
const resultSizeKey = "anthropic/maxResultSizeChars"

// longResult is the size of a command's two streams as cut by default.
const longResult = 200_000

// resultSize returns the _meta of a tool whose results may be long; nil for others.
func resultSize(def *tool.Definition) mcp.Meta {
	for _, p := range def.Permissions {
		if p == tool.FileRead || p == tool.ShellExec || p == tool.Network {
			return mcp.Meta{resultSizeKey: longResult}
		}
	}
	return nil
}

// annotations returns MCP's hints for a tool's risk.
func annotations(def *tool.Definition) *mcp.ToolAnnotations {
	destructive := def.Risk == tool.Dangerous
	open := false
	for _, p := range def.Permissions {
		open = open || p == tool.Network || p == tool.ShellExec
	}
	return &mcp.ToolAnnotations{
		Title:           title(def),
		ReadOnlyHint:    def.Risk == tool.ReadOnly,
		DestructiveHint: &destructive,
		IdempotentHint:  def.Idempotent || def.Risk == tool.ReadOnly,
		OpenWorldHint:   &open,
	}
}

// MaxInstructions bounds the instructions, in characters; clients cut longer ones.
const MaxInstructions = 2048

// instruct adds the current instructions to answers that begin a session or describe the server.
func (s *Server) instruct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		if err != nil || s.options.Instructions == nil {
			return result, err
		}
		switch result := result.(type) {
		case *mcp.InitializeResult:
			result.Instructions = s.instructions(ctx)
		case *mcp.DiscoverResult:
			result.Instructions = s.instructions(ctx)
		}
		return result, nil
	}
}

func (s *Server) instructions(ctx context.Context) string {
	const mark = "..."
	text := []rune(s.options.Instructions(ctx))
	if len(text) > MaxInstructions {
		return string(text[:MaxInstructions-len(mark)]) + mark
	}
	return string(text)
}
