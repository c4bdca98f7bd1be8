// Package host is the heart of toolhost: it gathers tools from their sources
// into a catalog and runs calls of them through one pipeline, the same for
// every face (command line, MCP, a Go program).
//
// A program embeds it by opening a workspace, making a Host with the sources
// it wants, and calling tools in a Session; see the package example.
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

// Source gives tools to a host: the builtins, the command tools of an
// agent.hcl, one plugin, one upstream server.
type Source interface {
	// Name is unique among the sources of a host: "builtin", "plugin files".
	Name() string
	// Tools lists the source's tools in a stable order. When it fails, the
	// host goes on without the source and tells callers why.
	Tools(ctx context.Context) ([]tool.Tool, error)
}

// Limits bound what calls may use. Zero values mean the defaults.
type Limits struct {
	// Output bounds in bytes the text, and the data, that a foreign tool gives
	// back. Less than a mebibyte means a mebibyte; see Foreign.
	Output int64
	// Timeout bounds a call of a tool that names no timeout of its own.
	Timeout time.Duration
	// InFlight bounds the calls that run at one time; more wait.
	InFlight int
}

// Options say what a host is made of. Root and Sources are needed, all else
// has a working zero value.
type Options struct {
	// Root is the absolute path of the workspace.
	Root string
	// Sources give the tools, in order of listing.
	Sources []Source
	// Toolset selects among the tools; the zero value offers all.
	Toolset Toolset
	Limits  Limits
	// Logger receives what operators may want to know. Nil discards.
	Logger *slog.Logger
	// Ready says why no call can be made now, before anything is done or recorded
	// for it. Nil is always ready.
	Ready func() error
	// Effects is called before a tool runs in a context of CallContext. What it
	// gives is asked afterwards which files the tool's processes have changed, and
	// what the caller should know of that, "" for nothing, and whether it can be undone.
	// May be nil.
	Effects func(ctx context.Context) (ended func() (files []string, note string, undo bool))
	// BeforeRun is asked right before a tool runs; an error keeps it from running.
	// repeatable is true where a further run of the same call does no harm. May be
	// nil.
	BeforeRun func(ctx context.Context, repeatable bool) error
	// Judge decides on every call before it runs. Nil allows all.
	Judge Judge
	// Remember stores a lasting approval of exactly this call, for a user who
	// answers "always". Nil means that approvals are for one call only.
	Remember func(ctx context.Context, p Proposal) error
	// Views makes the views that requests with InView ask for. May be nil.
	Views Views
	// Approvals lets a person approve calls of requests with ApproveLater. Nil
	// means that nobody can.
	Approvals Approvals
	// CallID names a call that its caller did not name, as no other is. Nil names calls by their step in the session.
	CallID func() string
	// CallContext adds to the context of every call. Nil adds nothing.
	CallContext func(ctx context.Context, call *tool.Call) context.Context
	// Trace is called when a part of a call begins; the parts are the Trace
	// constants. It returns the context for the part and a function that is
	// called when the part ends, with the outcome as far as it is known by then.
	// Trace may be called from several goroutines and must be quick. Nil traces
	// nothing.
	Trace func(ctx context.Context, part string, call *tool.Call) (context.Context, func(*Outcome))
	// Recorder keeps the record. Nil counts steps in memory and keeps none.
	Recorder Recorder
	// Unrecorded reports whether calls fail that cannot be recorded, and why there
	// is no record at all. May be nil.
	Unrecorded func() (required bool, err error)
	// Config gives the digest of the configuration in force, for the record. May
	// be nil.
	Config func() string
	// State gives the store of a source's tools. Nil keeps state in memory.
	State func(source string, scope tool.Scope, session string) tool.State
	// Secrets are values that no result, error or question may show. More can
	// be added with Host.Redact.
	Secrets []string
	// Sample asks a language model on behalf of tools. Where it is nil, or fails
	// with ErrNoModel, the caller's own model is asked.
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
	unrecorded atomic.Bool  // and it was told
	tellWeaker atomic.Bool  // once, that the sandbox is not the strongest
}

// Serves says that the host serves many calls: its log tells of what holds for all.
func (h *Host) Serves() { h.tellWeaker.Store(true) }

// New makes a host and builds its catalog. It starts nothing. The error is a
// *tool.Error of code conflict when two tools of one name are selected.
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

// SetTimeout changes Limits.Timeout for the calls that begin from now on. Zero
// means DefaultTimeout.
func (h *Host) SetTimeout(timeout time.Duration) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	h.timeout.Store(int64(timeout))
}

// SetOutput changes Limits.Output for the calls that begin from now on.
func (h *Host) SetOutput(most int64) { h.output.Store(max(most, mostAnswer)) }

// Reload replaces the catalog by one of other sources or another selection,
// in one step. Running calls go on with the tools they have. On an error the
// old catalog stays.
func (h *Host) Reload(ctx context.Context, sources []Source, toolset Toolset) error {
	catalog, err := buildCatalog(ctx, sources, toolset)
	if err != nil {
		return err
	}
	h.catalog.Store(catalog)
	return nil
}

// Catalog gives the tools that are offered now.
func (h *Host) Catalog() *Catalog { return h.catalog.Load() }

// Root is the absolute path of the workspace.
func (h *Host) Root() string { return h.options.Root }

// Session gives the session of that name. Sessions are cheap and are not
// registered anywhere: two of one name share state, steps and record.
func (h *Host) Session(name string) *Session { return &Session{host: h, name: name} }

// Session is a sequence of calls that share state and a record.
type Session struct {
	host *Host
	name string
}

// Name is the session's name.
func (s *Session) Name() string { return s.name }

// ArtifactDir is the absolute path of the directory for files that the
// session's calls leave, "" where none is kept.
func (s *Session) ArtifactDir() string { return s.host.options.Recorder.ArtifactDir(s.name) }

// Request asks for one call of a tool.
type Request struct {
	// Tool is the name in the catalog.
	Tool string
	// Params is the parameter object. Empty is {}.
	Params json.RawMessage
	// ID is the caller's name for the call; empty makes one from the step.
	ID string
	// Client says who calls, for the record: the name and the version of a client.
	Client string
	// Step is Outcome.Step of the outcome that asked a question, in the request
	// that brings the answer. Zero counts a new step.
	Step int
	// DryRun stops before the tool acts: the outcome carries the plan and the
	// decision.
	DryRun bool
	// InView has a dry run make the call in a copy-on-write view of the workspace,
	// where the tool can, so that the plan says what it changes. It asks nobody: it
	// is for callers who may approve the call themselves.
	InView bool
	// Shown has a dry run show what a call that waits for a person's word has changed
	// in its view, by the digest of that.
	Shown string
	// Answers are the user's answers to what an earlier outcome asked, by key.
	Answers map[string]tool.Answer
	// CanAsk is true when the face can put a question to the user; then an
	// outcome may carry one in Input. Otherwise what needs an answer fails.
	CanAsk bool
	// AskNow puts a question to the user while the call runs. Nil where the face
	// cannot; then what comes up has to be approved elsewhere.
	AskNow func(ctx context.Context, form tool.Form) (tool.Answer, error)
	// Learn has a person asked about each host that the call's processes want to
	// reach and their block does not name; Outcome.Reached lists them.
	Learn bool
	// CanVisit is true when the face can show the user the URL of a page to
	// visit, in the same way.
	CanVisit bool
	// ApproveLater is true when the caller can make the same call again after
	// a person has approved it elsewhere.
	ApproveLater bool
	// Anonymous is true when the session's name was made up for one
	// connection: what a person approves elsewhere is then for the call in any
	// session, since this one may be over by then.
	Anonymous bool
	// CanSample and CanRoots are true when the face can put a question to the
	// client's model, and ask the client for its roots, in the same way.
	CanSample, CanRoots bool
	// HowToApprove tells, where nobody can be asked, what the caller can do
	// to have the call approved. Empty gives a general hint.
	HowToApprove string
	// Progress receives the tool's progress. May be nil. It must not block.
	Progress func(tool.Progress)
	// Sample asks the caller's language model, where Options.Sample has none.
	// Nil means that the caller lends none.
	Sample func(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error)
	// Log receives what the tool logs, besides the host's own log. May be nil.
	// It must not block.
	Log func(level slog.Level, message string)
	// OnStart is told when the beginning of the call is in the record, or why it is
	// not. May be nil. It must not block.
	OnStart func(unrecorded error)

	depth int // of calls made by tools
}

// Outcome is what became of a call.
type Outcome struct {
	Tool string
	// Definition is that of the tool, nil when there is none of that name.
	Definition *tool.Definition
	Source     string
	RequestID  string
	Step       int
	Duration   time.Duration
	// Result is what the tool, or the contract's renderer, gives the caller.
	// It is nil only when Input is set or the call was a dry run.
	Result *tool.Result
	// Err is why the call failed, nil on success. Result tells it too.
	Err *tool.Error
	// Unrecorded is why the end of the call is not in the record; nil where it is.
	Unrecorded error
	// Valid is true when the tool exists and the parameters fit its schema.
	Valid bool
	// Envelope is true when Result.Structured is the whole result object of a
	// fixed contract, which faces give out as it is.
	Envelope bool
	// Input is the question that has to be answered before the call can run.
	// The face asks, then calls again with what Again gives.
	Input *tool.InputRequired
	// Answers are what the configured model has answered so far, where Input is
	// set. Again brings them with the answer to Input, so that the model is not
	// asked twice and what is approved is what runs.
	Answers map[string]tool.Answer
	// Plan is what the call would do, where the tool can tell and it was
	// needed: on a dry run and when approval is asked.
	Plan *tool.Plan
	// Changes are what the call has changed in a view, where it was made in one.
	Changes *Changes
	// Decision is what the judge said.
	Decision Decision
	// Connect is "HOST:PORT" where the outcome stands for a connection that processes
	// of the tool want to make.
	Connect string
	// Reached are the hosts that the call's processes reached, as a list of agent.hcl
	// has them, and LookedUp the names that they looked up alone, with Request.Learn.
	Reached, LookedUp []string
	// Connections counts those of the call's processes, Refused those of them that were
	// refused.
	Connections, Refused int
	// Params and Argv are what the judge was asked about: the parameters with
	// their defaults and the answers to the tool's questions, and the command
	// that the call would run, where the tool can tell. Empty without a judge.
	Params json.RawMessage
	Argv   []string
	// Given are the parameters as the record keeps them: without the values of
	// what the tool's schema marks as writeOnly.
	Given any

	foreign bool // the tool is somebody else's, see Foreign
}

// countingRecorder counts steps and keeps nothing.
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
