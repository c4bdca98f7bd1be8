package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// balancer chooses the gateway in front, as a Kubernetes service chooses a ready one.
type balancer struct {
	mu    sync.Mutex
	front *backend
}

type backend struct {
	process *process
	url     string
	passing sync.WaitGroup
}

// enter returns the gateway for a request. The caller calls passing.Done when it is answered.
func (b *balancer) enter() *backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.front.passing.Add(1)
	return b.front
}

// replace puts a gateway in front and returns the previous one.
func (b *balancer) replace(with *backend) *backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.front
	b.front = with
	return before
}

func ask(url string) (status int, text string) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data)
}

// ready starts a gateway and waits until it knows that many workers.
func (f *theFleet) ready(workers int) *backend {
	f.t.Helper()
	p := f.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key", f.key("gateway"),
		"--config", filepath.Join(f.home, "agent.hcl"))
	at, err := neturl.Parse(p.find(`serves MCP at (\S+)`))
	require.NoError(f.t, err)
	at.Path = ""
	b := &backend{process: p, url: at.String()}
	b.knows(workers)
	return b
}

func (b *backend) knows(workers int) {
	b.process.t.Helper()
	knows(b.process.t, b.url, workers)
}

// knows waits until the gateway at a URL knows that many workers: it may hear one
// only after that says that it takes sessions.
func knows(t *testing.T, url string, workers int) {
	t.Helper()
	testproc.Until(t, fmt.Sprint(workers, " workers are known"), func() (bool, string) {
		status, _ := ask(url + "/readyz")
		_, text := ask(url + "/metrics")
		return (status == http.StatusOK) == (workers > 0) &&
			strings.Contains(text, fmt.Sprintf("toolhost_fleet_workers %d\n", workers)), text
	})
}

// chosen makes clients send to the gateway in front.
func (b *balancer) chosen(*testing.T) (url func() (string, func())) {
	return func() (string, func()) {
		at := b.enter()
		return at.url, at.passing.Done
	}
}

// proxied makes clients send to a proxy that does. Go's server closes a request's
// body when the answer starts; a proxy that then reads it once more, to see its
// end, breaks off the answer (golang/go#40747), except with EnableFullDuplex.
func (b *balancer) proxied(t *testing.T) (url func() (string, func())) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := b.enter()
		defer at.passing.Done()
		to, err := neturl.Parse(at.url)
		if err == nil {
			err = http.NewResponseController(w).EnableFullDuplex()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		(&httputil.ReverseProxy{Rewrite: func(out *httputil.ProxyRequest) { out.SetURL(to) }}).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return func() (string, func()) { return server.URL, func() {} }
}

// Workers and gateways are replaced one by one, as by an update of a Deployment,
// while clients call: no call fails or runs twice, and no change is lost. Clients
// reach the gateways directly, or through a proxy.
func TestRollingUpdate(t *testing.T) {
	testneed.LongOnly(t, "it starts a dozen programs")
	for name, through := range map[string]func(*balancer, *testing.T) func() (string, func()){
		"clients choose": (*balancer).chosen, "proxy": (*balancer).proxied,
	} {
		t.Run(name, func(t *testing.T) { rollingUpdate(t, through) })
	}
}

func rollingUpdate(t *testing.T, through func(*balancer, *testing.T) func() (string, func())) {
	f := newFleet(t, 2)
	balance := &balancer{front: f.ready(2)}
	front := through(balance, t)
	var over atomic.Bool
	var calls atomic.Int64
	var clients sync.WaitGroup
	for i := range 6 {
		name := openSession(t, balance.front.url+"/mcp")
		clients.Go(func() {
			var want strings.Builder
			for n := 0; !over.Load() && !t.Failed(); n++ {
				fmt.Fprintf(&want, "c%d-%d\\n", i, n)
				at, done := front()
				said := post(t, at+"/mcp", name, noteMessage(fmt.Sprintf("c%d-%d", i, n)))
				done()
				if !assert.Contains(t, said, `"text":"`+strings.TrimSuffix(want.String(), `\n`)) ||
					!assert.NotContains(t, said, `"isError":true`) {
					return
				}
				calls.Add(1)
			}
		})
	}
	more := func() {
		from := calls.Load()
		testproc.Until(t, "calls go on", func() (bool, string) { return t.Failed() || calls.Load() > from+10, "" })
	}
	for n := range 2 {
		more()
		next := f.worker()
		next.find("takes sessions")
		balance.front.knows(3)
		old := f.workers[n]
		require.NoError(t, old.cmd.Process.Signal(syscall.SIGTERM))
		testproc.Receive(t, old.ended, "the end of the worker")
		balance.front.knows(2)
		more()
		before := balance.replace(f.ready(2))
		before.passing.Wait()
		require.NoError(t, before.process.cmd.Process.Signal(syscall.SIGTERM))
		testproc.Receive(t, before.process.ended, "the end of the gateway")
	}
	more()
	over.Store(true)
	clients.Wait()
	t.Logf("%d calls", calls.Load())
}
