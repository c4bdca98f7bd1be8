package main

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

const limited = `
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  token_env = "TENANT_A"
  packs     = 2
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

// packs returns the hub's packs of each session of tenant a.
func (f *inside) packs(store *fleet.Store) map[string][]string {
	f.t.Helper()
	packs, err := store.Packs(f.t.Context(), "a")
	require.NoError(f.t, err)
	all, err := packs.List(f.t.Context())
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

// The hub keeps the pack that a session's record names, and others only briefly.
func TestOldPacksAreRemoved(t *testing.T) {
	f := newLimited(t, notes, plain)
	store := f.store()
	_, name, _ := send(t, f.url, tokenA, "", opening(""))
	last := ""
	for _, text := range []string{"one", "two", "three"} {
		_, _, answer := send(t, f.url, tokenA, name, noteMessage(text))
		require.Contains(t, answer, text)
		f.waitFor(func() bool { // only the newest is left
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

// A change is packed even if a call that changes nothing runs when the pack is due.
func TestPackAfterACallThatLooks(t *testing.T) {
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
	for range 50 { // longer than the delay of a pack
		post(t, f.url, name, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	}
	f.release("go")
	assert.Contains(t, testproc.Receive(t, ended, "the answer"), "seen")
	key := f.session()
	f.waitFor(func() bool {
		all, err := f.gateway.Sessions(t.Context())
		return err == nil && all[key].Pack != ""
	})
}
