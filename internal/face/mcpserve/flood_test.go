package mcpserve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// listening is a server with ListenAndServe, and raw sockets to it.
type listening struct {
	t    *testing.T
	addr string
	web  *web
	stop func()
}

func listen(t *testing.T, o mcpserve.HTTPOptions, tools ...tool.Tool) *listening {
	t.Helper()
	handler := mcpserve.NewHTTP(mcpserve.New(newHost(t, host.Options{}, tools...),
		mcpserve.Options{Name: "toolhost", Version: "test"}), o)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- handler.ListenAndServe(ctx, listener, nil) }()
	addr := listener.Addr().String()
	l := &listening{t: t, addr: addr, web: &web{t: t, url: "http://" + addr + "/mcp"}}
	l.stop = func() {
		cancel()
		if done != nil {
			assert.NoError(t, testproc.Receive(t, done, "the end of the server"))
			done = nil
		}
	}
	t.Cleanup(l.stop)
	return l
}

func (l *listening) dial(send string) net.Conn {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.addr)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, send)
	require.NoError(l.t, err)
	return conn
}

func (l *listening) status(conn net.Conn) int {
	l.t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(l.t, err)
	defer response.Body.Close()
	return response.StatusCode
}

// serves checks that a whole client's work takes at most a second. Retries allow for a busy machine.
func (l *listening) serves(during string) {
	l.t.Helper()
	var took time.Duration
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		started := time.Now()
		l.work(during)
		if took = time.Since(started); took < promptly {
			return
		}
	}
	assert.Less(l.t, took, promptly, during)
}

// work connects, calls a tool and leaves.
func (l *listening) work(during string) {
	l.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	message, headers := stateless("echo", `{"text":"x"}`, "{}", "")
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.web.url, strings.NewReader(message))
	require.NoError(l.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	require.NoError(l.t, err, during)
	defer response.Body.Close()
	assert.Equal(l.t, `{"text":"x"}`, textOf(l.t, answer(l.t, response)), during)
}

const posting = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// settled waits until a number is small again. It runs in the test's own goroutine, as the number may
// count goroutines.
func settled(t *testing.T, what string, limit uint64, now func() uint64) {
	t.Helper()
	last := now()
	for end := time.Now().Add(time.Minute); last > limit && time.Now().Before(end); last = now() {
		time.Sleep(50 * time.Millisecond)
	}
	if !assert.LessOrEqual(t, last, limit, what) {
		stacks := make([]byte, 1<<20)
		t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// goroutines counts goroutines without those of the test client's idle connections.
func goroutines() uint64 {
	http.DefaultClient.CloseIdleConnections()
	return uint64(runtime.NumGoroutine())
}

func TestRefusalsOnARawSocket(t *testing.T) {
	l := listen(t, mcpserve.HTTPOptions{Token: "0123456789abcdef"}, echoTool())
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"a wrong Host":   {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", 403},
		"no Host":        {"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400},
		"a wrong Origin": {"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n", 403},
		"no token":       {"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n", 401},
		"two Origins": {"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n" +
			"Origin: http://evil.example\r\n\r\n", 403},
		"health of another": {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
		"health":            {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
		"another path":      {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		"huge headers": {"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
			431},
		"no HTTP": {"hello\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			l := &listening{t: t, addr: l.addr}
			assert.Equal(t, tt.status, l.status(l.dial(tt.request)))
		})
	}
}

func TestAHundredMegabytes(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	l := listen(t, mcpserve.HTTPOptions{}, echoTool())
	before := heap()
	conn := l.dial(posting + "Content-Length: 104857600\r\n\r\n")
	assert.Equal(t, 413, l.status(conn), "refused by what it says of itself")

	var sent int64
	conn = l.dial(posting + "Transfer-Encoding: chunked\r\n\r\n")
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
	for range 100 {
		if _, err := io.WriteString(conn, chunk); err != nil {
			break
		}
		sent += 1 << 20
		if sent == 4<<20 {
			l.serves("while it arrives")
		}
	}
	assert.Less(t, sent, int64(100<<20), "the server hangs up")
	settled(t, "heap", before+8<<20, heap)
}

func TestManyLargeMessagesAtOnceShareABudget(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	l := listen(t, mcpserve.HTTPOptions{}, echoTool())
	before := heap()
	body := strings.Repeat("x", 7<<20)
	statuses := make(chan int, 30)
	for range 30 {
		conn := l.dial(posting + "Content-Length: 7340033\r\n\r\n") // one byte more than is sent
		go func() {
			_, _ = io.WriteString(conn, body)
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				statuses <- 0 // it still waits for the last byte
				return
			}
			statuses <- response.StatusCode
		}()
	}
	refused := 0
	for range 15 {
		if testproc.Receive(t, statuses, "an answer") == http.StatusServiceUnavailable {
			refused++
		}
	}
	assert.Positive(t, refused)
	l.serves("while the budget is used up")
	assert.Less(t, heap(), before+200<<20)
}

func TestHalfAMessage(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	l := listen(t, mcpserve.HTTPOptions{Patience: time.Second}, echoTool())
	started := time.Now()
	body := l.dial(posting + "Content-Length: 1000\r\n\r\n{\"jsonrpc\":")
	header := l.dial("POST /mcp HTTP/1.1\r\nHost: 127.")
	var others sync.WaitGroup // on a busy machine serving may take longer than the deadline
	others.Go(func() {
		_ = header.SetReadDeadline(time.Now().Add(time.Minute))
		_, err := io.Copy(io.Discard, header)
		assert.NoError(t, err, "the server hangs up")
		assert.Less(t, time.Since(started), mcpserve.DefaultPatience*9/10)
	})
	l.serves("while two clients stall")
	assert.Equal(t, http.StatusRequestTimeout, l.status(body))
	others.Wait()
}

func TestFiveHundredConnections(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	l := listen(t, mcpserve.HTTPOptions{}, echoTool())
	l.serves("before")
	before, threads := heap(), goroutines()
	for name, send := range map[string]string{"silent": "", "half a header": "POST /mcp HTTP/1.1\r\nHo",
		"half a body": posting + "Content-Length: 10\r\n\r\n{"} {
		var conns []net.Conn
		for range 500 {
			conns = append(conns, l.dial(send))
		}
		l.serves("with 500 connections: " + name)
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	for range 1500 {
		l.dial("")
	}
	l.serves("with more connections than there may be")
	l.stop()
	settled(t, "goroutines", threads+5, goroutines)
	settled(t, "heap", before+16<<20, heap)
}

func TestASlowReader(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	flood := newTool("flood", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		return tool.Text(strings.Repeat("0123456789abcdef", 1<<18)), nil // 4 MiB
	})
	l := listen(t, mcpserve.HTTPOptions{Patience: 500 * time.Millisecond}, echoTool(), flood)
	before, threads := heap(), goroutines()
	headers := l.web.initialize("2025-11-25", "{}")
	for n := range 10 {
		message := callMessage(n, "flood", "{}")
		l.dial(fmt.Sprintf("%s%s\r\nContent-Length: %d\r\n\r\n%s", posting, strings.Join(headers, "\r\n"),
			len(message)+2, message+"\r\n"))
	}
	l.serves("while ten clients read nothing")
	settled(t, "goroutines", threads+15, goroutines) // connections that read nothing are dropped
	l.stop()
	settled(t, "heap", before+24<<20, heap) // what is kept for reconnecting clients is bounded
}
