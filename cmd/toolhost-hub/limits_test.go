//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet"
	"github.com/toolhost/toolhost/internal/fleet/gateway"
	"github.com/toolhost/toolhost/internal/fleet/hub"
	"github.com/toolhost/toolhost/internal/fleet/worker"
	"github.com/toolhost/toolhost/internal/testneed"
)

// limited is a fleet.hcl with limits for tenant a.
const limited = `
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  token_env     = "TENANT_A"
  session_calls = 1
  packs         = 2
  session_packs = 1
}
tenant "b" {
  token_env = "TENANT_B"
}
`

func newLimited(t *testing.T, agent string, change func(*worker.Options)) *inside {
	t.Helper()
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	return newInside(t, agent, limited, change)
}

// A session over its limit of calls is told to try again, and nothing runs; other
// sessions go on.
func TestSessionsLimit(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f := newLimited(t, holds, plain)
	_, name, _ := send(t, f.url, tokenA, "", opening(""))
	_, other, _ := send(t, f.url, tokenA, "", opening(""))
	ended := make(chan string, 2)
	hold := func(session string) {
		_, _, text := send(t, f.url, tokenA, session, holdMessage("go"))
		ended <- text
	}
	go hold(name)
	f.waitFor(f.running(1))
	_, _, text := send(t, f.url, tokenA, name, holdMessage("go"))
	assert.Contains(t, text, `"toolhost/outcome":"busy"`)
	assert.Contains(t, text, "the session has 1 calls at one time, which is its limit")
	go hold(other)
	f.waitFor(f.running(2))
	f.release("go")
	assert.Contains(t, <-ended, "held")
	assert.Contains(t, <-ended, "held")
	f.waitFor(f.running(0))
	_, _, text = send(t, f.url, tokenA, name, holdMessage("go"))
	assert.Contains(t, text, "held", "there is room again")
}

// The long results of one session are bounded apart from those of its tenant.
func TestLongResultsOfASession(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	f := newInsideOf(t, long, limited, func(o *gateway.Options) { o.SessionResults = 2 << 20 }, plain)
	_, session, _ := send(t, f.url, tokenA, "", opening(""))
	_, other, _ := send(t, f.url, tokenA, "", opening(""))
	letters := strings.Repeat("q", longBytes)
	for _, tt := range []struct {
		name, session, id string
		given             bool
		says              string
	}{
		{"first", session, "one", true, ""},
		{"there is no room", session, "two", true, ""},
		{"there was no room", session, "two", false, "not kept: the session has all that the hub keeps"},
		{"another session", other, "one", true, ""},
		{"another session again", other, "one", true, `"stored"`},
		{"what was kept", session, "one", true, `"stored"`},
	} {
		_, _, text := send(t, f.url, tokenA, tt.session, longMessage(tt.id, "q"))
		assert.Equal(t, tt.given, strings.Contains(text, letters), tt.name)
		assert.True(t, strings.Contains(text, tt.says), "%s: %.300s", tt.name, text)
	}
	assert.Equal(t, 3, f.began())
}

// packs are the packs that the hub keeps of each session.
func (f *inside) packs(store *fleet.Store) map[string][]string {
	f.t.Helper()
	all, err := store.Packs.Objects.List(f.t.Context())
	if err != nil {
		require.ErrorIs(f.t, err, jetstream.ErrNoObjectsFound)
	}
	of := make(map[string][]string)
	for _, object := range all {
		session, digest, _ := strings.Cut(object.Name, "/")
		of[session] = append(of[session], digest)
	}
	return of
}

// The hub keeps the pack that a session's record names, and no other for long.
func TestOldPacksAreRemoved(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f := newLimited(t, notes, plain)
	store := f.store()
	_, name, _ := send(t, f.url, tokenA, "", opening(""))
	last := ""
	for _, text := range []string{"one", "two", "three"} {
		_, _, answer := send(t, f.url, tokenA, name, noteMessage(text))
		require.Contains(t, answer, text)
		f.waitFor(func() bool { // the newest is named, and nothing else is there
			all, err := f.gateway.Sessions(t.Context())
			require.NoError(t, err)
			for key, record := range all {
				packs := f.packs(store)[key]
				if record.Pack != last && len(packs) == 1 && packs[0] == record.Pack {
					last = record.Pack
					return true
				}
			}
			return false
		})
	}
	f.end(tokenA, name)
	f.waitFor(func() bool { return len(f.packs(store)) == 0 })
}

// A change is packed also where a call that changes nothing runs when it is to be.
func TestPackAfterACallThatLooks(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f := newInside(t, notes+`
tool "look" {
  description = "Wait for the file that is named. Returns: a word."
  risk        = "read_only"
  param "file" {}
  command { argv = ["sh", "-c", "while [ ! -e \"$1\" ]; do sleep 0.05; done; echo seen", "sh", param.file] }
}
`, "", plain)
	name := openSession(t, f.url)
	ended := make(chan string, 1)
	go func() {
		_, _, text := send(t, f.url, "", name, `{"jsonrpc":"2.0","id":8,"method":"tools/call",`+
			`"params":{"name":"look","arguments":{"file":"go"}}}`)
		ended <- text
	}()
	f.waitFor(f.running(1))
	require.Contains(t, post(t, f.url, name, noteMessage("one")), "one")
	for range 50 { // longer than it takes until a change is packed
		post(t, f.url, name, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	}
	f.release("go")
	assert.Contains(t, <-ended, "seen")
	key := f.session()
	f.waitFor(func() bool {
		all, err := f.gateway.Sessions(t.Context())
		return assert.NoError(t, err) && all[key].Pack != ""
	})
}

// A worker that lies does not fill the store with packs of a session that it has: their
// bytes and number are bounded, and what no record names is swept.
func TestPacksAreBounded(t *testing.T) {
	f := newLimited(t, notes, func(o *worker.Options) { o.PackAfter = 1 << 40 })
	store := f.store()
	nc, err := f.link(hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	var all map[string]fleet.Record
	open := func(token string) (session string) {
		status, _, text := send(t, f.url, token, "", opening(""))
		require.Equal(t, http.StatusOK, status, text)
		before := all
		all, err = f.gateway.Sessions(t.Context())
		require.NoError(t, err)
		for key := range all {
			if _, ok := before[key]; !ok {
				session = key
			}
		}
		require.NotEmpty(t, session)
		return session
	}
	one, two, three, foreign := open(tokenA), open(tokenA), open(tokenA), open(tokenB)
	ask := func(session, action, upload string, n int, data []byte) *tool.Error {
		t.Helper()
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		about := fleet.ObjectAsk{Action: action, Session: session, Epoch: all[session].Epoch, Pack: digest, Upload: upload,
			Part: n, Sum: digest, Size: int64(len(data))}
		if action == fleet.ObjectCommit {
			data = nil
		}
		answer, err := nc.RequestMsg(fleet.ObjectMsg(all[session].Worker.ObjectSubject(), about, data), waits)
		require.NoError(t, err)
		reply := new(fleet.ObjectReply)
		require.NoError(t, fleet.ReadObjectMsg(answer, reply))
		return reply.Error
	}
	part := bytes.Repeat([]byte("x"), fleet.PartSize)
	fill := func(session, upload string, most int) (n int, says string) {
		for n = range most {
			if refused := ask(session, fleet.ObjectPart, upload, n, part); refused != nil {
				assert.Equal(t, tool.TooLarge, refused.Code)
				return n, refused.Message
			}
		}
		return most, ""
	}
	n, says := fill(one, "first", 10)
	assert.Equal(t, 4, n)
	assert.Contains(t, says, "the session has all that the hub keeps")
	n, says = fill(two, "first", 3)
	assert.Equal(t, 3, n, says)
	n, says = fill(three, "first", 3)
	assert.Equal(t, 1, n)
	assert.Contains(t, says, "the tenant a has all that the hub keeps")
	n, says = fill(foreign, "first", 5)
	assert.Equal(t, 5, n, says)

	require.NoError(t, f.gateway.Sweep(t.Context(), time.Hour))
	n, _ = fill(one, "second", 1)
	assert.Zero(t, n, "what was begun may go on")
	require.NoError(t, f.gateway.Sweep(t.Context(), 0))

	// As many as there may be of one, of which its record names the first.
	for i, upload := range []string{"a", "b", "c", "d"} {
		data := []byte(upload)
		require.Nil(t, ask(foreign, fleet.ObjectPart, upload, 0, data), i)
		require.Nil(t, ask(foreign, fleet.ObjectCommit, upload, 0, data), i)
	}
	refused := ask(foreign, fleet.ObjectPart, "e", 0, []byte("e"))
	require.NotNil(t, refused)
	assert.Contains(t, refused.Message, "has all the packs that the hub keeps of it, 4")
	const named = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of "a"
	data, err := json.Marshal(fleet.Ask{Session: foreign, Epoch: all[foreign].Epoch, Pack: named, Packed: time.Now()})
	require.NoError(t, err)
	msg := nats.NewMsg(all[foreign].Worker.AskSubject())
	msg.Data = data
	_, err = nc.RequestMsg(msg, waits)
	require.NoError(t, err)
	require.NoError(t, f.gateway.Sweep(t.Context(), 0))
	assert.Equal(t, map[string][]string{foreign: {named}}, f.packs(store))
	assert.Nil(t, ask(foreign, fleet.ObjectPart, "e", 0, []byte("e")), "there is room again")
}
