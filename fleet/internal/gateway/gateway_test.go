package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/host/tool"
)

const waits = time.Minute

// bench is a gateway whose only worker is the test.
type bench struct {
	*Gateway
	t      *testing.T
	worker *nats.Conn
	asked  chan fleet.Envelope
}

const worker = fleet.Worker("worker.one")

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	server, err := hub.Start(hub.Options{Store: dir})
	require.NoError(t, err)
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	link := func(role string) fleet.Link {
		return fleet.Link{Server: server, KeyFile: filepath.Join(dir, "keys", role+"."+role+".nk")}
	}
	g, err := Start(t.Context(), Options{Link: link(hub.RoleGateway), Config: Open(fleet.Workspace{Empty: true}),
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	b := &bench{Gateway: g, t: t, asked: make(chan fleet.Envelope, 100)}
	l := link(hub.RoleWorker)
	l.Inbox = worker.InboxPrefix()
	b.worker, err = l.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(b.worker.Close)
	_, err = b.worker.Subscribe(worker.WorkSubject(), func(msg *nats.Msg) {
		var env fleet.Envelope
		if msg.Header.Get(fleet.KindHeader) == fleet.KindRequest && json.Unmarshal(msg.Data, &env) == nil {
			b.asked <- env
		}
	})
	require.NoError(t, err)
	b.beat()
	return b
}

func (b *bench) beat() {
	b.t.Helper()
	require.NoError(b.t, b.worker.Publish(worker.BeatSubject(), tool.MustMarshal(fleet.Beat{Slots: 1})))
	require.Eventually(b.t, func() bool { return len(b.Workers()) == 1 }, waits, time.Millisecond)
}

func (b *bench) beats() {
	go func() {
		for b.t.Context().Err() == nil {
			_ = b.worker.Publish(worker.BeatSubject(), tool.MustMarshal(fleet.Beat{Slots: 1}))
			time.Sleep(fleet.Heartbeat / 2)
		}
	}()
}

// post sends a client's message with a session, and returns a channel for its answer.
func (b *bench) post(message string) <-chan *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, "/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Session-Id", "session")
	_, err := b.write(b.t.Context(), fleet.Digest("session\x00session"), &fleet.Record{Tenant: "default",
		Worker: worker, Epoch: 1, Workspace: fleet.Workspace{Empty: true}}, 0)
	require.NoError(b.t, err)
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		if r := b.Authenticate(w, r); r != nil {
			b.Serve(w, r, []byte(message))
		}
		answer <- w
	}()
	return answer
}

func (b *bench) answer(env fleet.Envelope, frames ...fleet.Frame) {
	b.t.Helper()
	for _, f := range frames {
		require.NoError(b.t, b.worker.Publish(env.Back, tool.MustMarshal(f)))
	}
}

func wait[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(waits):
		require.Fail(t, "nothing came")
	}
	return got
}

const appendCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"append","arguments":{}}}`

func digestOf(message string) string {
	q := &request{body: []byte(message)}
	_ = json.Unmarshal(q.body, &q.message)
	return q.digest()
}

// A lost worker does not cost a request a lease.
func TestLostWorkerIsRemembered(t *testing.T) {
	b := newBench(t)
	require.NotNil(t, b.alive(t.Context(), worker))
	require.Eventually(t, func() bool { return len(b.Workers()) == 0 }, waits, time.Millisecond)
	began := time.Now()
	for range 100 {
		assert.Nil(t, b.alive(t.Context(), worker))
	}
	assert.Less(t, time.Since(began), settled/2)
	b.beat()
	assert.NotNil(t, b.alive(t.Context(), worker), "it is back")
}

// A gateway that a worker took for lost waits for the result of its call.
func TestAnswerThatWasCutOff(t *testing.T) {
	b := newBench(t)
	b.beats()
	answer := b.post(appendCall)
	env := wait(t, b.asked)
	key := worker.CallKey(env.Session, env.Header.Get(fleet.CallHeader))
	entry := fleet.Call{State: fleet.CallRunning, Digest: digestOf(appendCall), Tool: "append", Claim: "c"}
	revision, err := b.store.Calls.Create(t.Context(), key, tool.MustMarshal(entry))
	require.NoError(t, err)
	b.answer(env, fleet.Frame{Refused: fleet.RefusedCut, End: true})
	time.Sleep(2 * fleet.Heartbeat) // it must not count as lost meanwhile
	entry.State, entry.Result = fleet.CallDone, []byte(`{"content":[{"type":"text","text":"done"}]}`)
	_, err = b.store.Calls.Update(t.Context(), key, tool.MustMarshal(entry), revision)
	require.NoError(t, err)
	got := wait(t, answer)
	assert.Contains(t, got.Body.String(), `"text":"done"`)
	assert.Empty(t, b.asked, "it is made once")
}

// A call that the worker did not run is sent again, replacing the first attempt.
func TestAttemptIsMadeAgain(t *testing.T) {
	b := newBench(t)
	b.beats()
	answer := b.post(appendCall)
	first := wait(t, b.asked)
	b.answer(first, fleet.Frame{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}},
		fleet.Frame{Seq: 1, Refused: fleet.RefusedCut, End: true})
	second := wait(t, b.asked)
	assert.Equal(t, first.ID, second.Replaces)
	assert.Equal(t, first.Header.Get(fleet.CallHeader), second.Header.Get(fleet.CallHeader))
	entry, _, err := b.readCall(t.Context(), worker.CallKey(first.Session, first.Header.Get(fleet.CallHeader)))
	require.NoError(t, err)
	assert.True(t, entry.IsVoid(first.ID), "the first may not run any more")
	assert.False(t, entry.IsVoid(second.ID))
	b.answer(second, fleet.Frame{Refused: fleet.RefusedMoving, End: true})
	third := wait(t, b.asked)
	b.answer(third, fleet.Frame{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Data: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`), End: true})
	assert.Contains(t, wait(t, answer).Body.String(), `"result":{}`)
}

type client struct {
	*httptest.ResponseRecorder
	flushed chan bool
}

func (c client) Flush() { c.flushed <- true }

// A client that hangs up once it has the answer to initialize keeps its session; without the answer no record is
// left.
func TestClientHangsUpAtOpening(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.beats()
			ctx, hangUp := context.WithCancel(t.Context())
			const message = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(message))
			w, ended := client{httptest.NewRecorder(), make(chan bool, 1)}, make(chan bool, 1)
			q := b.Authenticate(w, r)
			require.NotNil(t, q)
			go func() { b.Serve(w, q, []byte(message)); ended <- true }()
			env := wait(t, b.asked)
			if answered {
				b.answer(env, fleet.Frame{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
					Data: []byte("data: {}\n\n")})
				wait(t, w.flushed)
			}
			hangUp()
			wait(t, ended)
			_, _, err := b.read(t.Context(), env.Session)
			if answered {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, jetstream.ErrKeyNotFound)
			}
		})
	}
}

// A call with progress has no limit, one without ends.
func TestCallLimit(t *testing.T) {
	for name, frames := range map[string]int{"progress": 10, "silence": 0} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.beats()
			b.options.CallLimit = time.Second
			answer := b.post(appendCall)
			env := wait(t, b.asked)
			events := http.Header{"Content-Type": {"text/event-stream"}}
			for i := range frames {
				b.answer(env, fleet.Frame{Seq: i, Status: 200 * (1 - min(i, 1)), Header: events, Data: []byte(": x\n\n")})
				time.Sleep(200 * time.Millisecond)
			}
			if frames > 0 {
				b.answer(env, fleet.Frame{Seq: frames, Data: []byte("data: the result\n\n"), End: true})
				assert.Contains(t, wait(t, answer).Body.String(), "the result")
				return
			}
			assert.Contains(t, wait(t, answer).Body.String(), "append has shown no progress for 1s")
		})
	}
}

// A flooding worker occupies no more than the limit of concurrent messages.
func TestMessagesAreBounded(t *testing.T) {
	b := newBench(t)
	running, release := make(chan int, 10), make(chan struct{})
	handle := b.bounded(2, func(msg *nats.Msg) {
		running <- 1
		<-release
	})
	ended := make(chan string, 1)
	go func() {
		for i := range 3 {
			handle(&nats.Msg{Subject: fmt.Sprint(i)})
		}
		ended <- "all taken"
	}()
	wait(t, running)
	wait(t, running)
	assert.Empty(t, ended, "the third waits")
	release <- struct{}{}
	assert.Equal(t, "all taken", wait(t, ended))
	close(release)
}
