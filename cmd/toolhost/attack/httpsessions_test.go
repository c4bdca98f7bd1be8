package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type webHost struct {
	a          *arena
	url, token string
}

func (a *arena) serveHTTP(args ...string) *webHost {
	a.t.Helper()
	h := &webHost{a: a, token: "token-of-the-sessions-0123456789"}
	cmd := a.program([]string{"TOOLHOST_HTTP_TOKEN=" + h.token},
		append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	errs, err := cmd.StderrPipe()
	require.NoError(a.t, err)
	require.NoError(a.t, cmd.Start())
	a.t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	h.url = testproc.Listen(errs).Find(a.t, `http://127\.0\.0\.1:\d+`)
	return h
}

func (h *webHost) do(method, session, body string) (status int, header http.Header, answer string) {
	h.a.t.Helper()
	request, err := http.NewRequest(method, h.url+"/mcp", strings.NewReader(body))
	require.NoError(h.a.t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + h.token,
		"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := (&http.Client{Timeout: patience}).Do(request)
	require.NoError(h.a.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(h.a.t, err)
	return response.StatusCode, response.Header, string(data)
}

func (h *webHost) session() string {
	h.a.t.Helper()
	status, header, said := h.do(http.MethodPost, "", helloHTTP)
	require.Equal(h.a.t, http.StatusOK, status, said)
	id := header.Get("Mcp-Session-Id")
	require.NotEmpty(h.a.t, id)
	h.do(http.MethodPost, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id
}

func (h *webHost) call(session, tool, params string) string {
	h.a.t.Helper()
	_, _, said := h.do(http.MethodPost, session, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, params))
	return said
}

// A client over HTTP finds nothing that another left, and their ends are independent.
func TestSessionsOverHTTPAreApart(t *testing.T) {
	t.Parallel()
	a := newArena(t, nil)
	a.arm()
	h := a.serveHTTP()
	mine, others := h.session(), h.session()
	require.NotEqual(t, mine, others)
	h.call(mine, "todowrite",
		`{"todos_json":"[{\"content\":\"buy the ring\",\"status\":\"pending\",\"priority\":\"low\"}]"}`)
	tally.note(tally.cases, "mcp", "the todos of another session over HTTP")
	assert.NotContains(t, h.call(others, "todoread", `{}`), "the ring")
	tally.note(tally.controls, "mcp", "the todos of the same session over HTTP")
	assert.Contains(t, h.call(mine, "todoread", `{}`), "the ring")

	// Each call is in its own session's record.
	sessions := make(map[string]string)
	for _, file := range a.recorded() {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			var e struct {
				Session, Event string
				Body           struct{ Tool string }
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == "tool_call_started" {
				sessions[e.Session] += e.Body.Tool + " "
			}
		}
	}
	assert.Len(t, sessions, 2, "%v", sessions)
	status, _, _ := h.do(http.MethodDelete, mine, "")
	assert.Less(t, status, 300)
	status, _, said := h.do(http.MethodPost, mine, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	assert.Equal(t, http.StatusNotFound, status, "a session that has ended: %s", said)
	status, _, _ = h.do(http.MethodPost, others, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	assert.Equal(t, http.StatusOK, status, "control: the other one goes on")
}

// A session's end ends only its own background tasks.
func TestTasksEndWithTheirSessionOverHTTP(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, nil)
	a.arm()
	h := a.serveHTTP("--toolset", "clemini")
	one, other := h.session(), h.session()
	start := func(session string) (grows func() bool) {
		file := filepath.Join(a.ws, session[:8]+".alive")
		script := fmt.Sprintf("while :; do echo >> %s; sleep 0.05; done # %s", filepath.Base(file), a.mark)
		params, err := json.Marshal(map[string]any{"command": script, "run_in_background": true})
		require.NoError(t, err)
		said := h.call(session, "bash", string(params))
		grows = func() bool {
			before, err := os.Stat(file)
			return err == nil && within(patience/20, func() bool {
				now, err := os.Stat(file)
				return err == nil && now.Size() > before.Size()
			})
		}
		require.True(t, within(patience, grows), "control: the task runs: %s", said)
		return grows
	}
	oneGrows, otherGrows := start(one), start(other)
	tally.note(tally.cases, "mcp", "a task of a session that has ended over HTTP")
	status, _, _ := h.do(http.MethodDelete, one, "")
	require.Less(t, status, 300)
	assert.True(t, within(patience, func() bool { return !oneGrows() }), "the session's task has ended with it")
	tally.note(tally.controls, "mcp", "a task of a session that goes on over HTTP")
	assert.True(t, within(patience, otherGrows))
}

// A client with the token can open only so many sessions, and a place is free again when one ends.
func TestSessionsOverHTTPAreCounted(t *testing.T) {
	t.Parallel()
	a := newArena(t, nil)
	a.arm()
	h := a.serveHTTP("--max-sessions", "3")
	var open []string
	for range 3 {
		open = append(open, h.session())
	}
	tally.note(tally.cases, "mcp", "sessions over HTTP past the bound")
	for range 20 {
		status, header, said := h.do(http.MethodPost, "", helloHTTP)
		require.Equal(t, http.StatusServiceUnavailable, status, said)
		assert.NotEmpty(t, header.Get("Retry-After"))
	}
	status, _, _ := h.do(http.MethodPost, open[0], `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	assert.Equal(t, http.StatusOK, status, "those that are open are served")
	h.do(http.MethodDelete, open[0], "")
	tally.note(tally.controls, "mcp", "a session over HTTP in a place that is free again")
	h.session()
}
