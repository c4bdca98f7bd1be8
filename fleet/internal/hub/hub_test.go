package hub

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

func connect(t *testing.T, o Options, server nats.InProcessConnProvider, name, role string) *nats.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	nc, err := fleet.Link{Server: server, KeyFile: filepath.Join(o.Store, "keys", name+"."+role+".nk"),
		Inbox: "_INBOX." + role + "." + name + ".x"}.Connect(ctx)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// A worker sees no other worker's calls and cannot write for another, and a revoked key is refused.
func TestWhatAWorkerMay(t *testing.T) {
	o := Options{Store: t.TempDir()}
	keys, err := OpenKeys(filepath.Join(o.Store, "keys"))
	require.NoError(t, err)
	_, err = keys.Add("liar", RoleWorker)
	require.NoError(t, err)
	ns, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	gateway := connect(t, o, ns, RoleGateway, RoleGateway)
	store, err := fleet.MakeStore(t.Context(), gateway, 1)
	require.NoError(t, err)
	liar := connect(t, o, ns, "liar", RoleWorker)
	honest := connect(t, o, ns, RoleWorker, RoleWorker)

	heard := make(chan string, 100)
	for _, subject := range []string{"work.>", "work.worker.*", "_INBOX.>", "back.>", "ask.>", "$KV.>", ">"} {
		_, _ = liar.Subscribe(subject, func(m *nats.Msg) { heard <- "liar hears " + m.Subject })
	}
	for _, subject := range []string{"work.worker.one", "alive.*"} {
		_, err = honest.Subscribe(subject, func(m *nats.Msg) { heard <- "worker" })
		require.NoError(t, err)
	}
	_, err = gateway.Subscribe("beat.*.*", func(m *nats.Msg) { heard <- m.Subject })
	require.NoError(t, err)
	_, err = gateway.Subscribe("back.gw.>", func(m *nats.Msg) { heard <- m.Subject })
	require.NoError(t, err)
	for _, nc := range []*nats.Conn{gateway, honest, liar} {
		require.NoError(t, nc.Flush())
	}
	require.NoError(t, gateway.Publish("work.worker.one", nil))
	for _, subject := range []string{"beat.worker.one", "back.gw.worker.one.x", "work.worker.one", "ask.worker.one",
		"alive.gw", "$KV.sessions.s", "$JS.API.STREAM.DELETE.KV_calls", "beat.liar.one"} { // the last is its own
		_ = liar.Publish(subject, nil)
	}
	require.NoError(t, liar.Flush())
	require.NoError(t, gateway.Flush())
	require.NoError(t, honest.Flush())
	got := map[string]bool{<-heard: true, <-heard: true}
	assert.Equal(t, map[string]bool{"worker": true, "beat.liar.one": true}, got)
	assert.Empty(t, heard)

	packs, err := store.Packs(t.Context(), "a")
	require.NoError(t, err)
	bucket := "packs-" + fleet.Digest("a")

	// The hub answers to whatever subject a request names, as if it had sent that
	// itself: a worker may request nothing.
	_, err = store.Sessions.Put(t.Context(), "s", []byte("good"))
	require.NoError(t, err)
	_, err = store.Calls.Put(t.Context(), "liar.one.s.c", []byte("forged"))
	require.NoError(t, err)
	for _, ask := range []string{"$JS.API.DIRECT.GET.KV_calls.$KV.calls.liar.one.s.c", "$JS.API.STREAM.INFO.KV_calls",
		"$JS.API.STREAM.MSG.GET.KV_calls", "$JS.API.CONSUMER.CREATE.OBJ_" + bucket, "$JS.API.INFO", "$KV.calls.liar.one.s.c",
		"$O." + bucket + ".C.x"} {
		for _, reply := range []string{"work.worker.one", "$KV.sessions.s", "beat.worker.one"} {
			_ = liar.PublishRequest(ask, reply, []byte("forged"))
		}
	}
	require.NoError(t, liar.Flush())
	stored := "$JS.API.DIRECT.GET.KV_calls.$KV.calls.liar.one.s.c"
	require.NoError(t, gateway.PublishRequest(stored, "work.worker.one", nil))
	assert.Equal(t, "worker", <-heard, "control: who may ask can name any subject")
	assert.Empty(t, heard)
	record, err := store.Sessions.Get(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, "good", string(record.Value()))
	info, err := packs.Status(t.Context())
	require.NoError(t, err)
	assert.Zero(t, info.Size())

	require.NoError(t, keys.Revoke("liar", RoleWorker))
	require.NoError(t, o.Reload(ns))
	require.Eventually(t, func() bool { return !liar.IsConnected() }, 2*time.Minute, 10*time.Millisecond)
	assert.True(t, honest.IsConnected())
}

// A gateway, which carries everything but decisions, neither hears nor can forge
// them, and a key of an unknown role is refused.
func TestGatewaysHaveNoPartInDecisions(t *testing.T) {
	o := Options{Store: t.TempDir()}
	_, err := OpenKeys(filepath.Join(o.Store, "keys"))
	require.NoError(t, err)
	ns, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	gateway := connect(t, o, ns, RoleGateway, RoleGateway)
	operator := connect(t, o, ns, RoleOperator, RoleOperator)
	worker := connect(t, o, ns, RoleWorker, RoleWorker)
	w := fleet.NewWorker(RoleWorker, "one")

	heard := make(chan string, 100)
	for _, subject := range []string{">", "decide.>", "decided.>", w.DecideSubject("*")} {
		_, _ = gateway.Subscribe(subject, func(m *nats.Msg) {
			if strings.HasPrefix(m.Subject, "decide") {
				heard <- "gateway hears " + m.Subject
			}
		})
	}
	_, err = worker.Subscribe(w.DecideSubject("*"), func(m *nats.Msg) { heard <- "worker hears " + string(m.Data) })
	require.NoError(t, err)
	_, err = operator.Subscribe("decided."+RoleOperator+".>", func(m *nats.Msg) {
		heard <- "operator hears " + string(m.Data)
	})
	require.NoError(t, err)
	everybody := []*nats.Conn{gateway, operator, worker}
	for _, nc := range everybody {
		require.NoError(t, nc.Flush())
	}
	_ = gateway.Publish(w.DecideSubject(RoleOperator), []byte("forged"))
	_ = gateway.Publish(w.DecidedSubject(RoleOperator, "x"), []byte("forged"))
	require.NoError(t, gateway.Flush())
	require.NoError(t, operator.Publish(w.DecideSubject(RoleOperator), []byte("question")))
	require.NoError(t, worker.Publish(w.DecidedSubject(RoleOperator, "x"), []byte("answer")))
	for _, nc := range []*nats.Conn{operator, worker, gateway, operator, worker} {
		require.NoError(t, nc.Flush())
	}
	got := map[string]bool{<-heard: true, <-heard: true}
	assert.Equal(t, map[string]bool{"worker hears question": true, "operator hears answer": true}, got)
	assert.Empty(t, heard)

	known := Key{Name: "a", Role: RoleGateway, Public: "U"}
	assert.Len(t, (&Keys{list: []Key{known}}).users(), 1, "control")
	known.Role = "janitor"
	assert.Empty(t, (&Keys{list: []Key{known}}).users())
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	keys, err := OpenKeys(dir)
	require.NoError(t, err)
	assert.Len(t, keys.List(), 3)
	for _, name := range []string{"", "A", "a.b", "a*", ">", "../x"} {
		_, err = keys.Add(name, RoleWorker)
		require.Error(t, err, name)
	}
	file, err := keys.Add("second", RoleWorker)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, keys.Revoke("second", RoleWorker))
	require.Error(t, keys.Revoke("second", RoleWorker))
	again, err := OpenKeys(dir)
	require.NoError(t, err)
	assert.Len(t, again.List(), 4)
	assert.NoFileExists(t, file)
}
