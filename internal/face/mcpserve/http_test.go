package mcpserve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type web struct {
	t       *testing.T
	url     string
	handler *mcpserve.HTTP
	server  *mcpserve.Server
	ended   chan string // ended sessions
}

func serveWeb(t *testing.T, h *host.Host, o mcpserve.HTTPOptions) *web {
	t.Helper()
	w := &web{t: t, ended: make(chan string, 1000)}
	w.server = mcpserve.New(h,
		mcpserve.Options{Name: "toolhost", Version: "test", SessionEnded: func(name string) { w.ended <- name }})
	w.handler = mcpserve.NewHTTP(w.server, o)
	mux := http.NewServeMux()
	mux.Handle("/mcp", w.handler)
	mux.Handle("/mcp/{toolset}", w.handler)
	listener := httptest.NewServer(mux)
	t.Cleanup(func() {
		w.handler.Close()
		listener.Close()
	})
	w.url = listener.URL + "/mcp"
	return w
}

func serveServer(t *testing.T, server *mcpserve.Server) *web {
	t.Helper()
	handler := mcpserve.NewHTTP(server, mcpserve.HTTPOptions{})
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		listener.Close()
	})
	return &web{t: t, url: listener.URL, handler: handler, server: server}
}

// post sends a message with extra headers, as "Name: value".
func (w *web) post(message string, headers ...string) *http.Response {
	w.t.Helper()
	return w.do(http.MethodPost, strings.NewReader(message), headers...)
}

func (w *web) do(method string, body io.Reader, headers ...string) *http.Response {
	w.t.Helper()
	request := w.request(method, body, headers...)
	response, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (w *web) start(message string, headers ...string) {
	request := w.request(http.MethodPost, strings.NewReader(message), headers...)
	go func() {
		if response, err := http.DefaultClient.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()
}

func (w *web) request(method string, body io.Reader, headers ...string) *http.Request {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url, body)
	require.NoError(w.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			request.Host = value
		} else {
			request.Header.Set(name, value)
		}
	}
	return request
}

func answer(t *testing.T, response *http.Response) map[string]any {
	t.Helper()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text := strings.TrimPrefix(lines.Text(), "data: ")
		var m map[string]any
		if json.Unmarshal([]byte(text), &m) == nil && (m["result"] != nil || m["error"] != nil) {
			return m
		}
	}
	require.Fail(t, "no answer", response.Status)
	return nil
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,` +
	`"clientInfo":{"name":"t","version":"1"}}}`

func (w *web) initialize(revision, capabilities string) []string {
	w.t.Helper()
	headers := w.openWith(revision, capabilities)
	assert.Equal(w.t, http.StatusAccepted,
		w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...).StatusCode)
	return headers
}

// open opens a session with one request, for tests in which a second may come too late.
func (w *web) open(revision string) []string { return w.openWith(revision, "{}") }

func (w *web) openWith(revision, capabilities string) []string {
	w.t.Helper()
	response := w.post(fmt.Sprintf(hello, revision, capabilities))
	require.Equal(w.t, http.StatusOK, response.StatusCode)
	assert.Equal(w.t, revision, answer(w.t, response)["result"].(map[string]any)["protocolVersion"])
	return []string{"Mcp-Session-Id: " + response.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version: " + revision}
}

func callMessage(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name,
		arguments)
}

// stateless returns a call of the revision without sessions, and its headers.
func stateless(name, arguments, capabilities, more string) (message string, headers []string) {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,`+
			`%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":%s}}}`, name, arguments, more, capabilities),
		[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + name}
}

func sessionTool() *fake {
	return newTool("session", tool.ReadOnly,
		func(_ context.Context, c *tool.Call) (*tool.Result, error) { return tool.Text(c.Session), nil })
}

func textOf(t *testing.T, m map[string]any) string {
	t.Helper()
	require.NotNil(t, m["result"], m)
	return m["result"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
}

func TestEveryRevisionAtOneURL(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, echoTool(), sessionTool()), mcpserve.HTTPOptions{})
	names := make(map[string]bool)
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		headers := w.initialize(revision, "{}")
		name := textOf(t, answer(t, w.post(callMessage(1, "session", "{}"), headers...)))
		assert.False(t, names[name], "every connection is a session of its own")
		names[name] = true
		assert.Equal(t, name, textOf(t, answer(t, w.post(callMessage(2, "session", "{}"), headers...))))
	}
	message, headers := stateless("session", "{}", "{}", "")
	shared := textOf(t, answer(t, w.post(message, headers...)))
	assert.Equal(t, shared, textOf(t, answer(t, w.post(message, headers...))), "without sessions all share one")
	assert.False(t, names[shared])
	response := w.post(message) // no header: the message decides
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.Contains(t, fmt.Sprint(answer(t, response)["error"]), "Mcp-Protocol-Version")
	assert.Equal(t, http.StatusMethodNotAllowed,
		w.do(http.MethodGet, nil, "MCP-Protocol-Version: 2026-07-28").StatusCode)

	w.url += "?session=mine"
	assert.Equal(t, "http-mine", textOf(t, answer(t, w.post(message, headers...))))
	w.url = strings.TrimSuffix(w.url, "mine") + "../x"
	assert.Equal(t, http.StatusBadRequest, w.post(message, headers...).StatusCode)
}

func TestWhoMayUseTheServer(t *testing.T) {
	const token = "0123456789abcdef"
	open := serveWeb(t, newHost(t, host.Options{}, echoTool()),
		mcpserve.HTTPOptions{Hosts: []string{"tools.example"}, Origins: []string{"https://app.example"}})
	guarded := serveWeb(t, newHost(t, host.Options{}, echoTool()), mcpserve.HTTPOptions{Token: token})
	own := strings.TrimSuffix(strings.TrimPrefix(open.url, "http://"), "/mcp")
	port := own[strings.Index(own, ":"):]
	tests := map[string]struct {
		server *web
		header []string
		status int
		next   string
	}{
		"no Origin":                      {open, nil, 200, ""},
		"localhost":                      {open, []string{"Host: localhost" + port}, 200, ""},
		"an allowed name":                {open, []string{"Host: Tools.Example:99"}, 200, ""},
		"a foreign name":                 {open, []string{"Host: evil.example" + port}, 403, "--allow-host"},
		"a name that begins alike":       {open, []string{"Host: localhost.evil.example"}, 403, "--allow-host"},
		"another address than it has":    {open, []string{"Host: 192.0.2.1"}, 403, "--allow-host"},
		"its own origin":                 {open, []string{"Origin: http://" + own}, 200, ""},
		"its own origin by another name": {open, []string{"Origin: http://localhost" + port}, 200, ""},
		"an allowed origin":              {open, []string{"Origin: https://app.example"}, 200, ""},
		"a foreign origin":               {open, []string{"Origin: http://evil.example"}, 403, "--allow-origin"},
		"another local server's page":    {open, []string{"Origin: http://localhost:1"}, 403, "--allow-origin"},
		"the null origin":                {open, []string{"Origin: null"}, 403, "--allow-origin"},
		"rebinding": {open, []string{"Host: evil.example", "Origin: http://evil.example"}, 403,
			"--allow-host"},
		"no token": {guarded, nil, 401, "Authorization: Bearer"},
		"a wrong token": {guarded, []string{"Authorization: Bearer 0123456789abcdeF"}, 401,
			"Authorization: Bearer"},
		"a longer token": {guarded, []string{"Authorization: Bearer " + token + "0"}, 401,
			"Authorization: Bearer"},
		"another scheme": {guarded, []string{"Authorization: Basic " + token}, 401,
			"Authorization: Bearer"},
		"the token": {guarded, []string{"Authorization: bearer " + token}, 200, ""},
		"the token from a foreign page": {guarded,
			[]string{"Authorization: Bearer " + token, "Origin: http://evil.example"}, 403, "--allow-origin"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := tt.server.post(fmt.Sprintf(hello, "2025-11-25", "{}"), tt.header...)
			require.Equal(t, tt.status, response.StatusCode)
			if tt.next != "" {
				message := answer(t, response)["error"].(map[string]any)["message"]
				assert.Contains(t, message, tt.next)
			}
		})
	}
	preflight := open.do(http.MethodOptions, nil, "Origin: https://app.example", "Access-Control-Request-Method: POST")
	assert.Equal(t, http.StatusNoContent, preflight.StatusCode)
	assert.Equal(t, "https://app.example", preflight.Header.Get("Access-Control-Allow-Origin"))
	assert.Equal(t, http.StatusForbidden, open.do(http.MethodOptions, nil, "Origin: https://evil.example").StatusCode)
}

// statusOf sends a body that the server does not read to its end, and returns the status. If the server
// hung up while it was still sending, the answer is lost and it retries.
func (w *web) statusOf(body func() io.Reader, headers ...string) int {
	w.t.Helper()
	for tries := 1; ; tries++ {
		response, err := http.DefaultClient.Do(w.request(http.MethodPost, body(), headers...))
		if err == nil {
			_ = response.Body.Close()
			return response.StatusCode
		}
		require.Less(w.t, tries, 10, err)
	}
}

func TestMessagesOverHTTPAreBounded(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	w := serveWeb(t, newHost(t, host.Options{}, echoTool()), mcpserve.HTTPOptions{})
	headers := w.initialize("2025-11-25", "{}")
	huge := callMessage(1, "echo", `{"text":"`+strings.Repeat("x", mcpserve.MaxMessage)+`"}`)
	for name, body := range map[string]func() io.Reader{
		"its length is told": func() io.Reader { return strings.NewReader(huge) },
		"and is not":         func() io.Reader { return struct{ io.Reader }{strings.NewReader(huge)} },
	} {
		assert.Equal(t, http.StatusRequestEntityTooLarge, w.statusOf(body, headers...), name)
	}
	big := strings.Repeat("é", mcpserve.MaxMessage/4)
	assert.Contains(t, textOf(t, answer(t, w.post(callMessage(2, "echo", `{"text":"`+big+`"}`), headers...))), big)
	for name, body := range map[string]string{"no JSON": "hello", "nothing": "", "cut off": `{"jsonrpc":"2.0","id":1,`,
		"nested": strings.Repeat("[", 100_000)} {
		response := w.post(body, headers...)
		assert.GreaterOrEqual(t, response.StatusCode, 400, name)
		assert.Less(t, response.StatusCode, 500, name)
	}
}

func TestToolsetsAtTheirPaths(t *testing.T) {
	other := mcpserve.New(newHost(t, host.Options{}, newTool("other", tool.ReadOnly, nil)),
		mcpserve.Options{Name: "toolhost", Version: "test"})
	w := serveWeb(t, newHost(t, host.Options{}, echoTool()),
		mcpserve.HTTPOptions{Toolset: func(_ context.Context, name string) (*mcpserve.Server, error) {
			if name != "other" {
				return nil, tool.Errorf(tool.NotFound, "there is no toolset %q", name).Suggest("Use other.")
			}
			return other, nil
		}})
	base := w.url
	for path, want := range map[string]string{"": "echo", "/other": "other"} {
		w.url = base + path
		headers := w.initialize("2025-11-25", "{}")
		assert.Contains(t, fmt.Sprint(answer(t, w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...))),
			"name:"+want+" ")
		if path != "" {
			w.url = base
			assert.Equal(t, http.StatusNotFound,
				w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...).StatusCode,
				"a session stays where it was opened")
		}
	}
	w.url = base + "/none"
	response := w.post(fmt.Sprintf(hello, "2025-11-25", "{}"))
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, fmt.Sprint(answer(t, response)), "Use other.")
}

// clientOf connects the SDK's client to a server.
func (w *web) clientOf(o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url}, nil)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestAllSessionsAreToldOfChanges(t *testing.T) {
	h := newHost(t, host.Options{}, echoTool())
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	streams := make([]*testproc.Output, 5)
	for i := range streams {
		headers := w.initialize("2025-11-25", "{}")
		streams[i] = testproc.Listen(w.do(http.MethodGet, nil, headers...).Body)
	}
	require.NoError(t,
		h.Reload(t.Context(), []host.Source{source{newTool("fresh", tool.ReadOnly, nil)}}, host.Toolset{}))
	w.server.Refresh()
	for _, stream := range streams {
		stream.Find(t, "notifications/tools/list_changed")
	}
	session := w.clientOf(nil)
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "fresh", list.Tools[0].Name)
}

func TestSubscribersWithoutASessionAreToldOfChanges(t *testing.T) {
	h := newHost(t, host.Options{}, echoTool())
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	response := w.post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",`+
		`"params":{"notifications":{"toolsListChanged":true},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	require.Equal(t, http.StatusOK, response.StatusCode)
	stream := bufio.NewReader(response.Body)
	late := time.AfterFunc(testproc.Patience, func() { _ = response.Body.Close() })
	defer late.Stop()
	for _, want := range []string{"notifications/subscriptions/acknowledged", "notifications/tools/list_changed"} {
		for line := ""; !strings.Contains(line, want); {
			var err error
			line, err = stream.ReadString('\n')
			require.NoError(t, err, want)
		}
		w.server.Announce()
	}
	w.handler.Close()
	_, err := io.Copy(io.Discard, stream)
	assert.NoError(t, err, "the stream ends with the server")
}

func TestALibraryMountsItWhereItLikes(t *testing.T) {
	var served bytes.Buffer
	h := newHost(t, host.Options{}, echoTool())
	handler := mcpserve.NewHTTP(mcpserve.New(h, mcpserve.Options{Name: "mine", Version: "1"}), mcpserve.HTTPOptions{})
	defer handler.Close()
	mux := http.NewServeMux()
	mux.Handle("/agents/tools", handler)
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { served.WriteString("page") })
	server := httptest.NewServer(mux)
	defer server.Close()
	w := &web{t: t, url: server.URL + "/agents/tools"}
	r, err := w.clientOf(nil).CallTool(t.Context(),
		&mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
	require.NoError(t, err)
	assert.False(t, r.IsError)
	assert.Empty(t, served.String())
}
