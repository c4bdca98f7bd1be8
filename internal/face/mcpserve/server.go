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
	// Instructions gives what a client's model is told when the client begins:
	// what the tools are for. It is called for each client again. May be nil.
	Instructions func(context.Context) string
	// Session names the host session of ServeStdio. Empty makes a random
	// name, so that every connection is a session of its own.
	Session string
	// SessionEnded is called when a session has ended and none of its calls
	// runs any more, to release what was kept for it. May be nil.
	SessionEnded func(session string)
	// KeepQuestion stores a question for approval that is too long to be shown
	// and gives the file's absolute path, where no tool can change it. Nil has
	// long questions shown whole.
	KeepQuestion func(text string) (file string, err error)
	// AskTimeout is how long a question to the user may wait for its answer.
	// Zero means DefaultAskTimeout.
	AskTimeout time.Duration
	// NoUndo has results not name `toolhost undo`, which the client's user cannot run.
	NoUndo bool
	// Search offers, instead of the list of tools, three by which they are
	// found, described and called.
	Search bool
	// Heartbeat is how often a call without news is reported to be running, to
	// clients that want progress. Zero means DefaultHeartbeat.
	Heartbeat time.Duration
	// TaskAfter is how long a call of a client that knows tasks may take before
	// it becomes one. Zero means DefaultTaskAfter; less makes none.
	TaskAfter time.Duration
	// Recorded gives what the record has of a call, for tasks that this server
	// did not make; nil for a call that there is not. May be nil.
	Recorded func(ctx context.Context, id string) (*Recorded, error)
	// Settled is closed when no further tools are about to come. Lists of
	// tools, and calls of a tool that is not there, wait for it. Nil waits for
	// nothing.
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

// Server is the MCP face of a host, for any number of connections at once:
// one over stdio, or many over HTTP.
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

// New makes a server that offers the tools of h's catalog.
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

// nameUnknown answers a call of a tool that is not there with the nearest
// names; the SDK's own answer has none.
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

// note has a call of a tool that is not there recorded and counted, as it is
// when it comes in elsewhere.
func (s *Server) note(ctx context.Context, call *mcp.CallToolRequest, why *tool.Error) {
	link := linkOf(ctx)
	if link == nil {
		return
	}
	ctx, done, err := link.begin(ctx)
	if err != nil {
		return
	}
	defer done()
	link.session.Refuse(traced(ctx, call), host.Request{Tool: call.Params.Name, Params: call.Params.Arguments}, why)
}

// unknown is why there is no tool of that name; nil where there is.
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

// lookup finds a tool, after a while where it may be among those that are about
// to come.
func (s *Server) lookup(ctx context.Context, name string) (*host.Entry, error) {
	if entry, err := s.host.Catalog().Lookup(name); err == nil {
		return entry, nil
	}
	s.settle(ctx)
	return s.host.Catalog().Lookup(name)
}

// settle waits until no further tools are about to come.
func (s *Server) settle(ctx context.Context) {
	select {
	case <-s.options.Settled:
	case <-ctx.Done():
	}
}

// Refresh offers what the host's catalog holds now. Clients are told when the
// list has changed.
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

// same reports whether clients see the same in both: then they are not told
// of a change. What they call is found in the catalog of the time.
func same(a, b any) bool { return bytes.Equal(tool.MustMarshal(a), tool.MustMarshal(b)) }

// Announce tells clients that the tools may have changed although their list
// looks the same: a Taskfile was edited, say.
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

// ServeStdio serves one client over in and out until in ends or ctx is done.
// When in has ended, calls that are under way are cancelled unless they are
// answered within moments. When it returns, every call has ended. An end of
// input is no error.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	link := s.newLink(s.options.Session)
	link.stdio = true
	defer link.close()
	stop := context.AfterFunc(ctx, link.end)
	defer stop()
	in, done := polled(in)
	defer done()
	transport := &lineTransport{in: in, out: out, settled: s.options.Settled, onEOF: link.end}
	connection, err := s.sdk.Connect(context.WithValue(ctx, linkKey{}, link), transport, nil)
	if err != nil {
		return err
	}
	go func() {
		<-link.ended.Done()
		_ = connection.Close()
	}()
	err = connection.Wait()
	if link.ended.Err() != nil { // whatever err is, it came of the end
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

// resultSizeKey says in a tool's _meta how long its results may be. Claude Code
// puts longer ones into a file, from a fraction of what toolhost cuts at.
const resultSizeKey = "anthropic/maxResultSizeChars"

// longResult has room for both streams of a command as they are cut by default.
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

// MaxInstructions is how much of its instructions a server sends, in
// characters; clients cut what is longer.
const MaxInstructions = 2048

// instruct puts the instructions of the moment into the answers that begin a
// session, or describe the server without one.
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
