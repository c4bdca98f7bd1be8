package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/fault"
)

const (
	// parkTime is how long a call waits in memory for the user's answer.
	parkTime = 16 * time.Minute
	// maxParked bounds a server's calls that wait for an answer.
	maxParked = 64
)

// pendingCall is one call in progress at a server. It outlives its tool.Call when the server asks the
// user: Ask ends that call, and the one with the answer continues the same pending call.
type pendingCall struct {
	conn         *conn
	pendingCalls *pendingCalls
	id           string // of the tool.Call, the same when repeated
	token        string // progress token
	session      string
	tool         string
	params       json.RawMessage
	trace        map[string]any // of the caller
	cancel       context.CancelFunc

	questions chan *question
	done      chan struct{} // closed when result and err are set
	result    *tool.Result
	err       error

	mu      sync.Mutex
	call    *tool.Call // follows now; nil while parked
	ctx     context.Context
	open    *question // to ask first
	asked   map[string]int
	samples int // requests to a model
	expiry  *time.Timer
}

type question struct {
	ask    func(ctx context.Context, call *tool.Call) (any, error)
	answer chan any
}

// pendingCalls are the calls in progress at one server.
type pendingCalls struct {
	tokens atomic.Int64
	mu     sync.Mutex
	all    map[string]*pendingCall // by token
	parked map[string]*pendingCall // by id
}

func (fs *pendingCalls) newToken() string {
	return "toolhost-" + strconv.FormatInt(fs.tokens.Add(1), 10)
}

// identity identifies a call, also when the host repeats it with an answer.
func identity(name string, call *tool.Call) string {
	sum := sha256.New()
	for _, part := range []string{call.Session, call.RequestID, strconv.Itoa(call.Step), name, string(call.Params)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// resume returns the parked call that call continues, nil if it is new.
func (fs *pendingCalls) resume(name string, call *tool.Call) *pendingCall {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	id := identity(name, call)
	f := fs.parked[id]
	if f != nil {
		delete(fs.parked, id)
		f.expiry.Stop()
	}
	return f
}

func (fs *pendingCalls) begin(c *conn, name string, call *tool.Call, trace map[string]any) *pendingCall {
	ctx, cancel := context.WithCancel(context.Background())
	f := &pendingCall{
		conn: c, pendingCalls: fs, id: identity(name, call), token: fs.newToken(), session: call.Session, tool: name,
		params: call.Params, trace: trace,
		cancel: cancel, questions: make(chan *question), done: make(chan struct{}), asked: make(map[string]int),
	}
	fs.mu.Lock()
	fs.all[f.token] = f
	fs.mu.Unlock()
	go func() {
		defer cancel()
		func() {
			defer fault.Contain("called another MCP server", func(err error) { f.err = err })
			f.result, f.err = f.roundTrip(context.WithValue(ctx, pendingCallKey{}, f))
		}()
		fs.mu.Lock()
		delete(fs.all, f.token)
		fs.mu.Unlock()
		close(f.done)
	}()
	return f
}

type pendingCallKey struct{}

// follow waits for the result and passes on the server's questions.
func (f *pendingCall) follow(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	f.attach(ctx, call)
	defer f.attach(context.Background(), nil)
	for {
		if q := f.open; q != nil {
			f.open = nil
			if err := f.pass(ctx, call, q); err != nil {
				return nil, err
			}
		}
		select {
		case <-f.done:
			return f.result, f.err
		case f.open = <-f.questions:
		case <-ctx.Done():
			f.cancel()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				go f.conn.checkAlive()
			}
			return nil, ctx.Err()
		}
	}
}

func (f *pendingCall) attach(ctx context.Context, call *tool.Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx, f.call = ctx, call
}

// report passes progress on while the call is followed.
func (f *pendingCall) report(p tool.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.call != nil {
		f.call.Progress(f.ctx, p)
	}
}

// pass asks the caller a question. If the user must be asked first, the pending call waits for the answering
// call; any other error ends it.
func (f *pendingCall) pass(ctx context.Context, call *tool.Call, q *question) error {
	answer, err := q.ask(ctx, call)
	switch {
	case errors.Is(err, tool.ErrInputRequired):
		f.open = q
		f.park()
		return err
	case err != nil:
		f.cancel()
		return err
	}
	select {
	case q.answer <- answer:
	case <-f.done:
	}
	return nil
}

// park keeps the pending call for the call with the answer, for a while.
func (f *pendingCall) park() {
	fs := f.pendingCalls
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.parked) >= maxParked {
		for id, other := range fs.parked {
			other.cancel()
			delete(fs.parked, id)
			break
		}
	}
	fs.parked[f.id] = f
	f.expiry = time.AfterFunc(parkTime, func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if fs.parked[f.id] == f {
			delete(fs.parked, f.id)
			f.cancel()
		}
	})
}

func (fs *pendingCalls) abort() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all {
		f.cancel()
	}
	for id, f := range fs.parked {
		f.expiry.Stop()
		f.cancel()
		delete(fs.parked, id)
	}
}

// byToken returns the call with a progress token, or nil.
func (fs *pendingCalls) byToken(token any) *pendingCall {
	text, ok := token.(string)
	if !ok {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.all[text]
}

// asking returns the call for which the server asks. Up to revision 2025-11-25 a server does not say: it is the
// only call in progress, or the youngest if all are of one session; else nil, because the question could reach
// the wrong user.
func (fs *pendingCalls) asking(ctx context.Context, c *conn) *pendingCall {
	if f, ok := ctx.Value(pendingCallKey{}).(*pendingCall); ok {
		return f
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var found *pendingCall
	var age int64
	for _, f := range fs.all {
		if f.conn != c {
			continue
		}
		if found != nil && found.session != f.session {
			return nil
		}
		number, _ := strconv.ParseInt(f.token[len("toolhost-"):], 10, 64)
		if found == nil || number > age {
			found, age = f, number
		}
	}
	return found
}
