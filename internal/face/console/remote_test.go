package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// elsewhere stands for a fleet.
type elsewhere struct {
	calls    []RemoteCall
	problems []string
	question show.Question
	shown    string
	failed   error
	decided  []string
}

func (e *elsewhere) Waiting() ([]RemoteCall, []string) { return e.calls, e.problems }

func (e *elsewhere) Look(context.Context, RemoteCall) (show.Question, string, error) {
	return e.question, e.shown, e.failed
}

func (e *elsewhere) Approve(_ context.Context, call RemoteCall, shown string) error {
	e.decided = append(e.decided, "approve "+call.Worker+" "+call.ID+" "+shown)
	return nil
}

func (e *elsewhere) Deny(_ context.Context, call RemoteCall, reason string) error {
	e.decided = append(e.decided, "deny "+call.Worker+" "+call.ID+" "+reason)
	return nil
}

func oneAway() *elsewhere {
	call := RemoteCall{Worker: "rack.one", ID: "abcd1234", Session: "s", Tenant: "t", Tool: "note", Call: "note text=one",
		Reason: "It is dangerous.", Asked: time.Now().Add(-time.Minute), Expires: time.Now().Add(time.Hour)}
	other := call
	other.Worker, other.Call = "rack.two", "note text=two"
	return &elsewhere{calls: []RemoteCall{call, other}, shown: "first", question: show.Question{Tool: "note", Title: "Note",
		Argv: []string{"sh", "-c", "one"}, Params: []show.Param{{Name: "text", Value: json.RawMessage(`"one"`)}}}}
}

// remotePage is a page of a console with calls elsewhere.
type remotePage struct {
	t    *testing.T
	s    *Server
	page *http.Response
	key  string
}

func openRemote(t *testing.T, e *elsewhere) *remotePage {
	t.Helper()
	s := at(t)
	s.options.Remote = e
	p := &remotePage{t: t, s: s}
	p.page, p.key = enter(t, s)
	return p
}

func (p *remotePage) look(call RemoteCall) (int, look) {
	p.t.Helper()
	query := url.Values{"space": {remoteSpace + call.Worker}, "id": {call.ID}}
	r, body := answer(p.s, own(p.s, "GET", "/api/pending?"+query.Encode(), "", p.page, p.key))
	var l look
	require.NoError(p.t, json.Unmarshal([]byte(body), &l), body)
	return r.StatusCode, l
}

func (p *remotePage) decide(d decision) (int, string) {
	p.t.Helper()
	r, body := answer(p.s, own(p.s, "POST", "/api/decide", string(tool.MustMarshal(d)), p.page, p.key))
	return r.StatusCode, body
}

func (l look) decision(verdict string) decision {
	return decision{Space: l.Space, ID: l.ID, Digest: l.Digest, Shown: l.Shown, Verdict: verdict}
}

// A call that waits elsewhere is decided there, once, as it was shown.
func TestDecideAway(t *testing.T) {
	e := oneAway()
	p := openRemote(t, e)
	sent := make(map[string]string)
	news := p.s.news(t.Context(), sent)
	require.Len(t, news.Add, 2)
	assert.Equal(t, "rack.one", news.Add[0].Worker)
	status, l := p.look(e.calls[0])
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, news.Add[0].Digest, l.Digest)

	for name, change := range map[string]func(*decision){
		"nothing was shown":         func(d *decision) { d.Shown = "" },
		"something else was shown":  func(d *decision) { d.Shown = strings.Repeat("0", 64) },
		"another call":              func(d *decision) { d.Digest = strings.Repeat("0", 64) },
		"denied, and another call":  func(d *decision) { d.Digest, d.Verdict = "", "deny" },
		"the other worker's call":   func(d *decision) { d.Space = remoteSpace + "rack.two" },
		"a worker that is not here": func(d *decision) { d.Space = remoteSpace + "rack.three" },
		"no worker":                 func(d *decision) { d.Space = remoteSpace },
		"an ID that does not wait":  func(d *decision) { d.ID = "x" },
		"allowed for good":          func(d *decision) { d.Verdict = "always" },
		"a reason without end":      func(d *decision) { d.Verdict, d.Reason = "deny", strings.Repeat("x", mostReason+1) },
		"no decision":               func(d *decision) { d.Verdict = "approve" },
	} {
		d := l.decision("once")
		change(&d)
		status, body := p.decide(d)
		assert.GreaterOrEqual(t, status, http.StatusBadRequest, "%s: %s", name, body)
		assert.Less(t, status, http.StatusInternalServerError, "%s: %s", name, body)
	}
	for name, change := range map[string]func(){
		"it would do something else now":     func() { e.question.Effect = "another" },
		"its worker says it is another now":  func() { e.shown = "second" },
		"its worker does not show it":        func() { e.failed = errors.New("silent") },
		"the call is listed as another now":  func() { e.calls[0].Call = "note text=two" },
		"it is of another session now":       func() { e.calls[0].Session = "other" },
		"it is decided on and waits no more": func() { e.calls = e.calls[1:] },
	} {
		before := *e
		before.calls = append([]RemoteCall(nil), e.calls...)
		change()
		status, body := p.decide(l.decision("once"))
		assert.Contains(t, []int{http.StatusConflict, http.StatusNotFound}, status, "%s: %s", name, body)
		*e = before
	}
	require.Empty(t, e.decided)

	forged := own(p.s, "POST", "/api/decide", string(tool.MustMarshal(l.decision("once"))), p.page, "another key")
	r, _ := answer(p.s, forged)
	assert.Equal(t, http.StatusUnauthorized, r.StatusCode)
	foreign := own(p.s, "POST", "/api/decide", string(tool.MustMarshal(l.decision("once"))), p.page, p.key)
	foreign.Header.Set("Origin", "http://127.0.0.1:1")
	r, _ = answer(p.s, foreign)
	assert.Equal(t, http.StatusForbidden, r.StatusCode)
	require.Empty(t, e.decided)

	status, body := p.decide(l.decision("once"))
	require.Equal(t, http.StatusOK, status, body)
	d := decision{Space: remoteSpace + "rack.two", ID: "abcd1234", Digest: news.Add[1].Digest, Verdict: "deny", Reason: "no"}
	status, body = p.decide(d)
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, []string{"approve rack.one abcd1234 first", "deny rack.two abcd1234 no"}, e.decided)

	e.calls, e.problems = e.calls[1:], []string{"The worker rack.one is silent."}
	news = p.s.news(t.Context(), sent)
	assert.Equal(t, []string{remoteSpace + "rack.one/abcd1234"}, news.Gone)
	assert.Equal(t, e.problems, news.Problems)
}

// A lying worker's texts are escaped, and cut in lists. A call that its worker does not show can only
// be denied.
func TestWhatAWorkerSays(t *testing.T) {
	const hostile = "\x1b[2J\u202e</script>\n"
	e := oneAway()
	long := strings.Repeat(hostile, 1000)
	e.calls = []RemoteCall{{Worker: "w." + hostile, ID: "a", Session: long, Tenant: long, Tool: long, Call: long,
		Reason: long}}
	e.question = show.Question{Tool: hostile, Title: long, Risk: hostile, Rule: hostile, Reason: hostile, Object: hostile,
		Argv: []string{hostile}, Files: []string{hostile}, Effect: hostile,
		Params: []show.Param{{Name: hostile, Value: tool.MustMarshal(hostile)}, {Name: "none"}}}
	e.problems = []string{hostile}
	p := openRemote(t, e)
	status, l := p.look(e.calls[0])
	require.Equal(t, http.StatusOK, status)
	news := p.s.news(t.Context(), make(map[string]string))
	require.Len(t, news.Add, 1)
	line := news.Add[0]
	line.Key, line.Space = "", "" // for the server only
	l.Space, l.Key = "", ""
	for _, said := range []any{l, line, news.Problems} {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(said))
		assert.NotContains(t, b.String(), "\u202e")
		assert.NotContains(t, b.String(), `\u001b`)
		assert.Contains(t, b.String(), `\\u202e`)
	}
	assert.Less(t, len(tool.MustMarshal(line)), 8<<10)

	e.failed = tool.Errorf(tool.TooLarge, "it is too large").Suggest("Deny it.")
	status, l = p.look(e.calls[0])
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, "it is too large. Deny it.", l.Problem)
	status, body := p.decide(l.decision("once"))
	assert.Equal(t, http.StatusForbidden, status, body)
	status, body = p.decide(l.decision("deny"))
	assert.Equal(t, http.StatusOK, status, body)
	require.Len(t, e.decided, 1)
	assert.True(t, strings.HasPrefix(e.decided[0], "deny "))
}
