package mcpserve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// `make soak` does more, with the whole program.
func TestNothingGrowsOverStdio(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	w := dial(t, newHost(t, host.Options{}, echoTool()))
	w.initialize("2025-11-25")
	call := func(n int) {
		for i := range n {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo",`+
				`"arguments":{"text":"x"},"_meta":{"progressToken":%d}}}`, i, i))
			require.Contains(t, fmt.Sprint(w.receive()), `{"text":"x"}`)
		}
	}
	call(200)
	files := func() uint64 { return uint64(testproc.OpenFiles(t)) }
	routines, open, memory := goroutines(), files(), heap()
	call(2000)
	settled(t, "goroutines", routines, goroutines)
	settled(t, "files", open, files)
	settled(t, "heap", memory+2<<20, heap)
}

func TestNothingGrowsInAHundredSessions(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	l := listen(t, mcpserve.HTTPOptions{}, echoTool())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	send := func(session, method, body string) (string, string) {
		request, err := http.NewRequest(method, l.web.url, strings.NewReader(body))
		if !assert.NoError(t, err) {
			return "", ""
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		response, err := client.Do(request)
		if !assert.NoError(t, err) {
			return "", ""
		}
		defer response.Body.Close()
		data, _ := io.ReadAll(response.Body)
		return response.Header.Get("Mcp-Session-Id"), string(data)
	}
	round := func() {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				session, _ := send("", http.MethodPost, fmt.Sprintf(hello, "2025-11-25", "{}"))
				for n := range 10 {
					_, body := send(session, http.MethodPost, callMessage(n, "echo", `{"text":"x"}`))
					assert.Contains(t, body, `{\"text\":\"x\"}`)
				}
				send(session, http.MethodDelete, "")
			})
		}
		all.Wait()
		client.CloseIdleConnections()
	}
	few := goroutines() + 10
	round()
	settled(t, "goroutines", few, goroutines)
	memory := heap()
	for range 2 {
		round()
	}
	settled(t, "goroutines", few, goroutines)
	settled(t, "heap", memory+8<<20, heap)
}
