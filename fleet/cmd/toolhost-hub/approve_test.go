package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/operator"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func (f *inside) operator(key string) *operator.Operator {
	f.t.Helper()
	o, err := operator.Connect(f.t.Context(), f.linkAs(key, hub.RoleOperator), key)
	require.NoError(f.t, err)
	f.t.Cleanup(o.Close)
	return o
}

func (f *inside) linkAs(key, role string) fleet.Link {
	return fleet.Link{URL: f.hub.ClientURL(), Inbox: "_INBOX." + role + "." + key + ".test",
		KeyFile: filepath.Join(f.options.Store, "keys", key+"."+role+".nk")}
}

// recorded returns the lines of records on this machine about an event.
func (f *inside) recorded(event string) (lines []string) {
	f.t.Helper()
	testproc.Files(f.t, filepath.Join(f.home, "state"), func(_ string, content []byte) {
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, `"`+event+`"`) && strings.HasSuffix(line, "\n") {
				lines = append(lines, line)
			}
		}
	})
	return lines
}

// find waits until an operator sees a waiting call: a worker may list its own late.
func (f *inside) find(o *operator.Operator, id string) (call fleet.Waiting) {
	f.t.Helper()
	f.waitFor(func() bool {
		var err error
		call, err = o.Find(f.t.Context(), id)
		return err == nil
	})
	return call
}

var idOf = regexp.MustCompile("toolhost fleet approve ([a-z0-9]+)`")

// waitingCall makes a call without a user to ask, and returns its ID.
func waitingCall(t *testing.T, s *mcp.ClientSession, word string) string {
	t.Helper()
	result := callTool(t, s, "note", note(word), nil)
	require.True(t, result.IsError)
	id := idOf.FindStringSubmatch(text(result))
	require.NotNil(t, id, text(result))
	return id[1]
}

// An operator sees all workers' waiting calls, and what each would do; an approved
// call runs once, only in its session, and the record names the operator.
func TestApproveFromAnywhere(t *testing.T) {
	f := newInside(t, asks, "", plain, plain)
	one := session(t, f.url+"?session=one")
	first := waitingCall(t, one, "one")
	f.waitFor(func() bool { // so that the other worker has less load
		all := 0
		for _, beat := range f.gateway.Workers() {
			all += beat.Sessions
		}
		return all == 1
	})
	two := openSession(t, f.url)
	said := post(t, f.url, two, noteMessage("two"))
	second := idOf.FindStringSubmatch(said)[1]
	o := f.operator(hub.RoleOperator)
	var all []fleet.Waiting
	f.waitFor(func() bool { all, _ = o.Waiting(t.Context()); return len(all) == 2 })
	assert.NotEqual(t, all[0].Worker, all[1].Worker)
	assert.NotEqual(t, all[0].Session, all[1].Session)
	assert.NotContains(t, string(tool.MustMarshal(all)), two, "who knows that could use the session")

	call := f.find(o, strings.ToUpper(first))
	assert.Equal(t, "note text=one", call.Call)
	assert.Equal(t, "default", call.Tenant)
	look, err := o.Look(t.Context(), call)
	require.NoError(t, err)
	body := look.Question.Body(100)
	assert.Contains(t, body, "Command, word by word:")
	assert.Contains(t, body, "notes.txt")
	assert.Equal(t, "note", look.Question.Tool)

	other := *look
	other.Shown = "of something else"
	require.ErrorContains(t, o.Approve(t.Context(), &other), "is not what was shown")
	var approved atomic.Int32
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if o.Approve(t.Context(), look) == nil {
				approved.Add(1)
			}
		})
	}
	both.Wait()
	assert.Equal(t, int32(1), approved.Load(), "decided once")
	assert.Contains(t, post(t, f.url, two, noteMessage("one")), "needs approval", "not in another session")
	result := callTool(t, one, "note", note("one"), nil)
	require.False(t, result.IsError, text(result))
	assert.Equal(t, "one", strings.TrimSpace(text(result)))
	again := callTool(t, one, "note", note("one"), nil)
	assert.True(t, again.IsError, "and only once: %s", text(again))

	call = f.find(o, second)
	require.NoError(t, o.Deny(t.Context(), call, "not today"))
	require.ErrorContains(t, o.Deny(t.Context(), call, "not today"), "no call waits")
	assert.Contains(t, post(t, f.url, two, noteMessage("two")), "not today")

	var logged []string
	f.waitFor(func() bool { logged = f.recorded("operator_decided"); return len(logged) >= 2 })
	require.Len(t, logged, 2)
	assert.Contains(t, logged[0]+logged[1], `"operator":"operator"`)
	assert.Contains(t, logged[0]+logged[1], `"decision":"approve"`)
	assert.Contains(t, logged[0]+logged[1], `"reason":"not today"`)
}

// Only the holder of an operator's key decides, under its own name: not a
// gateway, a worker, another operator, or a revoked key.
func TestWhoMayApprove(t *testing.T) {
	f := newInside(t, asks, "", plain)
	keys, err := hub.OpenKeys(filepath.Join(f.options.Store, "keys"))
	require.NoError(t, err)
	_, err = keys.Add("eve", hub.RoleOperator)
	require.NoError(t, err)
	require.NoError(t, f.options.Reload(f.hub))
	s := session(t, f.url)
	id := waitingCall(t, s, "one")
	o := f.operator(hub.RoleOperator)
	call := f.find(o, id)
	look, err := o.Look(t.Context(), call)
	require.NoError(t, err)
	signs, err := fleet.ReadSigner(f.linkAs(hub.RoleOperator, hub.RoleOperator).KeyFile, hub.RoleOperator)
	require.NoError(t, err)
	message, err := signs.Sign(call.Worker, fleet.Decide{Action: fleet.DecideApprove, ID: "x", Session: look.Session,
		Call: look.ID, Shown: look.Shown}) // signed by the operator, but sent by another
	require.NoError(t, err)

	var refused atomic.Int32
	var connections []*nats.Conn
	for key, role := range map[string]string{hub.RoleGateway: hub.RoleGateway, hub.RoleWorker: hub.RoleWorker,
		"eve": hub.RoleOperator} {
		nc, err := f.linkAs(key, role).Connect(t.Context())
		require.NoError(t, err)
		nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) { refused.Add(1) })
		if role == hub.RoleOperator {
			_, err = nc.Subscribe("work.>", func(*nats.Msg) { t.Error("an operator hears a call") })
			require.NoError(t, err)
			require.NoError(t, nc.Publish(call.Worker.WorkSubject(), message))
		}
		require.NoError(t, nc.Publish(call.Worker.DecideSubject(hub.RoleOperator), message))
		require.NoError(t, nc.Flush())
		connections = append(connections, nc)
	}
	f.waitFor(func() bool { return refused.Load() == 5 })

	// A gateway may use the hub's store, which sends what it holds to any subject.
	gateway, err := f.link(hub.RoleGateway).Connect(t.Context())
	require.NoError(t, err)
	defer gateway.Close()
	store, err := fleet.OpenStore(t.Context(), gateway)
	require.NoError(t, err)
	_, err = store.Calls.Put(t.Context(), "forged", message)
	require.NoError(t, err)
	sent, err := f.linkAs(hub.RoleWorker, hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	defer sent.Close()
	forged, err := sent.SubscribeSync(call.Worker.DecideSubject(hub.RoleOperator))
	require.NoError(t, err)
	require.NoError(t, sent.Flush())
	require.NoError(t, gateway.PublishRequest("$JS.API.DIRECT.GET.KV_calls.$KV.calls.forged",
		call.Worker.DecideSubject(hub.RoleOperator), nil))
	msg, err := forged.NextMsg(waits)
	require.NoError(t, err)
	require.Equal(t, string(message), string(msg.Data))
	for _, nc := range connections {
		nc.Close()
	}
	f.find(o, id) // it still waits

	eve, err := f.linkAs("eve", hub.RoleOperator).Connect(t.Context())
	require.NoError(t, err)
	defer eve.Close()
	eve.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	require.NoError(t, keys.Revoke("eve", hub.RoleOperator))
	require.NoError(t, f.options.Reload(f.hub))
	f.waitFor(func() bool { return !eve.IsConnected() })
	if err := eve.Publish(call.Worker.DecideSubject("eve"), message); err != nil { // sent when it connects
		require.ErrorIs(t, err, nats.ErrConnectionClosed, "it has given up, after it was refused twice")
	}
	f.find(o, id) // it still waits
	assert.True(t, callTool(t, s, "note", note("one"), nil).IsError)
	require.NoError(t, o.Approve(t.Context(), look))
	assert.False(t, callTool(t, s, "note", note("one"), nil).IsError)
}

// A decision counts once, for this run of this worker, if an operator whom the hub
// knows has signed it: a sender that gets the hub to send something cannot use others'
// signatures.
func TestForgedDecisions(t *testing.T) {
	f := newInside(t, asks, `
workspace "here" {
  directory = "HOME/here"
  config    = "HOME/agent.hcl"
}
`, func(o *worker.Options) {
		require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(o.Dir), "here"), 0o700))
		o.Directories = []string{filepath.Join(filepath.Dir(o.Dir), "here")}
	})
	file := f.write("here/a.txt", "old\n")
	keys, err := hub.OpenKeys(filepath.Join(f.options.Store, "keys"))
	require.NoError(t, err)
	_, err = keys.Add("eve", hub.RoleOperator)
	require.NoError(t, err)
	others, err := hub.OpenKeys(filepath.Join(f.home, "others"))
	require.NoError(t, err)
	signer := func(keys *hub.Keys, name string) *fleet.Signer {
		s, err := fleet.ReadSigner(keys.SeedFile(name, hub.RoleOperator), name)
		require.NoError(t, err)
		return s
	}
	own := signer(keys, hub.RoleOperator)

	s := session(t, f.url+"/here")
	edit := map[string]any{"path": "a.txt", "content": "<b>new</b> \u2028\n"}
	id := idOf.FindStringSubmatch(text(callTool(t, s, "write_file", edit, nil)))[1]
	o := f.operator(hub.RoleOperator)
	call := f.find(o, id)
	look, err := o.Look(t.Context(), call)
	require.NoError(t, err)

	// What the hub's store can send, the operator's own connection can: only the
	// signature proves the sender.
	nc, err := f.linkAs(hub.RoleOperator, hub.RoleOperator).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	answers, err := nc.SubscribeSync("decided." + hub.RoleOperator + ".>")
	require.NoError(t, err)
	ask := func(message []byte, id string) *tool.Error {
		require.NoError(t, nc.Publish(call.Worker.DecideSubject(hub.RoleOperator), message))
		for {
			msg, err := answers.NextMsg(waits)
			require.NoError(t, err)
			if !strings.HasSuffix(msg.Subject, "."+id) {
				continue
			}
			var said fleet.Decided
			require.NoError(t, json.Unmarshal(msg.Data, &said))
			return said.Error
		}
	}
	sign := func(s *fleet.Signer, w fleet.Worker, d fleet.Decide) []byte {
		message, err := s.Sign(w, d)
		require.NoError(t, err)
		return message
	}
	decide := func(id string) fleet.Decide {
		return fleet.Decide{Action: fleet.DecideApprove, ID: id, Session: look.Session, Call: look.ID, Shown: look.Shown}
	}
	unsigned := decide("unsigned")
	unsigned.Worker, unsigned.Operator = call.Worker, hub.RoleOperator
	for id, message := range map[string][]byte{
		"unsigned":    tool.MustMarshal(fleet.Signed{Decide: tool.MustMarshal(unsigned)}),
		"eves":        sign(signer(keys, "eve"), call.Worker, decide("eves")),
		"another-hub": sign(signer(others, hub.RoleOperator), call.Worker, decide("another-hub")),
		"another-run": sign(own, fleet.NewWorker(call.Worker.Key(), "before"), decide("another-run")),
	} {
		refused := ask(message, id)
		require.NotNil(t, refused, id)
		assert.Contains(t, refused.Message, "is not signed by an operator", id)
	}
	require.NoError(t, os.WriteFile(file, []byte("between\n"), 0o600))
	late := sign(own, call.Worker, decide("late"))
	refused := ask(late, "late")
	require.NotNil(t, refused)
	assert.Contains(t, refused.Message, "is not what was shown")
	require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
	refused = ask(late, "late")
	require.NotNil(t, refused, "what was refused is not taken when it comes again")
	assert.Contains(t, refused.Message, "was taken before")
	assert.Empty(t, f.recorded("operator_decided"))
	assert.True(t, callTool(t, s, "write_file", edit, nil).IsError)

	require.Nil(t, ask(sign(own, call.Worker, decide("good")), "good"))
	result := callTool(t, s, "write_file", edit, nil)
	assert.False(t, result.IsError, text(result))
}

// An operator's program refuses a look that does not match its digest: the
// decision would be on something else.
func TestForgedLook(t *testing.T) {
	f := newInside(t, asks, "")
	w := fleet.NewWorker(hub.RoleWorker, "one")
	nc, err := f.link(hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	question := show.Question{Tool: "note", Effect: "harmless"}
	var shown atomic.Value
	shown.Store(fleet.ShownDigest("d", show.Question{Tool: "note", Effect: "dangerous"}))
	_, err = nc.Subscribe(w.DecideSubject("*"), func(msg *nats.Msg) {
		d := asked(msg)
		_ = nc.Publish(w.DecidedSubject(hub.RoleOperator, d.ID), tool.MustMarshal(fleet.Decided{Look: &fleet.Look{
			Waiting: fleet.Waiting{ID: "abcd"}, Question: question, Digest: "d", Shown: shown.Load().(string)}}))
	})
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	o := f.operator(hub.RoleOperator)
	_, err = o.Look(t.Context(), fleet.Waiting{ID: "abcd", Worker: w})
	require.ErrorContains(t, err, "does not show the call")
	shown.Store(fleet.ShownDigest("d", question))
	_, err = o.Look(t.Context(), fleet.Waiting{ID: "abcd", Worker: w})
	require.NoError(t, err)
}

// asked returns an operator's request, unchecked.
func asked(msg *nats.Msg) (d fleet.Decide) {
	var s fleet.Signed
	if json.Unmarshal(msg.Data, &s) == nil {
		_ = json.Unmarshal(s.Decide, &d)
	}
	return d
}

// The command lists, shows and denies anywhere, and approves only in a terminal.
func TestApproveCommand(t *testing.T) {
	f := newInside(t, asks, "", plain)
	s := session(t, f.url)
	id := waitingCall(t, s, "one")
	command := func(args ...string) (string, error) {
		cmd := f.command(append([]string{"fleet", "approve", "--hub", f.hub.ClientURL(), "--key",
			f.linkAs(hub.RoleOperator, hub.RoleOperator).KeyFile}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	line := regexp.MustCompile("(?m)^" + id + ` .* default .* note text=one$`)
	f.waitFor(func() bool { out, err := command(); return err == nil && line.MatchString(out) })
	var out string
	var err error
	f.waitFor(func() bool { out, err = command("--json", id); return err == nil })
	var shown struct {
		Call     fleet.Waiting
		Question struct{ Headline, Effect string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &shown), out)
	assert.Equal(t, id, shown.Call.ID)
	assert.NotEmpty(t, shown.Question.Headline)
	f.waitFor(func() bool { out, err = command(id); return strings.Contains(out, "needs a terminal") })
	require.Error(t, err)
	out, err = command(id, "--deny", "--reason", "not today")
	require.NoError(t, err, out)
	out, err = command(id, "--deny")
	require.Error(t, err)
	assert.Contains(t, out, "no call waits")
	assert.Contains(t, text(callTool(t, s, "note", note("one"), nil)), "not today")
	out, err = command()
	require.NoError(t, err)
	assert.Contains(t, out, "No call waits")
	cmd := f.command("fleet", "approve", "--hub", f.hub.ClientURL(), "--key", f.link(hub.RoleGateway).KeyFile)
	data, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(data), "a key of role operator")
}
