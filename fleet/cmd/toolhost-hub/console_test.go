package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// consolePage sends requests to a console as its page does.
type consolePage struct {
	f         *inside
	base, key string
	cookie    *http.Cookie
}

// console starts toolhost console with an operator's key, as on a separate machine.
func (f *inside) console() *consolePage {
	f.t.Helper()
	cmd := newPlace(f.t).command("console", "--no-open", "--hub", f.hub.ClientURL(), "--key",
		f.linkAs(hub.RoleOperator, hub.RoleOperator).KeyFile)
	_, err := cmd.StdinPipe() // it ends with its input
	require.NoError(f.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(f.t, err)
	f.run(cmd)
	base, code, _ := strings.Cut(testproc.Listen(out).Find(f.t, `^(http://\S+)$`), "/#code=")
	p := &consolePage{f: f, base: base}
	answer, body := p.send("POST", "/api/session", map[string]string{"code": code})
	var told struct{ Key string }
	require.NoError(f.t, json.Unmarshal(body, &told))
	require.Len(f.t, answer.Cookies(), 1)
	p.key, p.cookie = told.Key, answer.Cookies()[0]
	return p
}

func (p *consolePage) request(method, path string, body any) *http.Request {
	p.f.t.Helper()
	r, err := http.NewRequest(method, p.base+path, strings.NewReader(string(tool.MustMarshal(body))))
	require.NoError(p.f.t, err)
	for name, value := range map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors",
		"Sec-Fetch-Dest": "empty", "X-Toolhost-Key": p.key, "Origin": p.base, "Content-Type": "application/json"} {
		r.Header.Set(name, value)
	}
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	return r
}

func (p *consolePage) send(method, path string, body any) (*http.Response, []byte) {
	p.f.t.Helper()
	answer, err := http.DefaultClient.Do(p.request(method, path, body))
	require.NoError(p.f.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(p.f.t, err)
	return answer, data
}

// consoleCall is a waiting call in the page's form.
type consoleCall struct {
	Key, Space, ID, Digest, Shown, Call, Worker, Tenant, Problem string
	Question                                                     show.Parts
}

// follow reads the inbox until the test ends, and returns its present content.
func (p *consolePage) follow() (now func() map[string]consoleCall) {
	p.f.t.Helper()
	answer, err := http.DefaultClient.Do(p.request("GET", "/api/inbox", nil))
	require.NoError(p.f.t, err)
	require.Equal(p.f.t, http.StatusOK, answer.StatusCode)
	p.f.t.Cleanup(func() { answer.Body.Close() })
	var latest atomic.Pointer[map[string]consoleCall]
	latest.Store(new(map[string]consoleCall))
	go func() {
		waiting := make(map[string]consoleCall)
		for decoder := json.NewDecoder(answer.Body); ; {
			var news struct {
				Add  []consoleCall
				Gone []string
			}
			if decoder.Decode(&news) != nil {
				return
			}
			for _, call := range news.Add {
				waiting[call.Key] = call
			}
			for _, key := range news.Gone {
				delete(waiting, key)
			}
			all := make(map[string]consoleCall)
			for key, call := range waiting {
				all[key] = call
			}
			latest.Store(&all)
		}
	}()
	return func() map[string]consoleCall { return *latest.Load() }
}

func (p *consolePage) waits(now func() map[string]consoleCall, is func(consoleCall) bool) (found consoleCall) {
	p.f.t.Helper()
	p.f.waitFor(func() bool {
		for _, call := range now() {
			if is(call) {
				found = call
				return true
			}
		}
		return false
	})
	return found
}

func (p *consolePage) look(call consoleCall) (look consoleCall, raw string) {
	p.f.t.Helper()
	answer, body := p.send("GET", "/api/pending?"+url.Values{"space": {call.Space}, "id": {call.ID}}.Encode(), nil)
	require.Equal(p.f.t, http.StatusOK, answer.StatusCode, "%s", body)
	require.NoError(p.f.t, json.Unmarshal(body, &look))
	return look, string(body)
}

func (p *consolePage) decide(call consoleCall, verdict, reason string) (int, string) {
	p.f.t.Helper()
	answer, body := p.send("POST", "/api/decide", map[string]string{"space": call.Space, "id": call.ID,
		"digest": call.Digest, "shown": call.Shown, "verdict": verdict, "reason": reason})
	return answer.StatusCode, string(body)
}

func is(id string) func(consoleCall) bool { return func(c consoleCall) bool { return c.ID == id } }

// A call that waits on a worker is shown and decided in the console: once, as
// shown, and the record names the operator.
func TestConsoleFromAnywhere(t *testing.T) {
	f := newInside(t, asks, "", plain)
	s := session(t, f.url)
	first := waitingCall(t, s, "one")
	p := f.console()
	now := p.follow()
	line := p.waits(now, is(first))
	assert.Equal(t, "note text=one", line.Call)
	assert.Equal(t, "default", line.Tenant)
	assert.True(t, strings.HasPrefix(line.Worker, "worker."), line.Worker)
	look, raw := p.look(line)
	require.Empty(t, look.Problem)
	assert.Equal(t, "note", look.Question.Tool)
	assert.Contains(t, look.Question.Argv, "one")
	seed, err := os.ReadFile(f.linkAs(hub.RoleOperator, hub.RoleOperator).KeyFile)
	require.NoError(t, err)
	assert.NotContains(t, raw, strings.TrimSpace(string(seed)))

	status, said := p.decide(line, "once", "")
	assert.Equal(t, http.StatusConflict, status, "nothing was shown: %s", said)
	other := look
	other.Shown = strings.Repeat("0", 64)
	status, said = p.decide(other, "once", "")
	assert.Equal(t, http.StatusConflict, status, said)
	status, said = p.decide(look, "always", "")
	assert.Equal(t, http.StatusBadRequest, status, said)
	stranger := *p
	stranger.key = strings.Repeat("0", 64)
	status, said = stranger.decide(look, "once", "")
	assert.Equal(t, http.StatusUnauthorized, status, said)
	stranger = *p
	stranger.cookie = nil
	status, said = stranger.decide(look, "once", "")
	assert.Equal(t, http.StatusUnauthorized, status, said)
	assert.True(t, callTool(t, s, "note", note("one"), nil).IsError, "nothing was decided")

	status, said = p.decide(look, "once", "")
	require.Equal(t, http.StatusOK, status, said)
	status, said = p.decide(look, "once", "")
	assert.Equal(t, http.StatusNotFound, status, said)
	result := callTool(t, s, "note", note("one"), nil)
	require.False(t, result.IsError, text(result))
	assert.Equal(t, "one", strings.TrimSpace(text(result)))
	assert.True(t, callTool(t, s, "note", note("one"), nil).IsError, "it runs once")

	second := waitingCall(t, s, "two")
	look, _ = p.look(p.waits(now, is(second)))
	status, said = p.decide(look, "deny", "not today")
	require.Equal(t, http.StatusOK, status, said)
	f.waitFor(func() bool { return len(now()) == 1 }) // one, which was made again
	assert.Contains(t, text(callTool(t, s, "note", note("two"), nil)), "not today")

	third := waitingCall(t, s, "three") // calls that are decided elsewhere leave the page
	p.waits(now, is(third))
	o := f.operator(hub.RoleOperator)
	require.NoError(t, o.Deny(t.Context(), f.find(o, third), ""))
	f.waitFor(func() bool { return len(now()) == 1 })

	var logged string
	f.waitFor(func() bool {
		all := f.recorded("operator_decided")
		logged = strings.Join(all, "")
		return len(all) >= 3
	})
	assert.Contains(t, logged, `"decision":"approve"`)
	assert.Contains(t, logged, `"operator":"operator"`)
	assert.Contains(t, logged, `"reason":"not today"`)
}

// A lying worker controls only what is shown of its own calls, escaped; it cannot
// have another worker's call decided.
func TestConsoleAndLiars(t *testing.T) {
	f := newInside(t, asks, "", plain)
	keys, err := hub.OpenKeys(filepath.Join(f.options.Store, "keys"))
	require.NoError(t, err)
	_, err = keys.Add("liar", hub.RoleWorker)
	require.NoError(t, err)
	require.NoError(t, f.options.Reload(f.hub))
	s := session(t, f.url)
	id := waitingCall(t, s, "one")
	p := f.console()
	now := p.follow()
	honest := p.waits(now, is(id))

	const hostile = "\x1b[2J\u202e<script>"
	liar := fleet.NewWorker("liar", "one")
	waiting := fleet.Waiting{ID: id, Worker: fleet.Worker(honest.Worker), Session: "s", Tenant: hostile, Tool: hostile,
		Call: hostile, Reason: hostile, Asked: time.Now(), Expires: time.Now().Add(time.Hour)}
	bad := waiting
	bad.ID = "../" + id
	var looks, decided atomic.Int32
	nc, err := fleet.Link{URL: f.hub.ClientURL(), Inbox: "_INBOX.worker.liar.test",
		KeyFile: keys.SeedFile("liar", hub.RoleWorker)}.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	_, err = nc.Subscribe(liar.DecideSubject("*"), func(msg *nats.Msg) {
		d := asked(msg)
		answer := fleet.Decided{Waiting: []fleet.Waiting{waiting, waiting, bad}}
		switch d.Action {
		case fleet.DecideLook: // a different one each time
			question := show.Question{Tool: hostile, Title: hostile, Effect: hostile + strings.Repeat("x", int(looks.Add(1)))}
			answer = fleet.Decided{Look: &fleet.Look{Waiting: waiting, Question: question,
				Shown: fleet.ShownDigest("", question)}}
		case fleet.DecideApprove:
			decided.Add(1)
			answer = fleet.Decided{}
		}
		operator := strings.Split(msg.Subject, ".")[1]
		_ = nc.Publish(liar.DecidedSubject(operator, d.ID), tool.MustMarshal(answer))
	})
	require.NoError(t, err)
	beats := time.NewTicker(fleet.Heartbeat)
	t.Cleanup(beats.Stop)
	go func() {
		for t.Context().Err() == nil {
			_ = nc.Publish(liar.BeatSubject(), tool.MustMarshal(fleet.Beat{Version: "test"}))
			select {
			case <-beats.C:
			case <-t.Context().Done():
			}
		}
	}()
	lie := p.waits(now, func(c consoleCall) bool { return c.Worker == string(liar) })
	f.waitFor(func() bool { return len(now()) == 2 }) // each once, and none with an invalid ID
	assert.Equal(t, id, lie.ID)
	look, raw := p.look(lie)
	for _, text := range []string{lie.Call, lie.Tenant, look.Question.Headline, look.Question.Effect} {
		assert.Contains(t, text, `\u202e`)
		assert.NotContains(t, text, "\u202e")
		assert.NotContains(t, text, "\x1b")
	}
	assert.NotContains(t, raw, "<script>")
	status, said := p.decide(look, "once", "")
	assert.Equal(t, http.StatusConflict, status, "it shows something else when it is decided on: %s", said)
	assert.Zero(t, decided.Load())

	// What a gateway sends in a worker's name does not arrive.
	gateway, err := f.link(hub.RoleGateway).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(gateway.Close)
	var refused atomic.Int32
	gateway.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) { refused.Add(1) })
	require.NoError(t, gateway.Publish(fleet.Worker(honest.Worker).DecidedSubject(hub.RoleOperator, "x"),
		tool.MustMarshal(fleet.Decided{Waiting: []fleet.Waiting{waiting}})))
	require.NoError(t, gateway.Flush())
	f.waitFor(func() bool { return refused.Load() == 1 })

	assert.True(t, callTool(t, s, "note", note("one"), nil).IsError, "the honest worker's call was not decided on")
	look, _ = p.look(honest)
	status, said = p.decide(look, "once", "")
	require.Equal(t, http.StatusOK, status, said)
	assert.False(t, callTool(t, s, "note", note("one"), nil).IsError)
}

// Without an operator's key there is no fleet console.
func TestConsoleNeedsAnOperator(t *testing.T) {
	f := newInside(t, asks, "")
	for _, role := range []string{hub.RoleGateway, hub.RoleWorker} {
		cmd := f.command("console", "--no-open", "--hub", f.hub.ClientURL(), "--key", f.link(role).KeyFile)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "a key of role operator")
	}
}
