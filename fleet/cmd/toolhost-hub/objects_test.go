package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/host/tool"
)

// long has a tool whose result is larger than a hub's message.
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

const twoTenants = `
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  token_env = "TENANT_A"
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

// store opens the hub's store with a key that may use it.
func (f *inside) store() *fleet.Store {
	f.t.Helper()
	nc, err := f.link(hub.RoleGateway).Connect(f.t.Context())
	require.NoError(f.t, err)
	f.t.Cleanup(nc.Close)
	store, err := fleet.MakeStore(f.t.Context(), nc, 1)
	require.NoError(f.t, err)
	return store
}

// end ends a session as its client.
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

func (f *inside) began() (n int) { return f.lines("began") }

// lines counts the lines of a file in all workspaces.
func (f *inside) lines(name string) (n int) {
	for _, dir := range f.workspaces() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			n += bytes.Count(data, []byte("x"))
		}
	}
	return n
}

// A result that is too large to store is given once, and its call runs once.
func TestLongResults(t *testing.T) {
	f, session, _ := newLong(t, plain)
	for _, tt := range []struct {
		name, id string
		letters  bool
		began    int
	}{
		{"first", "one", true, 1},
		{"asked again", "one", false, 1},
		{"second", "two", true, 2},
	} {
		_, _, text := send(t, f.url, tokenA, session, longMessage(tt.id, "q"))
		assert.Equal(t, tt.letters, strings.Contains(text, strings.Repeat("q", longBytes)), tt.name)
		assert.Equal(t, !tt.letters, strings.Contains(text, "was given once, but not kept"), "%s: %.300s", tt.name, text)
		assert.Equal(t, tt.began, f.began(), tt.name)
	}
}

// Through gateways a lying worker reaches only its own calls and nothing of other
// workers' sessions; no answer goes where it may not hear it.
func TestLiarAndTheStore(t *testing.T) {
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
	// What the liar may do, and the same for others.
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
		"STREAM.MSG.GET.KV_calls", "STREAM.PURGE.KV_calls", "CONSUMER.CREATE.KV_calls", "$O.packs-x.C.x"} {
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

	// Headers that make the store remove others' data.
	assert.True(t, ask(through+"$KV.calls.liar.x.s.c", nats.Header{"Nats-Rollup": {"all"}}, "{}"))
	_, err = store.Calls.Get(t.Context(), other)
	require.NoError(t, err, "the entry of the other's call")

	// An answer to another's subject.
	honest, err := f.link(hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(honest.Close)
	heard, err := honest.SubscribeSync("_INBOX.worker.worker.>")
	require.NoError(t, err)
	require.NoError(t, honest.Flush())
	get := through + "DIRECT.GET.KV_calls.$KV.calls.liar.x.s.c"
	for _, subject := range []string{get, "pack.liar.x", "ask.liar.x"} {
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

	// A call of another worker's session does not start, and its pack is neither sent nor stored.
	claim := nats.NewMsg(through + "$KV.calls.liar.x." + session1 + ".c")
	claim.Data = tool.MustMarshal(fleet.Call{State: fleet.CallRunning, Epoch: record.Epoch})
	answer, err := liar.RequestMsg(claim, waits)
	require.NoError(t, err)
	assert.Equal(t, string(fleet.Foreign()), string(answer.Data))
	for name, w := range map[string]struct {
		from *nats.Conn
		as   fleet.Worker
		ask  fleet.Transfer
	}{
		"have":             {liar, "liar.x", fleet.Transfer{ID: "x", Pack: record.Pack}},
		"keep":             {liar, "liar.x", fleet.Transfer{ID: "x", Pack: strings.Repeat("0", 64), Size: 4}},
		"another pack":     {honest, record.Worker, fleet.Transfer{ID: "x", Pack: strings.Repeat("0", 64)}},
		"an earlier epoch": {honest, record.Worker, fleet.Transfer{ID: "x", Pack: record.Pack, Epoch: record.Epoch - 1}},
		"a wide subject":   {honest, record.Worker, fleet.Transfer{ID: "x.>", Pack: record.Pack}},
	} {
		ask := w.ask
		if ask.Session = session1; name != "an earlier epoch" {
			ask.Epoch = record.Epoch
		}
		answer, err := w.from.Request(w.as.PackSubject(), tool.MustMarshal(ask), waits)
		require.NoError(t, err, name)
		var end fleet.Transferred
		require.NoError(t, json.Unmarshal(answer.Data, &end), name)
		if assert.NotNil(t, end.Error, name) {
			assert.Equal(t, tool.PermissionDenied, end.Error.Code, name)
		}
	}
}
