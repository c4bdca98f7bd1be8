// Package host is the heart of toolhost: it gathers tools from their sources into a catalog and runs calls of
// them through one pipeline, the same for every face (command line, MCP, a Go program).
//
// A program embeds it by opening a workspace, making a Host with the sources it wants, and calling tools in a
// Session; see the package example.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Defaults of Limits.
const (
	DefaultTimeout  = 10 * time.Minute
	DefaultInFlight = 64
)

// Source provides tools: the built-ins, the command tools of an agent.hcl, a plugin, an MCP server.
type Source interface {
	// Name is unique among the sources of a host: "builtin", "plugin files".
	Name() string
	// Tools returns the tools in a stable order. On an error the host continues without the source and reports
	// it to callers.
	Tools(ctx context.Context) ([]tool.Tool, error)
}

// Limits bound calls. Zero values mean the defaults.
type Limits struct {
	// Output bounds the text, and the data, of a foreign tool, in bytes: at least a mebibyte; see Foreign.
	Output int64
	// Timeout bounds a call of a tool without its own timeout.
	Timeout time.Duration
	// InFlight bounds concurrent calls; more wait.
	InFlight int
}

// Options configure a host. Root and Sources are required.
type Options struct {
	// Root is the absolute path of the workspace.
	Root string
	// Sources provide the tools, in order of listing.
	Sources []Source
	// Toolset selects among the tools; the zero value offers all.
	Toolset Toolset
	Limits  Limits
	// Logger is for operators. Nil discards.
	Logger *slog.Logger
	// Ready returns why no call can be made now, before anything is done or recorded. May be nil.
	Ready func() error
	// Effects is called before a tool runs, with CallContext's context. ended returns the files that the tool's
	// processes changed, a note for the caller, perhaps "", and whether it can be undone. May be nil.
	Effects func(ctx context.Context) (ended func() (files []string, note string, undo bool))
	// BeforeRun is called right before a tool runs; an error prevents it. repeatable is set if repeating the
	// call does no harm. May be nil.
	BeforeRun func(ctx context.Context, repeatable bool) error
	// Judge decides on every call before it runs. Nil allows all.
	Judge Judge
	// Remember stores a lasting approval of exactly this call, for the answer "always". If nil, approvals are
	// for one call only.
	Remember func(ctx context.Context, p Proposal) error
	// Views makes the views for requests with InView. May be nil.
	Views Views
	// Approvals lets the user approve calls of requests with ApproveLater. May be nil.
	Approvals Approvals
	// CallID returns a unique name for a call that its caller did not name. If nil, calls are named by their
	// step in the session.
	CallID func() string
	// CallContext adds to the context of every call. May be nil.
	CallContext func(ctx context.Context, call *tool.Call) context.Context
	// Trace is called when a part of a call, one of the Trace constants, begins. It returns the part's context
	// and a function for its end, which gets the outcome so far. It must be quick and safe for concurrent use.
	// May be nil.
	Trace func(ctx context.Context, part string, call *tool.Call) (context.Context, func(*Outcome))
	// Recorder keeps the record. If nil, steps are counted in memory.
	Recorder Recorder
	// Unrecorded returns whether calls that cannot be recorded fail, and why there is no record. May be nil.
	Unrecorded func() (required bool, err error)
	// Config returns the digest of the current configuration, for the record. May be nil.
	Config func() string
	// State returns the store of a source's tools. If nil, state is kept in memory.
	State func(source string, scope tool.Scope, session string) tool.State
	// Secrets are removed from results, errors and questions. Host.Redact adds more.
	Secrets []string
	// Sample asks a language model for tools. If it is nil or returns ErrNoModel, the caller's model is asked.
	Sample func(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error)
}

// Host runs tools. It is safe for use by several goroutines.
type Host struct {
	options Options
	logger  *slog.Logger
	catalog atomic.Pointer[Catalog]
	slots   chan struct{}
	running inFlight
	reviews reviews
	memory  memoryState
	redact  secrets
	reached sync.Map // of true, by reachKey

	timeout    atomic.Int64 // of Limits
	output     atomic.Int64 // of Limits
	unrecorded atomic.Bool  // and already reported
	tellWeaker atomic.Bool  // once, that the sandbox is not the strongest
}

// Serves makes the host, which serves many calls, log only what holds for all of them.
func (h *Host) Serves() { h.tellWeaker.Store(true) }

// New builds a host and its catalog; it starts nothing. The error is a *tool.Error of code conflict if two
// selected tools have the same name.
func New(ctx context.Context, options Options) (*Host, error) {
	if !filepath.IsAbs(options.Root) {
		return nil, errors.New("host: Options.Root must be an absolute path")
	}
	if options.Limits.InFlight <= 0 {
		options.Limits.InFlight = DefaultInFlight
	}
	h := &Host{options: options, logger: options.Logger, slots: make(chan struct{}, options.Limits.InFlight)}
	h.SetTimeout(options.Limits.Timeout)
	h.SetOutput(options.Limits.Output)
	h.Redact(options.Secrets)
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	if h.options.Config == nil {
		h.options.Config = func() string { return "" }
	}
	if h.options.Recorder == nil {
		h.options.Recorder = new(countingRecorder)
	}
	return h, h.Reload(ctx, options.Sources, options.Toolset)
}

// SetTimeout changes Limits.Timeout for later calls. Zero means DefaultTimeout.
func (h *Host) SetTimeout(timeout time.Duration) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	h.timeout.Store(int64(timeout))
}

// SetOutput changes Limits.Output for later calls.
func (h *Host) SetOutput(most int64) { h.output.Store(max(most, mostAnswer)) }

// Reload replaces the catalog atomically. Running calls keep their tools. On an error the old catalog stays.
func (h *Host) Reload(ctx context.Context, sources []Source, toolset Toolset) error {
	catalog, err := buildCatalog(ctx, sources, toolset)
	if err != nil {
		return err
	}
	h.catalog.Store(catalog)
	return nil
}

// Catalog returns the current tools.
func (h *Host) Catalog() *Catalog { return h.catalog.Load() }

// Root returns the absolute path of the workspace.
func (h *Host) Root() string { return h.options.Root }

// Session returns the session of that name. Sessions are not registered: two with the same name share state,
// steps and record.
func (h *Host) Session(name string) *Session { return &Session{host: h, name: name} }

// Session is a sequence of calls that share state and a record.
type Session struct {
	host *Host
	name string
}

// Name is the session's name.
func (s *Session) Name() string { return s.name }

// ArtifactDir returns the absolute path of the directory for the session's files, "" for none.
func (s *Session) ArtifactDir() string { return s.host.options.Recorder.ArtifactDir(s.name) }

// Request asks for one call of a tool.
type Request struct {
	// Tool is the name in the catalog.
	Tool string
	// Params is the parameter object; empty means {}.
	Params json.RawMessage
	// ID is the caller's name for the call; if empty, one is made from the step.
	ID string
	// Client is the caller's name and version, for the record.
	Client string
	// Step is the step of the outcome with the question that the request answers. Zero counts a new step.
	Step int
	// DryRun stops before the tool acts: the outcome has the plan and the decision.
	DryRun bool
	// InView makes a dry run perform the call in a copy-on-write view of the workspace if the tool can, so that
	// the plan has its changes. It does not ask: callers must be allowed to approve the call themselves.
	InView bool
	// Shown is the digest of changes of a waiting call that a dry run shows.
	Shown string
	// Answers are the user's answers to an earlier outcome's questions, by key.
	Answers map[string]tool.Answer
	// CanAsk is set if the face can ask the user; then an outcome may have a question in Input. Otherwise a
	// call that needs an answer fails.
	CanAsk bool
	// AskNow asks the user while the call runs. If nil, an approval must be given elsewhere.
	AskNow func(ctx context.Context, form tool.Form) (tool.Answer, error)
	// Learn asks the user about each unlisted host that the call's processes want to reach. Outcome.Reached
	// lists them.
	Learn bool
	// CanVisit is set if the face can also show the user the URL of a page.
	CanVisit bool
	// ApproveLater is set if the caller can repeat the call after an approval elsewhere.
	ApproveLater bool
	// Anonymous is set if the session's name was made up for one connection, and may have ended: an approval
	// elsewhere then holds in any session.
	Anonymous bool
	// CanSample and CanRoots are set if the face can ask the client's model, and the client for its roots.
	CanSample, CanRoots bool
	// HowToApprove is a hint for callers whose user cannot be asked. Empty means a general hint.
	HowToApprove string
	// Progress receives the tool's progress. It must not block. May be nil.
	Progress func(tool.Progress)
	// Sample asks the caller's language model if Options.Sample is nil or has no model. May be nil.
	Sample func(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error)
	// Log receives what the tool logs, besides the host's own log. It must not block. May be nil.
	Log func(level slog.Level, message string)
	// OnStart is called when the beginning of the call is recorded, or with why not. It must not block. May be
	// nil.
	OnStart func(unrecorded error)

	depth int // of calls made by tools
}

// Outcome is the outcome of a call.
type Outcome struct {
	Tool string
	// Definition is the tool's, nil if unknown.
	Definition *tool.Definition
	Source     string
	RequestID  string
	Step       int
	Duration   time.Duration
	// Result is the result of the tool, or of the contract's renderer. It is nil only with Input and for dry
	// runs.
	Result *tool.Result
	// Err is why the call failed, nil on success. Result says it too.
	Err *tool.Error
	// Unrecorded is why the end of the call is not in the record; nil if it is.
	Unrecorded error
	// Valid is set if the tool exists and the parameters fit its schema.
	Valid bool
	// Envelope is set if Result.Structured is the contract's whole result object, which faces send unchanged.
	Envelope bool
	// Input is the question to answer before the call can run. The face asks, then makes the call of Again.
	Input *tool.InputRequired
	// Answers are the configured model's so far, with Input. Again adds them, so that the model is not asked
	// twice and what is approved is what runs.
	Answers map[string]tool.Answer
	// Plan is what the call would do, if the tool can tell, for dry runs and approvals.
	Plan *tool.Plan
	// Changes are the changes of the call in a view, if it was made in one.
	Changes *Changes
	// Decision is the judge's.
	Decision Decision
	// Connect is "HOST:PORT" if the outcome is about a connection of the tool's processes.
	Connect string
	// Reached are the hosts that the call's processes reached, as agent.hcl lists them, and LookedUp names that
	// were only looked up; with Request.Learn.
	Reached, LookedUp []string
	// Connections counts those of the call's processes, Refused the refused ones.
	Connections, Refused int
	// Params and Argv are what the judge was asked about: the parameters with defaults and answers, and the
	// command, if known. Empty without a judge.
	Params json.RawMessage
	Argv   []string
	// Given are the parameters for the record, without values that the schema marks as writeOnly.
	Given any

	foreign bool // see Foreign
}

type countingRecorder struct {
	mu    sync.Mutex
	steps map[string]int
}

func (r *countingRecorder) Step(_ context.Context, session string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps == nil {
		r.steps = make(map[string]int)
	}
	r.steps[session]++
	return r.steps[session], nil
}

func (*countingRecorder) Event(context.Context, string, string, any) error { return nil }

func (*countingRecorder) ArtifactDir(string) string { return "" }
