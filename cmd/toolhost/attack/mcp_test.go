package attack

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// rawLines are what a client must not send. The host still answers after each. refused reports whether
// only an error is right.
var rawLines = []struct {
	name, line string
}{
	{"not JSON", `hello`},
	{"half an object", `{"jsonrpc":"2.0","id":1001,"method":"ping"`},
	{"an empty line", ``},
	{"bytes", "\x00\x01\xff\xfe\x1b[2J"},
	{"a list of nothing", `[]`},
	{"a string", `"ping"`},
	{"a number", `1e999999`},
	{"null", `null`},
	{"no version", `{"id":1002,"method":"ping"}`},
	{"another version", `{"jsonrpc":"1.0","id":1003,"method":"ping"}`},
	{"an id that is an object", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`},
	{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
	{"a method that is a number", `{"jsonrpc":"2.0","id":1004,"method":5}`},
	{"an unknown method", `{"jsonrpc":"2.0","id":1005,"method":"tools/destroy","params":{}}`},
	{"a method with dots", `{"jsonrpc":"2.0","id":1006,"method":"../../etc/passwd","params":{}}`},
	{"parameters that are a list", `{"jsonrpc":"2.0","id":1007,"method":"tools/call","params":[1]}`},
	{"parameters that are missing", `{"jsonrpc":"2.0","id":1008,"method":"tools/call"}`},
	{"arguments that are a string",
		`{"jsonrpc":"2.0","id":1009,"method":"tools/call","params":{"name":"read_file","arguments":"ok.txt"}}`},
	{"a tool without a name", `{"jsonrpc":"2.0","id":1010,"method":"tools/call","params":{"arguments":{}}}`},
	{"a tool with a long name",
		`{"jsonrpc":"2.0","id":1011,"method":"tools/call","params":{"name":"` + strings.Repeat("n", 100000) +
			`","arguments":{}}}`},
	{"deep nesting", `{"jsonrpc":"2.0","id":1012,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 100000) +
		"1" + strings.Repeat("}", 100000) + `}`},
	{"deep lists", strings.Repeat("[", 500000)},
	{"an answer to nothing", `{"jsonrpc":"2.0","id":9999,"result":{}}`},
	{"an error to nothing", `{"jsonrpc":"2.0","id":9998,"error":{"code":1,"message":"x"}}`},
	{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/none"}`},
	{"the end of an unknown call",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}`},
	{"the end of no call", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`},
	{"progress of nothing",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`},
	{"a second hello", `{"jsonrpc":"2.0","id":1013,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`},
	{"a resource that is a file",
		`{"jsonrpc":"2.0","id":1014,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`},
	{"a resource outside",
		`{"jsonrpc":"2.0","id":1015,"method":"resources/read","params":{"uri":"file://{OUT}/secret.txt"}}`},
	{"a resource by dots", `{"jsonrpc":"2.0","id":1016,"method":"resources/read",` +
		`"params":{"uri":"toolhost://runs/../../../outside/secret.txt"}}`},
	{"a prompt that is none", `{"jsonrpc":"2.0","id":1017,"method":"prompts/get","params":{"name":"../x"}}`},
	{"a level that is none", `{"jsonrpc":"2.0","id":1018,"method":"logging/setLevel","params":{"level":"none"}}`},
	{"a cursor that is forged", `{"jsonrpc":"2.0","id":1019,"method":"tools/list","params":{"cursor":"../../x"}}`},
	{"a state that is forged",
		`{"jsonrpc":"2.0","id":1020,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"x",` +
			`"content":"y"},"requestState":"forged","inputResponses":{"toolhost.approval":{"action":"accept"}}}}`},
}

func TestMCPLines(t *testing.T) {
	t.Parallel()
	a := newArena(t, nil)
	a.arm()
	h := a.serve(nil)
	for _, x := range rawLines {
		t.Run(x.name, func(t *testing.T) {
			tally.note(tally.cases, "mcp", "line: "+x.name)
			h.send(a.fill(x.line))
			assert.Empty(t, broken(h))
			r := h.call("read_file", `{"path":"ok.txt"}`)
			assert.Equal(t, "fine\n", r.text)
		})
	}
	assert.Empty(t, dropNull(h.stop()))
}

// broken is inspect that allows as many answers without an id as there are unreadable lines.
func broken(h *host) []violation { return dropNull(h.inspect(new(result))) }

func dropNull(found []violation) []violation {
	var rest []violation
	for _, v := range found {
		if !strings.HasSuffix(v.what, "answers to request null") && !strings.HasSuffix(v.what, "answers to request ") {
			rest = append(rest, v)
		}
	}
	return rest
}

func TestMCPFloods(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, flood := range map[string]func(h *host){
		"pings": func(h *host) {
			for range 3000 {
				h.start("ping", "{}")
			}
		},
		"notifications": func(h *host) {
			for range 20000 {
				h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			}
		},
		"calls at once": func(h *host) {
			for range 400 {
				h.startCall("read_file", `{"path":"ok.txt"}`)
			}
		},
		"calls that are ended at once": func(h *host) {
			for range 200 {
				id := h.startCall("rg", `{"pattern":"fine"}`)
				h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			}
		},
		"lists": func(h *host) {
			for range 200 {
				h.start("tools/list", "{}")
			}
		},
		"broken lines": func(h *host) {
			for range 3000 {
				h.send(`{"jsonrpc":`)
			}
		},
		"a message of 200 MB": func(h *host) {
			piece := strings.Repeat("x", 1<<20)
			_, _ = io.WriteString(h.in,
				`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"big","content":"`)
			for range 200 {
				_, _ = io.WriteString(h.in, piece)
			}
			h.send(`"}}}`)
		},
		"a line that goes on": func(h *host) {
			_, _ = io.WriteString(h.in, strings.Repeat(" ", 5<<20)+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "mcp", "flood: "+name)
			a := newArena(t, nil)
			a.arm()
			h := a.serve(nil)
			flood(h)
			require.NotNil(t, h.ask("ping", "{}"), "an answer after the flood")
			assert.Empty(t, broken(h), "and soon once it is over")
			if memory := residentMB(h.cmd.Process.Pid); memory > 1000 {
				t.Errorf("the host takes %d MB", memory)
			}
			assert.Empty(t, dropNull(h.stop()))
		})
	}
}

func residentMB(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int
	_, _ = fmt.Sscan(string(data), &size, &resident)
	return resident * os.Getpagesize() >> 20
}

func (a *arena) overHTTP(token string) (url string, stop func()) {
	a.t.Helper()
	cmd := a.program([]string{"TOOLHOST_HTTP_TOKEN=" + token}, "serve", "--http", "127.0.0.1:0", "--log-level", "info")
	errs, err := cmd.StderrPipe()
	require.NoError(a.t, err)
	require.NoError(a.t, cmd.Start())
	address := testproc.Listen(errs).Find(a.t, `127\.0\.0\.1:\d+`)
	return "http://" + address, func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
}

const helloHTTP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends a message; change may spoil the request.
func post(url, token, body string, change func(*http.Request)) (int, string) {
	request, err := http.NewRequest(http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if change != nil {
		change(request)
	}
	client := &http.Client{Timeout: slow}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(answer)
}

func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	const token = "right-token-0123456789abcdef"
	a := newArena(t, nil)
	a.arm()
	url, stop := a.overHTTP(token)
	defer stop()
	code, said := post(url, token, helloHTTP, nil)
	require.Equal(t, 200, code, "a proper request is served: %s", said)
	tally.note(tally.controls, "mcp", "a proper request over HTTP")
	for name, x := range map[string]struct {
		token, body string
		change      func(*http.Request)
	}{
		"no token":            {"", helloHTTP, nil},
		"a wrong token":       {"wrong-token", helloHTTP, nil},
		"the beginning of it": {token[:10], helloHTTP, nil},
		"the token as a parameter": {"", helloHTTP,
			func(r *http.Request) { r.URL.RawQuery = "token=" + token + "&access_token=" + token }},
		"another scheme": {"", helloHTTP,
			func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }},
		"a foreign origin": {token, helloHTTP,
			func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		"an origin of null": {token, helloHTTP, func(r *http.Request) { r.Header.Set("Origin", "null") }},
		"an origin that begins so": {token, helloHTTP,
			func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1.evil.example") }},
		"a name that was rebound": {token, helloHTTP, func(r *http.Request) { r.Host = "evil.example" }},
		"a host with a user":      {token, helloHTTP, func(r *http.Request) { r.Host = "localhost@evil.example" }},
		"a guessed session": {token, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "AAAAAAAAAAAAAAAA") }},
		"another content type": {token, helloHTTP,
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"a path upwards": {token, helloHTTP,
			func(r *http.Request) { r.URL.Path = "/mcp/../../outside/secret.txt" }},
		"another path": {token, helloHTTP, func(r *http.Request) { r.URL.Path = "/etc/passwd" }},
		"PUT":          {token, helloHTTP, func(r *http.Request) { r.Method = http.MethodPut }},
		"a body that is too large": {token,
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 100<<20) + `"}}`, nil},
		"a broken body": {token, `{"jsonrpc":`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tally.note(tally.cases, "mcp", "HTTP: "+name)
			code, said := post(url, x.token, x.body, x.change)
			assert.False(t, code >= 200 && code < 300, "it was served: %d %.200s", code, said)
			assert.NotContains(t, said, a.secret)
			began := time.Now()
			code, _ = post(url, token, helloHTTP, nil)
			assert.Equal(t, 200, code, "others are served still")
			assert.Less(t, time.Since(began), slow)
			assert.Empty(t, a.inspect(said))
		})
	}
}

// Controls of the checks of answers, with a host that repeats its input.
func TestMCPControls(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	a := newArena(t, nil)
	a.soon = brief
	a.arm()
	h := newHost(a, exec.Command(self))
	h.cmd.Env = a.env("ATTACK_ROLE=echo")
	h.begin()
	h.send("this is no protocol")
	require.True(t, within(patience, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.noise) > 0 }))
	found := h.inspect(new(result))
	control(t, "mcp", "noise on stdout", checkResult, found)
	control(t, "mcp", "a host that does not answer", checkAlive, found)
	h.send(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	h.send(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	require.True(t, within(patience, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.answers["5"]) == 2 }))
	h.noise = nil
	control(t, "mcp", "two answers to one request", checkResult, h.inspect(new(result)))
	_ = h.in.Close()
	testproc.Receive(h.a.t, h.done, "the end of the host")
}
