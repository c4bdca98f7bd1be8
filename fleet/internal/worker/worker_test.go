package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/host/tool"
)

const waits = time.Minute

// bench is a worker with one open session, whose requests answer takes, and a hub. The
// test acts as its gateways.
type bench struct {
	*Worker
	t       *testing.T
	gateway *nats.Conn
	session *session
	store   *fleet.Store
}

type answers func(http.ResponseWriter, *http.Request)

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) { a(w, r) }
func (answers) Close()                                             {}

func newBench(t *testing.T, answer answers) *bench {
	t.Helper()
	dir := t.TempDir()
	server, err := hub.Start(hub.Options{Store: dir})
	require.NoError(t, err)
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	connect := func(role, inbox string) *nats.Conn {
		nc, err := fleet.Link{Server: server, Inbox: inbox,
			KeyFile: filepath.Join(dir, "keys", role+"."+role+".nk")}.Connect(t.Context())
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		return nc
	}
	w := &Worker{options: Options{Slots: 1, Queue: 1, Sessions: 10}, name: fleet.NewWorker("worker", "one"),
		logger: slog.New(slog.DiscardHandler), sessions: make(map[string]*session),
		exchanges: make(map[string]*exchange), parts: make(map[string]*assembly), gateways: make(map[string]int),
		transfers: make(map[string]*transfer), slots: make(chan struct{}, 1), began: time.Now(), settled: make(map[string]bool),
		answering: make(chan struct{}, 1), obeying: make(chan struct{}, 1),
		calls: runningCalls{open: make(map[string]*runningCall), unsure: make(map[string]bool)}}
	w.life, w.end = context.WithCancel(t.Context())
	t.Cleanup(w.end)
	w.nc = connect(hub.RoleWorker, w.name.InboxPrefix())
	b := &bench{Worker: w, t: t, gateway: connect(hub.RoleGateway, "_INBOX.gateway.test")}
	b.store, err = fleet.MakeStore(t.Context(), b.gateway, 1)
	require.NoError(t, err)
	w.store = &store{worker: w, any: b.store.Calls}
	b.session = &session{worker: w, key: "s", ready: make(chan struct{}), handler: answer,
		workspace: &provided{shared: true}}
	b.session.life, b.session.end = context.WithCancel(w.life)
	b.session.looked.Store(int64(time.Hour))
	close(b.session.ready)
	w.sessions["s"] = b.session
	return b
}

// ask sends a request through a gateway and returns the frames of its answer.
func (b *bench) ask(gateway, id, method string, header http.Header, change ...func(*fleet.Envelope)) <-chan fleet.Frame {
	b.t.Helper()
	env := &fleet.Envelope{ID: id, Back: b.name.BackSubject(gateway, id), Session: "s", Method: method, URL: "/mcp",
		Header: header}
	if header.Get(fleet.CallHeader) != "" {
		header.Set(fleet.DispatchHeader, id)
	}
	for _, change := range change {
		change(env)
	}
	frames := make(chan fleet.Frame, 1000)
	_, err := b.gateway.Subscribe(env.Back, func(msg *nats.Msg) {
		var f fleet.Frame
		if json.Unmarshal(msg.Data, &f) == nil {
			frames <- f
		}
	})
	require.NoError(b.t, err)
	require.NoError(b.t, b.gateway.Flush())
	msg := nats.NewMsg("")
	msg.Header.Set(fleet.KindHeader, fleet.KindRequest)
	msg.Data = tool.MustMarshal(env)
	b.handleMessage(msg)
	return frames
}

func (b *bench) next(frames <-chan fleet.Frame) fleet.Frame {
	b.t.Helper()
	select {
	case f := <-frames:
		return f
	case <-time.After(waits):
		require.Fail(b.t, "no frame")
		return fleet.Frame{}
	}
}

func (b *bench) eventually(is func() bool) {
	b.t.Helper()
	require.Eventually(b.t, is, waits, time.Millisecond)
}

func (b *bench) using() int {
	b.session.mu.Lock()
	defer b.session.mu.Unlock()
	return b.session.using
}

func callHeader() http.Header { return http.Header{fleet.CallHeader: {"g:x"}} }

// A gateway that dies while its call prints more than a window of frames frees the slot
// and the session; when it returns it gets an error that its answer was cut off.
func TestGatewayThatIsSilent(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; r.Context().Err() == nil; i++ {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
	})
	streams := []<-chan fleet.Frame{b.ask("gw1", "one", "POST", callHeader()), b.ask("gw1", "two", "GET", http.Header{})}
	other := b.ask("gw2", "three", "GET", http.Header{})
	for _, frames := range append(streams, other) {
		for range fleet.Window {
			b.next(frames)
		}
	}
	assert.EqualValues(t, 1, b.running.Load())
	for range int(fleet.Lease/fleet.Heartbeat) + 1 {
		b.heard(&nats.Msg{Subject: fleet.GatewaySubject("gw2")})
		b.cutSilent(1)
	}
	b.eventually(func() bool { return b.running.Load() == 0 && b.using() == 1 })
	b.about(b.exchanges["one"], &nats.Msg{Header: nats.Header{fleet.KindHeader: {fleet.KindResume}, "N": {"64"}}})
	f := b.next(streams[0])
	assert.Equal(t, fleet.Frame{Seq: fleet.Window, Refused: fleet.RefusedCut, End: true}, f)
	b.about(b.exchanges["three"], &nats.Msg{Header: nats.Header{fleet.KindHeader: {fleet.KindAck}, "N": {"64"}}})
	assert.Equal(t, fleet.Window, b.next(other).Seq, "the other gateway's stream goes on")
}

// streams are the event streams of a session, each of which can be held once.
type streams struct {
	mu   sync.Mutex
	held map[string]bool
}

func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	name, _, resumes := strings.Cut(r.Header.Get("Last-Event-Id"), "_")
	if !resumes {
		name = r.Header.Get("Mcp-Name")
	}
	s.mu.Lock()
	held := s.held[name]
	s.held[name] = true
	s.mu.Unlock()
	if held {
		http.Error(w, "stream ID conflicts with ongoing stream", http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if !resumes { // has nothing new
		fmt.Fprintf(w, "event: message\nid: %s_0\ndata: {}\n\n", name)
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = false
}

func TestResumeTakesItsStreamOver(t *testing.T) {
	b := newBench(t, (&streams{held: make(map[string]bool)}).serve)
	first := b.ask("gw1", "one", "POST", http.Header{"Mcp-Name": {"a"}})
	other := b.ask("gw1", "two", "POST", http.Header{"Mcp-Name": {"b"}})
	assert.Equal(t, 200, b.next(first).Status)
	assert.Equal(t, 200, b.next(other).Status)
	for _, id := range []string{"three", "four"} {
		resumed := b.ask("gw2", id, "GET", http.Header{"Last-Event-Id": {"a_0"}})
		assert.Equal(t, 200, b.next(resumed).Status)
		assert.True(t, b.next(first).End)
		first = resumed
	}
	assert.Empty(t, other, "the stream that was not resumed goes on")
	assert.Equal(t, 2, b.using())
}

// A further attempt at a call waits for the end of the one that it replaces.
func TestAttemptReplacesAnother(t *testing.T) {
	var b *bench
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	b = newBench(t, func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(fleet.DispatchHeader)
		note("begins " + id)
		if id != "one" {
			return
		}
		ctx, end := b.exchangeOf(&call{dispatch: id}).begin(context.WithoutCancel(r.Context()))
		go func() {
			defer end()
			<-ctx.Done()
			note("ends " + id)
		}()
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	b.next(b.ask("gw", "one", "POST", callHeader()))
	b.next(b.ask("gw", "two", "POST", callHeader(), func(env *fleet.Envelope) { env.Replaces = "one" }))
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"begins one", "ends one", "begins two"}, order)
}

func TestClaims(t *testing.T) {
	b := newBench(t, nil)
	b.calls.doubt("doubted")
	for name, c := range map[string]struct {
		entry *fleet.Call
		fails string
	}{
		"the first":                       {nil, ""},
		"another attempt is void":         {&fleet.Call{State: fleet.CallVoid, Voided: []string{"before"}}, ""},
		"this attempt is void":            {&fleet.Call{State: fleet.CallVoid, Voided: []string{"now"}}, "not run here"},
		"all attempts are void":           {&fleet.Call{State: fleet.CallVoid, Voided: []string{fleet.EveryAttempt}}, "not run here"},
		"another runs":                    {&fleet.Call{State: fleet.CallRunning, Claim: "other"}, "not run here"},
		"another claimed it, but not ran": {&fleet.Call{State: fleet.CallRunning, Claim: "doubted"}, ""},
		"it has run":                      {&fleet.Call{State: fleet.CallDone, Claim: "other"}, "not run here"},
		"it is lost":                      {&fleet.Call{State: fleet.CallLost}, "not run here"},
	} {
		t.Run(name, func(t *testing.T) {
			this := &call{session: b.session, key: b.name.CallKey("s", name), dispatch: "now", claimID: "mine",
				tool: "append"}
			if c.entry != nil {
				_, err := b.Worker.store.any.Create(t.Context(), this.key, tool.MustMarshal(c.entry))
				require.NoError(t, err)
			}
			err := this.claim(t.Context())
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.NoError(t, this.read(t.Context()))
			assert.Equal(t, fleet.CallRunning, this.entry.State)
			assert.Equal(t, "mine", this.entry.Claim)
		})
	}
}

// refuse makes the store refuse claims, as a gateway does for another worker's session.
func refuse(t *testing.T, b *bench) {
	t.Helper()
	subject := b.name.StoreSubject(fleet.AnyGateway) + ".>"
	_, err := b.gateway.Subscribe(subject, func(msg *nats.Msg) {
		if strings.Contains(msg.Subject, "STREAM.INFO") {
			info, err := b.gateway.Request("$JS.API.STREAM.INFO.KV_calls", nil, waits)
			if err == nil {
				_ = msg.Respond(info.Data)
			}
			return
		}
		_ = msg.Respond(fleet.Foreign())
	})
	require.NoError(t, err)
	require.NoError(t, b.gateway.Flush())
	b.Worker.store.any, err = fleet.WorkerCalls(t.Context(), b.nc, b.name, fleet.AnyGateway)
	require.NoError(t, err)
}

// A call that did not run because the session is another worker's is sent back whole.
func TestCallThatIsToBeMadeElsewhere(t *testing.T) {
	var b *bench
	b = newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		refuse(t, b)
		c := &call{session: b.session, key: b.name.CallKey("s", "x"), dispatch: r.Header.Get(fleet.DispatchHeader), tool: "append"}
		err := b.session.beforeRun(context.WithValue(r.Context(), callKey{}, c), false)
		assert.ErrorContains(t, err, "was not run")
		fmt.Fprint(w, err)
	})
	frames := b.ask("gw", "one", "POST", callHeader())
	assert.Equal(t, 200, b.next(frames).Status)
	f := b.next(frames)
	assert.Equal(t, fleet.RefusedMoving, f.Refused)
	assert.Empty(t, f.Data)
}

func TestSlots(t *testing.T) {
	b := newBench(t, nil)
	release, ok := b.slot(t.Context())
	require.True(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan bool)
	go func() { _, ok := b.slot(ctx); waiting <- ok }()
	b.eventually(func() bool { return b.queued.Load() == 1 })
	_, ok = b.slot(t.Context())
	assert.False(t, ok, "one waits already")
	cancel()
	assert.False(t, <-waiting)
	release()
	_, ok = b.slot(t.Context())
	assert.True(t, ok)
	assert.EqualValues(t, 1, b.running.Load())
}

func TestRequestsInParts(t *testing.T) {
	b := newBench(t, nil)
	whole := tool.MustMarshal(fleet.Envelope{ID: "x", Session: "s", URL: strings.Repeat("u", 100)})
	part := func(n, of int) *fleet.Envelope {
		size := len(whole)/of + 1
		msg := nats.NewMsg("")
		msg.Header.Set("Id", "x")
		msg.Header.Set("Part", strconv.Itoa(n))
		msg.Header.Set("Parts", strconv.Itoa(of))
		msg.Data = whole[n*size : min(len(whole), (n+1)*size)]
		return b.assemble(msg)
	}
	assert.Nil(t, part(0, 3))
	assert.Nil(t, part(1, 3))
	assert.NotNil(t, part(2, 3))
	assert.Nil(t, part(0, 3))
	assert.Nil(t, part(2, 3), "one is missing")
	assert.Nil(t, part(1, 3), "and the rest is not taken")
	assert.Nil(t, part(1, 3))
	assert.NotNil(t, part(0, 1))
	assert.Empty(t, b.parts)
}

func TestDecisionsAreTakenOnce(t *testing.T) {
	b := newBench(t, nil)
	assert.NoError(t, b.takeDecision("a"))
	assert.ErrorContains(t, b.takeDecision("a"), "taken before")
	for i := range mostDecisions {
		b.settled[strconv.Itoa(i)] = true
	}
	assert.ErrorContains(t, b.takeDecision("b"), "all that it remembers")
}

// A pack goes part by part; a part is repeated if its answer is lost.
func TestTransfer(t *testing.T) {
	b := newBench(t, nil)
	pack := []byte(strings.Repeat("pack", fleet.PartSize/3))
	for name, size := range map[string]int64{"keep": int64(len(pack)), "give": 0} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "pack"))
			require.NoError(t, err)
			defer file.Close()
			if size > 0 {
				_, err = file.Write(pack)
				require.NoError(t, err)
			}
			sub, err := b.gateway.Subscribe(b.name.PackSubject(), func(msg *nats.Msg) {
				var ask fleet.Transfer
				_ = json.Unmarshal(msg.Data, &ask)
				back := b.name.BackSubject("gw", ask.ID)
				answers, _ := b.gateway.SubscribeSync(back)
				_ = b.gateway.Flush()
				var came []byte
				for at := 0; at < len(pack); at += fleet.PartSize {
					for range 2 { // as if the first answer were lost
						part := nats.NewMsg("")
						for header, value := range map[string]string{"Id": ask.ID, "Back": back, "N": strconv.Itoa(at)} {
							part.Header.Set(header, value)
						}
						if size == 0 {
							part.Data = pack[at:min(at+fleet.PartSize, len(pack))]
						}
						b.answerPart(part)
						answer, err := answers.NextMsg(waits)
						if assert.NoError(t, err) && size > 0 {
							came = append(came[:at], answer.Data...)
						}
					}
				}
				if size > 0 {
					assert.Equal(t, string(pack), string(came))
				}
				_ = msg.Respond([]byte("{}"))
			})
			require.NoError(t, err)
			defer func() { _ = sub.Unsubscribe() }()
			require.NoError(t, b.gateway.Flush())
			require.NoError(t, b.session.transfer(t.Context(), "digest", file, size))
			got, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			assert.Equal(t, string(pack), string(got))
			assert.Empty(t, b.transfers)
		})
	}
}

// Orders beyond the limit do not delay other messages.
func TestOrdersAreBounded(t *testing.T) {
	b := newBench(t, nil)
	order := func(action string) {
		msg := nats.NewMsg("")
		msg.Header.Set(fleet.KindHeader, fleet.KindControl)
		msg.Data = tool.MustMarshal(fleet.Control{Action: action})
		b.handleMessage(msg)
	}
	cordoned := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.cordoned
	}
	order("cordon")
	b.eventually(func() bool { return cordoned() && len(b.obeying) == 0 })
	b.obeying <- struct{}{}
	order("uncordon")
	assert.Len(t, b.obeying, 1)
	<-b.obeying
	order("nothing")
	b.eventually(func() bool { return len(b.obeying) == 0 })
	assert.True(t, cordoned(), "it was dropped")
}
