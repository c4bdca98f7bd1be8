package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/policy"
)

// call is a call in a session. If it must not run twice, it is claimed first: its entry in the
// bucket of calls can be created once.
type call struct {
	session  *session
	key      string
	dispatch string
	claimID  string
	digest   string
	tool     string
	named    bool   // by the client, who may ask for the result again
	gateway  string // through which the call came; "" once it does not answer

	mu       sync.Mutex
	claimed  bool
	asTask   []byte // the answer if it is a task
	revision uint64 // of the entry, 0 if none
	entry    fleet.Call
}

type callKey struct{}

// runningCalls are running calls with a client's name.
type runningCalls struct {
	mu   sync.Mutex
	open map[string]*runningCall
	// unsure are claims of calls that did not run because the hub did not answer.
	unsure map[string]bool
}

// mostUnsure limits these claims. A call whose claim is forgotten is lost when repeated.
const mostUnsure = 10000

func (f *runningCalls) doubt(claim string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.unsure) >= mostUnsure {
		clear(f.unsure)
	}
	f.unsure[claim] = true
}

func (f *runningCalls) neverRan(claim string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unsure[claim]
}

type runningCall struct {
	digest string
	done   chan struct{}
	result mcp.Result
	err    error
}

// middleware keeps the promises about calls.
func (s *session) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		c := s.callOf(method, request)
		if c == nil {
			return next(ctx, method, request)
		}
		s.quiet.RLock()
		defer func() {
			s.quiet.RUnlock()
			if s.unpacked.Swap(false) {
				s.packLater()
			}
		}()
		ctx, ended := s.worker.exchangeOf(c).begin(ctx)
		defer ended()
		run := func(ctx context.Context) (mcp.Result, error) {
			result, err := next(context.WithValue(ctx, callKey{}, c), method, request)
			return c.finish(ctx, s.tellRestored(result), err)
		}
		if !c.named {
			return run(ctx)
		}
		return s.worker.calls.once(ctx, c, run)
	}
}

// exchangeOf returns a call's exchange, nil if forgotten.
func (w *Worker) exchangeOf(c *call) *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exchanges[c.dispatch]
}

// moved makes the session's present worker run a call that did not run.
func (c *call) moved() {
	if ex := c.session.worker.exchangeOf(c); ex != nil {
		ex.moved.Store(true)
	}
}

func (s *session) callOf(method string, request mcp.Request) *call {
	extra := request.GetExtra()
	if extra == nil || extra.Header.Get(fleet.CallHeader) == "" {
		return nil
	}
	id := extra.Header.Get(fleet.CallHeader)
	c := &call{session: s, key: s.worker.name.CallKey(s.key, id),
		gateway: extra.Header.Get(fleet.GatewayHeader), dispatch: extra.Header.Get(fleet.DispatchHeader),
		claimID: rand.Text(), named: strings.HasPrefix(id, fleet.NamedCall)}
	switch p := request.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		c.tool = p.Name
		c.digest = fleet.CallDigest(method, p.Name, policy.CanonicalJSON(p.Arguments))
	case *mcp.ReadResourceParams:
		c.tool, c.digest = p.URI, fleet.CallDigest(method, p.URI, "")
	case *mcp.GetPromptParams:
		c.tool, c.digest = p.Name, fleet.CallDigest(method, p.Name, policy.CanonicalJSON(tool.MustMarshal(p.Arguments)))
	default:
		return nil
	}
	return c
}

// once runs a named call, or returns its earlier result.
func (f *runningCalls) once(ctx context.Context, c *call, run func(context.Context) (mcp.Result, error)) (mcp.Result,
	error) {
	f.mu.Lock()
	if running := f.open[c.key]; running != nil {
		f.mu.Unlock()
		if running.digest != c.digest {
			return failed(fleet.OtherParams(c.tool)), nil
		}
		select {
		case <-running.done:
			return running.result, running.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	this := &runningCall{digest: c.digest, done: make(chan struct{})}
	f.open[c.key] = this
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.open, c.key)
		f.mu.Unlock()
		close(this.done)
	}()
	if this.result, this.err = c.before(ctx); this.result == nil && this.err == nil {
		this.result, this.err = run(ctx)
	}
	return this.result, this.err
}

// before returns the result of an earlier attempt; nil if there was none.
func (c *call) before(ctx context.Context) (mcp.Result, error) {
	if err := c.read(ctx); err != nil {
		return failed(tool.Errorf(tool.Unavailable, "%s was not run: the hub's store cannot be read: %w", c.tool, err).
			Suggest("Call again with the same request_id.")), nil
	}
	switch {
	case c.revision == 0, c.entry.State == fleet.CallVoid:
		return nil, nil
	case c.entry.Digest != c.digest:
		return failed(fleet.OtherParams(c.tool)), nil
	case c.entry.State == fleet.CallRunning && c.session.worker.calls.neverRan(c.entry.Claim):
		return nil, nil
	case c.entry.State == fleet.CallRunning:
		return c.lose(ctx)
	case c.entry.State == fleet.CallLost:
		return c.lost(), nil
	}
	return c.kept()
}

func (c *call) lost() mcp.Result { return failed(fleet.Lost(c.tool, string(c.session.worker.name))) }

// lose records a call as lost before it says so: a result still on its way to the store is too late.
func (c *call) lose(ctx context.Context) (mcp.Result, error) {
	entry := c.entry
	entry.State, entry.Digest, entry.Tool = fleet.CallLost, c.digest, c.tool
	err := c.writeEntry(ctx, entry)
	switch {
	case fleet.IsConflict(err):
		return c.before(ctx)
	case err != nil:
		return c.unknown(err), nil
	}
	return c.lost(), nil
}

// unknown is the result of a call whose fate only the store knows.
func (c *call) unknown(err error) mcp.Result {
	if !c.named {
		return c.lost()
	}
	return failed(tool.Errorf(tool.Unavailable, "it is not known whether %s ran: the hub's store cannot answer now: %w",
		c.tool, err).Suggest("Call again with the same request_id: it runs once at most."))
}

func (c *call) writeEntry(ctx context.Context, entry fleet.Call) error {
	ctx, cancel := context.WithTimeout(ctx, fleet.StoreStep)
	defer cancel()
	calls, data := c.session.worker.store.calls(ctx, c.gateway), tool.MustMarshal(entry)
	var revision uint64
	var err error
	if c.revision == 0 {
		revision, err = calls.Create(ctx, c.key, data)
	} else {
		revision, err = calls.Update(ctx, c.key, data, c.revision)
	}
	switch {
	case err == nil:
		c.revision, c.entry = revision, entry
	case !fleet.IsConflict(err):
		c.gateway = ""
	}
	return err
}

func (c *call) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleet.StoreStep)
	defer cancel()
	entry, err := c.session.worker.store.calls(ctx, c.gateway).Get(ctx, c.key)
	c.revision, c.entry = 0, fleet.Call{}
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		c.gateway = ""
		return err
	}
	c.revision = entry.Revision()
	return json.Unmarshal(entry.Value(), &c.entry)
}

func (c *call) kept() (mcp.Result, error) {
	data := c.entry.Result
	if task := mcpserve.KeptTask(data); task != nil {
		return task, nil
	}
	result := new(mcp.CallToolResult)
	if err := json.Unmarshal(data, result); err != nil {
		return nil, err
	}
	var exact struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(data, &exact) == nil && len(exact.StructuredContent) > 0 {
		result.StructuredContent = exact.StructuredContent
	}
	if result.Meta == nil {
		result.Meta = mcp.Meta{}
	}
	result.Meta[fleet.OutcomeMeta] = "stored"
	return result, nil
}

const mostKept = 512 << 10 // bytes

// beforeRun claims a call that must not run twice. It is the host's BeforeRun.
func (s *session) beforeRun(ctx context.Context, repeatable bool) error {
	c, _ := ctx.Value(callKey{}).(*call)
	if repeatable {
		return nil
	}
	if c == nil {
		return tool.Errorf(tool.Unavailable,
			"nothing was run: in a fleet, a tool that changes things runs only as a call of a client").
			Suggest("Call the tool itself.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claimed {
		return nil
	}
	if err := c.claim(ctx); err != nil {
		return err
	}
	c.claimed = true
	s.dirty()
	return nil
}

func (c *call) claim(ctx context.Context) error {
	if c.entry.IsVoid(c.dispatch) {
		return notMine(c.tool)
	}
	for {
		entry := c.runningEntry()
		err := c.writeEntry(ctx, entry)
		if err == nil {
			return nil
		}
		if fleet.IsForeign(err) {
			c.moved()
			go c.session.worker.dropLost(c.session.key, entry.Epoch)
			return tool.Errorf(tool.Unavailable, "%s was not run: the session was given to another worker", c.tool).
				Suggest("Call again.")
		}
		readErr := c.read(ctx)
		switch {
		case readErr == nil && c.entry.State == entry.State && c.entry.Claim == c.claimID:
			return nil // only the answer was lost
		case readErr == nil && fleet.IsConflict(err) && c.isFree():
			continue
		case readErr == nil && fleet.IsConflict(err):
			return notMine(c.tool)
		}
		c.session.worker.calls.doubt(c.claimID)
		return tool.Errorf(tool.Unavailable, "%s was not run: the hub did not take note of the call: %w", c.tool, err).
			Suggest("Call again.")
	}
}

// isFree reports whether the entry lets this attempt claim the call.
func (c *call) isFree() bool {
	switch c.entry.State {
	case fleet.CallVoid:
		return !c.entry.IsVoid(c.dispatch)
	case fleet.CallRunning:
		return c.session.worker.calls.neverRan(c.entry.Claim)
	}
	return false
}

func notMine(name string) *tool.Error {
	return tool.Errorf(tool.Conflict, "%s was not run here: the call was given to another worker", name).
		Suggest("Wait for its result, or call again.")
}

const storeWithin = 2 * time.Minute

// finish stores the result of a claimed or named call, and returns what the client gets: only a
// result that could be found again.
func (c *call) finish(ctx context.Context, result mcp.Result, err error) (mcp.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := result.(*mcp.CallToolResult)
	ok = ok && answer != nil
	if c.claimed || ok && slices.ContainsFunc(answer.Content, isLink) {
		defer c.session.dirty()
	}
	if !c.claimed && (!c.named || err != nil) {
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	defer context.AfterFunc(c.session.worker.life, cancel)() // the hub cannot be reached any more
	switch {
	case c.claimed && err != nil, c.claimed && ok && answer.IsError && c.session.life.Err() != nil:
		return c.lose(ctx) // cut off at an unknown point
	case c.named && mcpserve.IsTask(result):
		return result, c.keepTask(ctx, result)
	case !ok:
		return result, err
	case len(answer.InputRequests) > 0 && c.claimed: // the client answers, and calls again
		_ = c.writeEntry(ctx, fleet.Call{State: fleet.CallVoid, Voided: c.entry.Voided, At: time.Now()})
		return result, err
	case !c.claimed && answer.IsError && c.session.life.Err() != nil:
		return failed(tool.Errorf(tool.Unavailable, "%s was not run: its session is moving to another worker", c.tool).
			Suggest("Call again.")), nil
	case len(answer.InputRequests) > 0, !c.claimed && answer.IsError: // nothing ran
		return result, err
	}
	return c.storeResult(ctx, answer)
}

// isLink reports whether a result links to a whole output, which is in the workspace and moves with its pack.
func isLink(content mcp.Content) bool {
	_, is := content.(*mcp.ResourceLink)
	return is
}

// keepTask stores that the call is a task, for later attempts, which continue it or learn its end.
func (c *call) keepTask(ctx context.Context, answer mcp.Result) (err error) {
	if c.asTask, err = json.Marshal(answer); err != nil {
		return err
	}
	if err := c.writeEntry(ctx, c.runningEntry()); err != nil {
		c.session.worker.logger.Warn("a task is not known by the name of its call", "session", c.session.key, "error", err)
	}
	return nil
}

func (c *call) runningEntry() fleet.Call {
	entry := fleet.Call{State: fleet.CallRunning, Epoch: c.session.epoch(), Digest: c.digest, Tool: c.tool, Claim: c.claimID,
		Voided: c.entry.Voided, At: time.Now()}
	if c.asTask != nil {
		entry.State, entry.Result, entry.Task = fleet.CallDone, c.asTask, true
	}
	return entry
}

func (c *call) storeResult(ctx context.Context, answer *mcp.CallToolResult) (mcp.Result, error) {
	data, err := json.Marshal(answer)
	if err != nil {
		return answer, err
	}
	if len(data) > mostKept { // a repeated call gets this error
		data = tool.MustMarshal(failed(tool.Errorf(tool.TooLarge,
			"%s has run, and its result of %d bytes was given once, but not kept: that is more than %d", c.tool, len(data),
			mostKept).Suggest("Look at what it has changed. To have the result again, call with another request_id.")))
	}
	entry := fleet.Call{State: fleet.CallDone, Digest: c.digest, Tool: c.tool, Claim: c.claimID, Result: data,
		At: time.Now()}
	for {
		if err = c.writeEntry(ctx, entry); err == nil || !c.claimed && fleet.IsConflict(err) {
			return answer, nil
		}
		if fleet.IsConflict(err) && c.read(ctx) == nil {
			switch {
			case c.entry.State == fleet.CallDone && c.entry.Claim == c.claimID: // only the answer was lost
				return answer, nil
			case c.entry.State != fleet.CallRunning:
				return c.lost(), nil
			}
		}
		select {
		case <-ctx.Done():
			c.session.worker.logger.Warn("a result was not stored", "session", c.session.key, "error", err)
			if !c.named || !c.claimed {
				return answer, nil
			}
			return c.unknown(err), nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func failed(err *tool.Error) *mcp.CallToolResult {
	return fleet.FailedResult(host.ErrorResult(err), err)
}

// tellRestored tells the first caller after a loss what was lost.
func (s *session) tellRestored(result mcp.Result) mcp.Result {
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || answer == nil || len(answer.InputRequests) > 0 {
		return result
	}
	s.mu.Lock()
	tell := s.record.Restored && !s.told
	s.told = s.told || tell
	record := s.record
	s.mu.Unlock()
	if !tell {
		return result
	}
	told := *answer
	told.Content = append(slices.Clip(told.Content), &mcp.TextContent{Text: fmt.Sprint(restoredNote(record))})
	return &told
}
