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

// Options say how a Server presents a host.
type Options struct {
	// Name and Version introduce the server to clients.
	Name, Version string
	// Instructions returns what the tools are for, for the model of each client. May be nil.
	Instructions func(context.Context) string
	// Session names the host session of ServeStdio. Empty makes a random name for each connection.
	Session string
	// SessionEnded is called when a session and all its calls have ended, to release its state. May
	// be nil.
	SessionEnded func(session string)
	// KeepQuestion stores a question for approval that is too long to show and returns the file's
	// absolute path, which no tool can change. Nil shows long questions whole.
	KeepQuestion func(text string) (file string, err error)
	// AskTimeout is how long a question to the user may wait. Zero means DefaultAskTimeout.
	AskTimeout time.Duration
	// NoUndo leaves `toolhost undo`, which the client's user cannot run, out of results.
	NoUndo bool
	// Search offers three tools that find, describe and call the others in place of the list.
	Search bool
	// Heartbeat is how often a silent call is reported as running, to clients that want progress.
	// Zero means DefaultHeartbeat.
	Heartbeat time.Duration
	// TaskAfter is the time after which a call becomes a task, for clients that know tasks. Zero
	// means DefaultTaskAfter; less than zero never.
	TaskAfter time.Duration
	// Recorded returns the record of a call, for tasks of other servers; nil if there is none. May
	// be nil.
	Recorded func(ctx context.Context, id string) (*Recorded, error)
	// Settled is closed when no further tools are about to come. Lists of tools and calls of
	// unknown tools wait for it. May be nil.
	Settled <-chan struct{}
	// SessionID names the sessions over HTTP. Nil makes random names.
	SessionID func() string
	// Middleware sees every request first. May be nil.
	Middleware mcp.Middleware
	// Logger receives what operators may want to know. Nil discards.
	Logger *slog.Logger
}

// The defaults of Options.
const (
	DefaultAskTimeout = 15 * time.Minute
	DefaultHeartbeat  = 10 * time.Second
)

// Server is the MCP face of a host, for any number of connections over stdio or HTTP.
type Server struct {
	host    *host.Host
	options Options
	sdk     *mcp.Server

	changing  sync.RWMutex // held while what is offered changes: lists show all of a change or nothing of it
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
	s.sdk.AddReceivingMiddleware(withStack, boundErrors, s.nameUnknown, s.asTasks, s.awaitListed, s.listWhole,
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

// nameUnknown answers a call of an unknown tool with the nearest names, which the SDK does not.
func (s *Server) nameUnknown(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if call, ok := request.(*mcp.CallToolRequest); ok && call.Params != nil {
			if e := s.unknown(ctx, call.Params.Name); e != nil {
				s.note(ctx, call, e)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message + ". " + e.Suggestion}
			}
		}
		return next(ctx, method, request)
	}
}

// note records and counts a call of an unknown tool, as elsewhere.
func (s *Server) note(ctx context.Context, call *mcp.CallToolRequest, why *tool.Error) {
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

// unknown returns the error if there is no tool of that name.
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
	if behind { // it has come just now: Refresh is about to be called
		s.Refresh()
	}
	return nil
}

// lookup finds a tool; it waits for one that may be about to come.
func (s *Server) lookup(ctx context.Context, name string) (*host.Entry, error) {
	if entry, err := s.host.Catalog().Lookup(name); err == nil {
		return entry, nil
	}
	s.awaitSettled(ctx)
	return s.host.Catalog().Lookup(name)
}

// awaitSettled waits until no further tools are about to come.
func (s *Server) awaitSettled(ctx context.Context) {
	select {
	case <-s.options.Settled:
	case <-ctx.Done():
	}
}

// Refresh offers what the host's catalog holds now and notifies clients of changes.
func (s *Server) Refresh() {
	s.changing.Lock() // word of the first tool may reach clients before the last one is there
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

// same reports whether clients see the same in both, so that they need no notification. Calls use
// the catalog of the time.
func same(a, b any) bool { return bytes.Equal(tool.MustMarshal(a), tool.MustMarshal(b)) }

// Announce notifies clients although the list looks the same: a Taskfile was edited, say.
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

// ServeStdio serves one client until in ends or ctx is done. At the end of in, calls under way are
// cancelled unless they are answered within moments. When it returns, every call has ended. End of
// input is no error.
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
	if conn.ended.Err() != nil { // whatever err is, it came of the end
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// describe turns an entry into what MCP clients of a revision see.
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

// resultSizeKey bounds a tool's results in its _meta. Claude Code puts longer ones into a file, by
// default from a fraction of toolhost's own bound.
const resultSizeKey = "anthropic/maxResultSizeChars"

// longResult is both streams of a command as cut by default.
const longResult = 200_000

// resultSize is the _meta of a tool whose results may be long; nil of others.
func resultSize(def *tool.Definition) mcp.Meta {
	for _, p := range def.Permissions {
		if p == tool.FileRead || p == tool.ShellExec || p == tool.Network {
			return mcp.Meta{resultSizeKey: longResult}
		}
	}
	return nil
}

// annotations are the hints of MCP for a tool's risk.
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

// MaxInstructions bounds the instructions sent, in characters; clients cut longer ones.
const MaxInstructions = 2048

// instruct adds the current instructions to answers that begin a session, or that describe the
// server without one.
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
