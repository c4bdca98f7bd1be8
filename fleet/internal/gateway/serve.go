package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/store/record"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// calls reports whether the message may do something.
func (m *message) calls() bool {
	return m.Method == "tools/call" || m.Method == "resources/read" || m.Method == "prompts/get"
}

// digest returns the worker's digest of the call's tool and parameters.
func (q *request) digest() string {
	var params struct {
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(q.body, &params)
	m := &q.message
	switch m.Method {
	case "tools/call":
		return fleet.CallDigest(m.Method, m.Params.Name, policy.CanonicalJSON(params.Params.Arguments))
	case "resources/read":
		return fleet.CallDigest(m.Method, m.Params.URI, "")
	}
	return fleet.CallDigest(m.Method, m.Params.Name, policy.CanonicalJSON(params.Params.Arguments))
}

func (m *message) what() string { return cmp.Or(m.Params.Name, m.Params.URI, m.Method) }

// request is a client's request while the gateway finds its session's worker and passes on the answer.
type request struct {
	*http.Request
	body      []byte
	tenant    *Tenant
	message   message
	stateless bool
	opening   bool
	name      string // the MCP session
	key       string // the fleet's session
	call      string // the CallHeader, may be ""
	trace     string // the worker's traceparent, may be ""
	attempt   string // ID of the previous attempt at the same worker
	out       *answer
}

// late reports whether a call has shown no progress for too long.
func (q *request) late(ctx context.Context) bool {
	return q.call != "" && errors.Is(context.Cause(ctx), errLate)
}

type tenantKey struct{}

// Authenticate implements mcpserve.Backend.
func (g *Gateway) Authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	tenant, err := g.options.Config.tenant(r)
	if err != nil {
		g.stranger(w, r, err)
		return nil
	}
	return r.WithContext(context.WithValue(r.Context(), tenantKey{}, tenant))
}

// Serve implements mcpserve.Backend.
func (g *Gateway) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	began := time.Now()
	tenant, _ := r.Context().Value(tenantKey{}).(*Tenant)
	q := &request{Request: r, body: body, tenant: tenant, out: &answer{w: w}, stateless: mcpserve.IsStateless(r, body)}
	_ = json.Unmarshal(body, &q.message)
	if q.message.calls() {
		release, err := g.limit(tenant)
		if err != nil {
			g.refuse(r.Context(), q, err)
			return
		}
		defer release()
		q.call = callName(&q.message)
	}
	ctx := r.Context()
	if q.call != "" {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(g.options.CallLimit, func() { cancel(errLate) })
		defer timer.Stop()
		q.out.progress = func() { timer.Reset(g.options.CallLimit) }
	}
	done := g.traced(q)
	err := g.serve(ctx, q)
	if done(errorCode(err)); err != nil && (!errors.Is(err, errHangUp) || q.late(ctx)) {
		g.refuse(ctx, q, err)
	}
	g.metrics.observe(q.message.calls(), time.Since(began))
}

func (g *Gateway) traced(q *request) (done func(code string)) {
	if q.call == "" {
		return func(string) {}
	}
	meta := func(name string) (text string) {
		_ = json.Unmarshal(q.message.Params.Meta[name], &text)
		return text
	}
	q.trace, done = g.options.Telemetry.Forward(host.Origin{TraceParent: meta("traceparent"),
		TraceState: meta("tracestate"), Baggage: meta("baggage"), Method: q.message.Method}, q.message.Params.Name)
	return done
}

func errorCode(err error) string {
	if err == nil {
		return ""
	}
	return string(tool.AsError(err).Code)
}

// callName returns the client's own name of a call, the same at each attempt, or a new one.
func callName(m *message) string {
	var id string
	_ = json.Unmarshal(m.Params.Meta["request_id"], &id)
	if id != "" && len(id) <= 200 {
		return fleet.NamedCall + id
	}
	return fleet.MadeCall + rand.Text()
}

func (g *Gateway) serve(ctx context.Context, q *request) error {
	if err := g.find(ctx, q); err != nil {
		return err
	}
	if err := g.proxy(ctx, q); err != nil {
		if q.opening && !q.out.begun { // a client that has its answer has the session
			_ = g.forgetSession(context.WithoutCancel(ctx), q.key)
		}
		return err
	}
	if q.Method == http.MethodDelete {
		g.recent.forget(q.key)
		r, _, _ := g.read(context.WithoutCancel(ctx), q.key)
		_ = g.forgetSession(context.WithoutCancel(ctx), q.key)
		if r != nil && r.Pack != "" {
			_ = g.forgetPack(context.WithoutCancel(ctx), r.Tenant, q.key, r.Pack)
		}
	}
	return nil
}

// errNoSession is also the error for other tenants' sessions.
var errNoSession = tool.Errorf(tool.NotFound, "there is no such session; it may have expired").
	Suggest("Send initialize without Mcp-Session-Id to open a new one.")

// find sets the request's session, and creates it if missing.
func (g *Gateway) find(ctx context.Context, q *request) error {
	q.name = q.Header.Get("Mcp-Session-Id")
	switch {
	case q.stateless:
		name := q.URL.Query().Get("session")
		if name != "" {
			if err := record.ValidSession("http-" + name + mostEpoch); err != nil {
				return err
			}
		}
		q.key = fleet.Digest(strings.Join([]string{"named", q.tenant.Name, q.PathValue("toolset"), name}, "\x00"))
		q.name = ""
	case q.name != "":
		q.key = fleet.Digest("session\x00" + q.name)
	case q.message.Method == "initialize":
		q.name, q.opening = rand.Text(), true
		q.key = fleet.Digest("session\x00" + q.name)
		return g.open(ctx, q, q.body)
	default:
		return tool.Errorf(tool.InvalidArgument, "the request names no session").
			Suggest("Send initialize first, and its answer's Mcp-Session-Id with every further request.")
	}
	r, err := g.recent.get(q.key), error(nil)
	if r == nil {
		if r, _, err = g.read(ctx, q.key); err == nil {
			g.recent.remember(q.key, r)
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound) && q.stateless:
		return g.open(ctx, q, nil)
	case errors.Is(err, jetstream.ErrKeyNotFound), err == nil && r.Tenant != q.tenant.Name:
		return errNoSession
	}
	return err
}

// mostEpoch is the longest suffix that workers append to a session's name.
const mostEpoch = ".18446744073709551615"

func (g *Gateway) open(ctx context.Context, q *request, initialize []byte) error {
	workspace, err := g.options.Config.workspace(q.tenant, q.PathValue("toolset"),
		q.message.Params.Meta[fleet.WorkspaceMeta])
	if err != nil {
		return err
	}
	if len(initialize) > maxInitialize {
		return tool.Errorf(tool.TooLarge, "initialize has more than %d bytes", maxInitialize).Suggest("Send less.")
	}
	_, err = g.write(ctx, q.key, &fleet.Record{Tenant: q.tenant.Name, Workspace: *workspace, Initialize: initialize,
		Created: time.Now()}, 0)
	if fleet.IsConflict(err) { // another request was faster, or only the answer was lost: names are random
		return nil
	}
	return err
}

const maxInitialize = 64 << 10 // bytes

const moveWithin = 60 * time.Second

// proxy has the session's worker answer, and the next one if that is lost or gives up the session.
func (g *Gateway) proxy(ctx context.Context, q *request) error {
	deadline := time.Now().Add(moveWithin)
	r, p := g.known(q.key)
	known := p != nil
	for ; ; known = false {
		var err error
		if !known {
			g.recent.forget(q.key)
			r, p, err = g.home(ctx, q.key)
		}
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return errNoSession
		}
		if err != nil {
			return err
		}
		if done, err := g.earlier(ctx, q, r); done || err != nil {
			return err
		}
		env := g.envelope(q, r, p)
		if env.Known = known; known {
			env.Record = fleet.Record{Epoch: r.Epoch}
		}
		err = g.exchange(ctx, p, env, q.out)
		switch {
		case errors.Is(err, errGone) && known: // nothing ran
		case errors.Is(err, errMoving) && time.Now().Before(deadline):
			select {
			case <-ctx.Done():
				return errHangUp
			case <-time.After(50 * time.Millisecond):
			}
		case (errors.Is(err, errLost) || errors.Is(err, errCut)) && q.Method == http.MethodGet:
			return errHangUp // the client reopens its stream
		case errors.Is(err, errCut):
			if err := g.awaitEntry(ctx, q, p); err != nil {
				return err
			}
			if settled, err := g.resolve(ctx, q, p.name, env); settled || err != nil {
				return err
			}
			q.attempt = env.ID
		case errors.Is(err, errLost), errors.Is(err, errHangUp) && q.late(ctx):
			settled, err := g.resolve(ctx, q, p.name, env)
			if settled || err != nil {
				return err
			}
			q.attempt = env.ID
			if q.late(ctx) {
				return context.Cause(ctx)
			}
		default:
			return err
		}
	}
}

// mayGo are the request headers that a worker gets, without secrets.
var mayGo = []string{"Accept", "Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Mcp-Method",
	"Mcp-Name", "Traceparent", "Tracestate"}

func (g *Gateway) envelope(q *request, r *fleet.Record, p *peer) *fleet.Envelope {
	id := strings.ToLower(rand.Text())
	header := make(http.Header)
	for name, values := range q.Header {
		if slices.Contains(mayGo, name) || strings.HasPrefix(name, "Mcp-Param-") {
			header[name] = values
		}
	}
	if q.call != "" {
		header.Set(fleet.CallHeader, q.call)
		header.Set(fleet.DispatchHeader, id)
	}
	if q.trace != "" {
		header.Set(mcpserve.TraceHeader, q.trace)
	}
	uri := "/mcp"
	if name := q.URL.Query().Get("session"); name != "" {
		uri += "?session=" + name
	}
	return &fleet.Envelope{ID: id, Back: p.name.BackSubject(g.name, id), Session: q.key, Name: q.name, Record: *r,
		Method: q.Method, URL: uri, Header: header, Stateless: q.stateless, Opening: q.opening,
		Replaces: q.attempt, Body: q.body}
}

// earlier answers with the result of an earlier worker. Without one, none can make it any more.
func (g *Gateway) earlier(ctx context.Context, q *request, r *fleet.Record) (done bool, err error) {
	if !strings.HasPrefix(q.call, fleet.NamedCall) {
		return false, nil
	}
	for _, worker := range r.Past {
		if done, err = g.resolveCall(ctx, q, worker, fleet.EveryAttempt); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// settleWithin limits how long it may take to learn a call's fate.
const settleWithin = 4 * time.Second

// resolve decides on a request whose worker was lost or too slow. A call that the worker had claimed may have
// run: that is the answer. Any other is voided there, and can be made elsewhere.
func (g *Gateway) resolve(ctx context.Context, q *request, worker fleet.Worker, env *fleet.Envelope) (bool, error) {
	if q.call == "" {
		return false, nil
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	settled, err := g.resolveCall(short, q, worker, env.ID)
	switch {
	case err == nil || settled:
		return settled, err
	case strings.HasPrefix(q.call, fleet.NamedCall):
		return true, g.result(q,
			tool.Errorf(tool.Unavailable, "it is not known whether %s ran: the hub cannot answer now: %w",
				q.message.what(), err).Suggest("Call again with the same request_id: it runs once at most."))
	}
	return true, g.result(q, fleet.Lost(q.message.what(), string(worker)))
}

// resolveCall answers a call that a worker has claimed, or voids the attempt there.
func (g *Gateway) resolveCall(ctx context.Context, q *request, worker fleet.Worker, attempt string) (bool, error) {
	key := worker.CallKey(q.key, q.call)
	for {
		entry, revision, err := g.readCall(ctx, key)
		if err != nil {
			return false, err
		}
		void := fleet.Call{State: fleet.CallVoid, Voided: []string{attempt}, At: time.Now()}
		switch {
		case entry == nil:
			_, err = putEntry(ctx, g.store.Calls, key, tool.MustMarshal(void), 0)
		case entry.State != fleet.CallVoid && entry.Digest != q.digest():
			return true, g.result(q, fleet.OtherParams(q.message.what()))
		case entry.State == fleet.CallLost, entry.Task: // only its worker knows it
			return true, g.result(q, fleet.Lost(q.message.what(), string(worker)))
		case entry.State == fleet.CallRunning: // a result that comes after all is too late
			void = *entry
			void.State = fleet.CallLost
			if _, err = putEntry(ctx, g.store.Calls, key, tool.MustMarshal(void), revision); err == nil {
				g.metrics.lost.Add(1)
				continue
			}
		case entry.State == fleet.CallDone:
			g.respond(q, entry.Result)
			return true, nil
		case entry.IsVoid(attempt):
			return false, nil
		default:
			void.Voided = append(entry.Voided, attempt)
			_, err = putEntry(ctx, g.store.Calls, key, tool.MustMarshal(void), revision)
		}
		if err == nil {
			return false, nil
		}
		if !fleet.IsConflict(err) {
			return false, err
		}
	}
}

// awaitEntry waits while a call that the worker has claimed runs there.
func (g *Gateway) awaitEntry(ctx context.Context, q *request, p *peer) error {
	if q.call == "" {
		return nil
	}
	for {
		entry, _, err := g.readCall(ctx, p.name.CallKey(q.key, q.call))
		if err != nil || entry == nil || entry.State != fleet.CallRunning {
			return err
		}
		select {
		case <-p.gone:
			return nil
		case <-ctx.Done():
			return errHangUp
		case <-time.After(fleet.Heartbeat):
		}
	}
}

func (g *Gateway) readCall(ctx context.Context, key string) (*fleet.Call, uint64, error) {
	entry, err := getEntry(ctx, g.store.Calls, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	call := new(fleet.Call)
	return call, entry.Revision(), json.Unmarshal(entry.Value(), call)
}

// result answers a call with an error, which is a result in MCP.
func (g *Gateway) result(q *request, err *tool.Error) error {
	if q.message.Method != "tools/call" {
		return err
	}
	data, e := json.Marshal(fleet.FailedResult(host.ErrorResult(err), err))
	if e != nil {
		return e
	}
	g.respond(q, data)
	return nil
}

func (g *Gateway) respond(q *request, result json.RawMessage) {
	message := tool.MustMarshal(map[string]any{"jsonrpc": "2.0", "id": q.message.ID, "result": result})
	q.out.message(http.StatusOK, nil, message)
}

const retryAfter = time.Second

func (g *Gateway) refuse(ctx context.Context, q *request, err error) {
	status, header := http.StatusBadGateway, map[string]string(nil)
	e := tool.AsError(err)
	no := new(refusedError)
	switch {
	case q.late(ctx):
		e = tool.Errorf(tool.Unavailable, "%s has shown no progress for %s", q.message.what(), g.options.CallLimit).
			Suggest("Call again, with the same request_id if it had one; the operator of the fleet may start more workers.")
	case errors.Is(err, errNoWorker):
		e = tool.Errorf(fleet.CodeBusy, "%w", err).Suggest("Try again in %s, or start another worker.", retryAfter)
	case errors.As(err, &no) && no.why == fleet.RefusedBusy && no.text != "":
		e = tool.Errorf(fleet.CodeBusy, "%s", no.text).Suggest("Nothing was run. Try again in %s.", retryAfter)
	case errors.As(err, &no) && no.why == fleet.RefusedBusy:
		e = tool.Errorf(fleet.CodeBusy, "the worker of the session is busy, and its queue is full").
			Suggest("Nothing was run. Try again in %s.", retryAfter)
	case errors.As(err, &no):
		e = tool.Errorf(tool.Unavailable, "the session could not be opened: %s", no.text).
			Suggest("Correct the workspace, or ask the operator of the fleet.")
	case errors.Is(err, errMoving), errors.Is(err, errLost):
		e = tool.Errorf(fleet.CodeBusy, "the session is moving to another worker").Suggest("Try again in %s.",
			retryAfter)
	case e.Code == tool.Internal:
		e = tool.Errorf(tool.Unavailable, "the fleet cannot answer now: %w", err).
			Suggest("Try again in a moment; the operator of the fleet looks at the hub.")
	}
	switch e.Code {
	case fleet.CodeBusy:
		g.metrics.busy.Add(1)
		status, header = http.StatusServiceUnavailable,
			map[string]string{"Retry-After": fmt.Sprint(int(retryAfter.Seconds()))}
	case tool.NotFound:
		status = http.StatusNotFound
	case tool.InvalidArgument, tool.TooLarge:
		status = http.StatusBadRequest
	case tool.PermissionDenied, tool.Denied:
		status = http.StatusForbidden
	}
	g.logger.Info("a request is refused", "tenant", q.tenant.Name, "status", status, "reason", e.Message)
	if q.message.Method == "tools/call" && (e.Code == fleet.CodeBusy || e.Code == tool.Unavailable) {
		_ = g.result(q, e)
		return
	}
	if q.out.begun {
		g.respondError(q, e)
		return
	}
	mcpserve.Refuse(q.out.w, status, e, header)
}

func (g *Gateway) respondError(q *request, e *tool.Error) {
	q.out.message(http.StatusOK, nil, tool.MustMarshal(map[string]any{"jsonrpc": "2.0", "id": q.message.ID,
		"error": map[string]any{"code": -32000, "message": e.Message + ". " + e.Suggestion}}))
}
