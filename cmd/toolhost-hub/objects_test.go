//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet"
	"github.com/toolhost/toolhost/internal/fleet/hub"
	"github.com/toolhost/toolhost/internal/fleet/worker"
	"github.com/toolhost/toolhost/internal/testneed"
)

// long has a tool whose result is larger than a message of the hub.
const long = `
tool "long" {
  description = "Give many letters. Returns: them."
  risk        = "dangerous"
  param "letter" {}
  command {
    argv = ["sh", "-c", "echo x >> began; head -c 1300000 /dev/zero | tr '\\0' \"$1\"", "sh", param.letter]
  }
}
limits {
  output = "4MiB"
}
policy {
  dangerous = "allow"
}
`

const longBytes = 1300000

// twoTenants is a fleet.hcl in which the hub keeps two long results of tenant a.
const twoTenants = `
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  token_env = "TENANT_A"
  results   = 3
}
tenant "b" {
  token_env = "TENANT_B"
}
`

func longMessage(id, letter string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"request_id":%q},`+
		`"name":"long","arguments":{"letter":%q}}}`, id, letter)
}

// newLong is a fleet with a session of tenant a, and the hub's store.
func newLong(t *testing.T, change func(*worker.Options)) (f *inside, session string, store *fleet.Store) {
	t.Helper()
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	f = newInside(t, long, twoTenants)
	w := f.start1(discard, change)
	t.Cleanup(w.Kill) // one that cannot reach the hub would wait for its calls
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
	_, session, _ = send(t, f.url, tokenA, "", opening(""))
	require.NotEmpty(t, session)
	return f, session, f.store()
}

// store is the hub's, for who may use it.
func (f *inside) store() *fleet.Store {
	f.t.Helper()
	nc, err := f.link(hub.RoleGateway).Connect(f.t.Context())
	require.NoError(f.t, err)
	f.t.Cleanup(nc.Close)
	store, err := fleet.MakeStore(f.t.Context(), nc, 1)
	require.NoError(f.t, err)
	return store
}

// end has a client end its session.
func (f *inside) end(token, session string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodDelete, f.url, nil)
	require.NoError(f.t, err)
	r.Header.Set("Mcp-Session-Id", session)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(f.t, err)
	require.NoError(f.t, answer.Body.Close())
}

// parts are the subjects of all parts of long results.
func parts(t *testing.T, store *fleet.Store) map[string]uint64 {
	t.Helper()
	all, err := store.Results.Parts(t.Context(), ">")
	require.NoError(t, err)
	return all
}

// began counts the calls that ran in all workspaces.
func (f *inside) began() (n int) {
	for _, dir := range f.workspaces() {
		data, err := os.ReadFile(filepath.Join(dir, "began"))
		if err == nil {
			n += bytes.Count(data, []byte("x"))
		}
	}
	return n
}

// A result that is larger than a message is kept, for its session alone, up to what
// its tenant may have, and goes with the session.
func TestLongResults(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f, session, store := newLong(t, plain)
	_, other, _ := send(t, f.url, tokenB, "", opening(""))
	for _, tt := range []struct {
		name, token, session, message string
		status, letters, began        int
		says                          string
	}{
		{"first", tokenA, session, longMessage("one", "q"), 200, longBytes, 1, ""},
		{"asked again", tokenA, session, longMessage("one", "q"), 200, longBytes, 1, `"stored"`},
		{"another tenant in the session", tokenB, session, longMessage("one", "q"), 404, 0, 1, "no such session"},
		{"another tenant's own", tokenB, other, longMessage("one", "q"), 200, longBytes, 2, ""},
		{"second", tokenA, session, longMessage("two", "q"), 200, longBytes, 3, ""},
		{"there is no room", tokenA, session, longMessage("three", "q"), 200, longBytes, 4, ""},
		{"there was no room", tokenA, session, longMessage("three", "q"), 200, 0, 4, "not kept"},
		{"room for others", tokenB, other, longMessage("two", "q"), 200, longBytes, 5, ""},
		{"what was kept", tokenA, session, longMessage("one", "q"), 200, longBytes, 5, `"stored"`},
	} {
		status, _, text := send(t, f.url, tt.token, tt.session, tt.message)
		assert.Equal(t, tt.status, status, tt.name)
		assert.True(t, strings.Contains(text, tt.says), "%s: %.300s", tt.name, text)
		if tt.letters > 0 {
			assert.True(t, strings.Contains(text, strings.Repeat("q", longBytes)), tt.name)
		} else {
			assert.Less(t, len(text), 10_000, tt.name)
		}
		assert.Equal(t, tt.began, f.began(), tt.name)
	}
	of := func(tenant string) (n int) {
		for subject := range parts(t, store) {
			if strings.HasPrefix(subject, "$O.results.C."+fleet.Digest(tenant)+".") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, of("b"))
	require.Equal(t, 2, of("a"), "and nothing of the one that had no room")
	f.end(tokenA, session)
	f.waitFor(func() bool { return of("a") == 0 })
	assert.Equal(t, 2, of("b"))
}

// spoil changes a byte of what the hub keeps with that text in it.
func spoil(t *testing.T, store *fleet.Store, text string) {
	t.Helper()
	spoilt := 0
	for subject := range parts(t, store) {
		var kept [][]byte
		for from := uint64(1); ; {
			msg, err := store.Results.Stream.GetMsg(t.Context(), from, jetstream.WithGetMsgSubject(subject))
			if err != nil {
				require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
				break
			}
			kept, from = append(kept, msg.Data), msg.Sequence+1
		}
		if !bytes.Contains(kept[1], []byte(text)) {
			continue
		}
		kept[1][100]++
		spoilt++
		require.NoError(t, store.Results.Stream.Purge(t.Context(), jetstream.WithPurgeSubject(subject)))
		for _, data := range kept {
			_, err := store.Results.JS.Publish(t.Context(), subject, data)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 1, spoilt)
}

// A result that was changed in the hub's store is not given, by the worker that
// made it or by a gateway, and its call is not made again.
func TestChangedResult(t *testing.T) {
	f, session, store := newLong(t, plain)
	for _, id := range []string{"good", "bad"} {
		_, _, text := send(t, f.url, tokenA, session, longMessage(id, id[:1]))
		require.True(t, strings.Contains(text, strings.Repeat(id[:1], longBytes)))
	}
	spoil(t, store, "bbbb")
	check := func(where string) {
		_, _, text := send(t, f.url, tokenA, session, longMessage("good", "g"))
		assert.True(t, strings.Contains(text, strings.Repeat("g", longBytes)), where)
		_, _, text = send(t, f.url, tokenA, session, longMessage("bad", "b"))
		assert.True(t, strings.Contains(text, "not what was stored"), "%s: %.300s", where, text)
		assert.False(t, strings.Contains(text, "bbbbbbbb"), where)
		assert.Equal(t, 2, f.began(), where)
	}
	check("by the worker")
	all, err := f.gateway.Sessions(t.Context())
	require.NoError(t, err)
	for key, before := range all {
		require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
		f.waitFor(func() bool {
			all, err := f.gateway.Sessions(t.Context())
			return assert.NoError(t, err) && all[key].Worker != before.Worker
		})
	}
	_, _, text := send(t, f.url, tokenA, session, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	require.Contains(t, text, "long", "the session is open again")
	check("by the gateway")
}

// dying is a connection that ends at the end of an upload, as its machine does.
type dying struct {
	net.Conn
	dead *atomic.Bool
}

func (d dying) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"action":"commit"`)) {
		d.dead.Store(true)
	}
	if d.dead.Load() {
		_ = d.Close()
		return 0, net.ErrClosed
	}
	return d.Conn.Write(p)
}

// A worker that is lost while it keeps a result leaves a call that is lost, and
// parts that are swept.
func TestWorkerDiesWhileItKeepsAResult(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	var dead atomic.Bool
	f, session, store := newLong(t, func(o *worker.Options) {
		url := strings.TrimPrefix(o.Link.URL, "nats://")
		o.PackAfter = 1 << 40 // of the result alone
		o.Link.Dial = func() (net.Conn, error) {
			if dead.Load() {
				return nil, net.ErrClosed
			}
			conn, err := net.Dial("tcp", url)
			return dying{conn, &dead}, err
		}
	})
	done := make(chan string, 1)
	go func() {
		_, _, text := send(t, f.url, tokenA, session, longMessage("one", "q"))
		done <- text
	}()
	f.waitFor(dead.Load)
	f.start1(discard, plain)
	text := <-done
	assert.True(t, strings.Contains(text, `"lost"`), "%.300s", text)
	assert.False(t, strings.Contains(text, "qqqq"))
	_, _, text = send(t, f.url, tokenA, session, longMessage("one", "q"))
	assert.True(t, strings.Contains(text, `"lost"`), "%.300s", text)
	_, _, text = send(t, f.url, tokenA, session, longMessage("two", "q"))
	require.True(t, strings.Contains(text, strings.Repeat("q", longBytes)))

	require.Len(t, parts(t, store), 2)
	require.NoError(t, f.gateway.Sweep(t.Context(), waits*100))
	assert.Len(t, parts(t, store), 2, "an upload may still go on")
	require.NoError(t, f.gateway.Sweep(t.Context(), 0))
	assert.Len(t, parts(t, store), 1)
	_, _, text = send(t, f.url, tokenA, session, longMessage("two", "q"))
	assert.True(t, strings.Contains(text, strings.Repeat("q", longBytes)), "what was completed is there")
	assert.True(t, strings.Contains(text, `"stored"`))
}

// A worker that lies reaches, through gateways, nothing but its own calls, and nothing
// of sessions that are another's; and no answer goes where it may not hear it.
func TestLiarAndTheStore(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f, session, store := newLong(t, plain)
	_, _, text := send(t, f.url, tokenA, session, longMessage("one", "q"))
	require.True(t, strings.Contains(text, "qqqq"))
	_, liar := f.liar()
	all, err := f.gateway.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	var session1 string
	var record fleet.Record
	for session1, record = range all {
	}
	f.waitFor(func() bool {
		all, err := f.gateway.Sessions(t.Context())
		require.NoError(t, err)
		record = all[session1]
		return record.Pack != ""
	})
	call := fleet.Digest(fleet.NamedCall + "one")

	// What the liar may do, and the same about others.
	through := fleet.Worker("liar.x").StoreSubject(fleet.AnyGateway) + "."
	ask := func(subject string, header nats.Header, data string) bool {
		msg := nats.NewMsg(subject)
		msg.Header, msg.Data = header, []byte(data)
		_, err := liar.RequestMsg(msg, waits)
		return err == nil
	}
	assert.True(t, ask(through+"$KV.calls.liar.x.s.c", nil, "{}"), "control")
	assert.True(t, ask(through+"DIRECT.GET.KV_calls.$KV.calls.liar.x.s.c", nil, ""), "control")
	assert.True(t, ask(through+"STREAM.MSG.GET.KV_calls", nil, `{"last_by_subj":"$KV.calls.liar.x.s.c"}`), "control")
	other := string(record.Worker) + "." + session1 + "." + call
	answers, err := liar.SubscribeSync("_INBOX.worker.liar.answers")
	require.NoError(t, err)
	for _, subject := range []string{"$KV.calls." + other, "DIRECT.GET.KV_calls.$KV.calls." + other,
		"$KV.sessions." + session1, "DIRECT.GET.KV_sessions.$KV.sessions." + session1, "STREAM.INFO.KV_sessions",
		"STREAM.MSG.GET.KV_calls", "STREAM.PURGE.KV_calls", "CONSUMER.CREATE.KV_calls", "$O.packs.C.x"} {
		require.NoError(t, liar.PublishRequest(through+subject, "_INBOX.worker.liar.answers",
			[]byte(`{"last_by_subj":"$KV.calls.`+other+`"}`)))
	}
	require.NoError(t, liar.PublishRequest(through+"STREAM.MSG.GET.KV_calls", "_INBOX.worker.liar.answers",
		[]byte(`{"seq":1}`)))
	_, err = answers.NextMsg(refusedWithin)
	require.ErrorIs(t, err, nats.ErrTimeout)
	require.NoError(t, liar.PublishRequest(through+"STREAM.INFO.KV_calls", "_INBOX.worker.liar.answers", nil))
	_, err = answers.NextMsg(waits)
	require.NoError(t, err, "control")

	// Headers that have the store remove what is another's.
	assert.True(t, ask(through+"$KV.calls.liar.x.s.c", nats.Header{"Nats-Rollup": {"all"}}, "{}"))
	_, err = store.Calls.Get(t.Context(), other)
	require.NoError(t, err, "the entry of the other's call")

	// An answer to where another hears.
	honest, err := f.link(hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(honest.Close)
	heard, err := honest.SubscribeSync("_INBOX.worker.worker.>")
	require.NoError(t, err)
	require.NoError(t, honest.Flush())
	get := through + "DIRECT.GET.KV_calls.$KV.calls.liar.x.s.c"
	for _, subject := range []string{get, "object.liar.x", "ask.liar.x"} {
		for _, reply := range []string{"$KV.sessions." + session1, "_INBOX.worker.worker.x",
			"work." + string(record.Worker)} {
			require.NoError(t, liar.PublishRequest(subject, reply, []byte("{}")))
		}
	}
	assert.True(t, ask(get, nil, ""), "what was sent before has been handled")
	_, err = heard.NextMsg(refusedWithin)
	require.ErrorIs(t, err, nats.ErrTimeout)
	after, err := f.gateway.Sessions(t.Context())
	require.NoError(t, err)
	assert.Equal(t, record, after[session1])

	// Objects of a session that is another's, and the worker's own.
	object := func(from *nats.Conn, w fleet.Worker, about fleet.ObjectAsk) *tool.Error {
		msg := fleet.ObjectMsg(w.ObjectSubject(), about, []byte("data"))
		answer, err := from.RequestMsg(msg, waits)
		require.NoError(t, err)
		reply := new(fleet.ObjectReply)
		require.NoError(t, fleet.ReadObjectMsg(answer, reply))
		return reply.Error
	}
	read := fleet.ObjectAsk{Action: fleet.ObjectRead, Session: session1, Epoch: record.Epoch, Call: call}
	pack, foreign, old := read, read, read
	pack.Pack, foreign.Pack, old.Epoch = record.Pack, strings.Repeat("0", 64), record.Epoch-1
	file := read
	file.File = "toolhost://run/mcp-a.1/stdout"
	part, commit := read, read
	part.Action, part.Upload, commit.Action, commit.Upload = fleet.ObjectPart, "u", fleet.ObjectCommit, "u"
	for name, about := range map[string]fleet.ObjectAsk{"read": read, "pack": pack, "file": file, "part": part,
		"commit": commit} {
		refused := object(liar, "liar.x", about)
		if assert.NotNil(t, refused, name) {
			assert.Equal(t, tool.PermissionDenied, refused.Code, name)
		}
	}
	assert.Nil(t, object(honest, record.Worker, read), "control")
	assert.Nil(t, object(honest, record.Worker, pack), "control")
	if missing := object(honest, record.Worker, file); assert.NotNil(t, missing, "control") {
		assert.Equal(t, tool.NotFound, missing.Code)
	}
	for name, about := range map[string]fleet.ObjectAsk{"another pack": foreign, "an earlier epoch": old} {
		refused := object(honest, record.Worker, about)
		if assert.NotNil(t, refused, name) {
			assert.Equal(t, tool.PermissionDenied, refused.Code, name)
		}
	}

	// A pack is what its name says, or is none.
	spoilt := part
	spoilt.Pack = strings.Repeat("0", 64)
	require.Nil(t, object(honest, record.Worker, spoilt))
	spoilt.Action, spoilt.Size = fleet.ObjectCommit, 4
	spoilt.Sum = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7" // of "data"
	assert.NotNil(t, object(honest, record.Worker, spoilt))
	_, err = store.Packs.Objects.GetInfo(t.Context(), session1+"/"+spoilt.Pack)
	require.ErrorIs(t, err, jetstream.ErrObjectNotFound)
	spoilt.Action, spoilt.Pack, spoilt.Upload = fleet.ObjectPart, spoilt.Sum, "v"
	require.Nil(t, object(honest, record.Worker, spoilt))
	spoilt.Action = fleet.ObjectCommit
	assert.Nil(t, object(honest, record.Worker, spoilt), "control")
}
