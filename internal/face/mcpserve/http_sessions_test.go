package mcpserve_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

func TestSessionsEnd(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	entered := make(chan struct{}, 10)
	wait := newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	t.Run("by DELETE, with their calls", func(t *testing.T) {
		w := serveWeb(t, newHost(t, host.Options{}, wait, sessionTool()), mcpserve.HTTPOptions{})
		headers := w.initialize("2025-11-25", "{}")
		name := textOf(t, answer(t, w.post(callMessage(1, "session", "{}"), headers...)))
		w.start(callMessage(2, "wait", "{}"), headers...)
		testproc.Receive(t, entered, "a call")
		assert.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, nil, headers...).StatusCode)
		assert.Equal(t, name, testproc.Receive(t, w.ended, "the end of a session"))
		response := w.post(callMessage(3, "session", "{}"), headers...)
		assert.Equal(t, http.StatusNotFound, response.StatusCode)
		assert.Contains(t, fmt.Sprint(answer(t, response)["error"]), "initialize")
	})
	t.Run("by being idle", func(t *testing.T) {
		w := serveWeb(t, newHost(t, host.Options{}, sessionTool()),
			mcpserve.HTTPOptions{SessionIdle: 50 * time.Millisecond})
		headers := w.open("2025-11-25")
		testproc.Receive(t, w.ended, "the end of a session")
		assert.Equal(t, http.StatusNotFound, w.post(callMessage(3, "session", "{}"), headers...).StatusCode)
	})
	t.Run("not while an event stream is open", func(t *testing.T) {
		w := serveWeb(t, newHost(t, host.Options{}, sessionTool()), mcpserve.HTTPOptions{SessionIdle: time.Second})
		stream := w.do(http.MethodGet, nil, w.open("2025-11-25")...)
		for stream.StatusCode != http.StatusOK { // on a busy machine it may end before
			require.Equal(t, http.StatusNotFound, stream.StatusCode)
			testproc.Receive(t, w.ended, "the end of a session")
			stream = w.do(http.MethodGet, nil, w.open("2025-11-25")...)
		}
		select {
		case <-w.ended:
			assert.Fail(t, "it has ended")
		case <-time.After(2500 * time.Millisecond):
		}
		require.NoError(t, stream.Body.Close())
		testproc.Receive(t, w.ended, "the end of a session")
	})
	t.Run("with the server", func(t *testing.T) {
		w := serveWeb(t, newHost(t, host.Options{}, wait), mcpserve.HTTPOptions{})
		headers := w.initialize("2025-11-25", "{}")
		w.start(callMessage(2, "wait", "{}"), headers...)
		testproc.Receive(t, entered, "a call")
		w.handler.Close()
		testproc.Receive(t, w.ended, "the end of a session")
		assert.Equal(t, http.StatusServiceUnavailable, w.post(fmt.Sprintf(hello, "2025-11-25", "{}")).StatusCode)
	})
}

func TestSessionsAreBounded(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, sessionTool()),
		mcpserve.HTTPOptions{Sessions: 2})
	first := w.initialize("2025-11-25", "{}")
	w.initialize("2025-11-25", "{}")
	response := w.post(fmt.Sprintf(hello, "2025-11-25", "{}"))
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.NotEmpty(t, response.Header.Get("Retry-After"))
	message, headers := stateless("session", "{}", "{}", "")
	assert.Equal(t, http.StatusServiceUnavailable, w.post(message, headers...).StatusCode)
	assert.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, nil, first...).StatusCode)
	testproc.Receive(t, w.ended, "the end of a session")
	w.initialize("2025-11-25", "{}")

	idle := serveWeb(t, newHost(t, host.Options{}, sessionTool()),
		mcpserve.HTTPOptions{Sessions: 1, SessionIdle: 50 * time.Millisecond})
	for range 3 {
		headers := idle.open("2025-11-25")
		testproc.Receive(t, idle.ended, "the end of a session")
		assert.Equal(t, http.StatusNotFound, idle.post(callMessage(1, "session", "{}"), headers...).StatusCode)
	}
}

func TestACallEndsWithItsRequestWhereThereAreNoSessions(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	w := serveWeb(t, newHost(t, host.Options{},
		newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			close(entered)
			<-ctx.Done()
			close(left)
			return nil, ctx.Err()
		})), mcpserve.HTTPOptions{})
	message, headers := stateless("wait", "{}", "{}", "")
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(message))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	go func() { _, _ = http.DefaultClient.Do(request) }()
	testproc.Receive(t, entered, "a call")
	cancel()
	testproc.Receive(t, left, "the end of the call")
}

func TestOneSessionDoesNotTakeThePlacesOfOthers(t *testing.T) {
	entered := make(chan struct{}, 100)
	wait := newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	w := serveWeb(t, newHost(t, host.Options{}, wait, echoTool()), mcpserve.HTTPOptions{})
	greedy, other := w.initialize("2025-11-25", "{}"), w.initialize("2025-11-25", "{}")
	for n := range 100 {
		w.start(callMessage(n, "wait", "{}"), greedy...)
	}
	for range 32 {
		testproc.Receive(t, entered, "a call")
	}
	assert.Equal(t, `{"text":"x"}`, textOf(t, answer(t, w.post(callMessage(1, "echo", `{"text":"x"}`), other...))))
	assert.Empty(t, entered, "the others wait")
	w.handler.Close()
}

func TestAClientThatLeavesWhileItOpensASession(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, sessionTool()),
		mcpserve.HTTPOptions{Sessions: 3, SessionIdle: 200 * time.Millisecond})
	message := fmt.Sprintf(hello, "2025-11-25", "{}")
	for n := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*50*time.Microsecond)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(message))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
		cancel()
	}
	testproc.Until(t, "what they have left behind expires", func() (bool, string) {
		response := w.post(message)
		return response.StatusCode == http.StatusOK, response.Status
	})
}

func TestTheLogDoesNotTellSessionIDs(t *testing.T) {
	var log safeBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	server := mcpserve.New(newHost(t, host.Options{}, sessionTool()),
		mcpserve.Options{Name: "t", Version: "1", Logger: logger})
	handler := mcpserve.NewHTTP(server, mcpserve.HTTPOptions{Logger: logger})
	listener := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Close(); listener.Close() })
	w := &web{t: t, url: listener.URL}
	headers := w.initialize("2025-11-25", "{}")
	answer(t, w.post(callMessage(1, "session", "{}"), headers...))
	w.post("{}", "Host: evil.example")
	w.do(http.MethodDelete, nil, headers...)
	_, id, _ := strings.Cut(headers[0], ": ")
	assert.Contains(t, log.String(), "evil.example")
	assert.NotContains(t, log.String(), id)
}

type safeBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
