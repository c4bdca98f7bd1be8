//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/fleet"
)

// effect is an agent.hcl with a tool that logs each of its runs, in a file that
// all workers share. It logs twice, with time between, so that it can be cut off.
const effect = `
tool "effect" {
  description = "Log a run. Returns: the name."
  risk        = "dangerous"
  param "name" {}
  command { argv = ["sh", "-c", "echo \"$1\" >> effects.log; echo \"done $1\"", "sh", param.name] }
}
tool "look" {
  description = "Say a word. Returns: the word."
  risk        = "read_only"
  param "name" {}
  command { argv = ["echo", "seen", param.name] }
}
policy {
  dangerous = "allow"
}
`

// callLimit is what a call may take.
const callLimit = 20 * time.Second

// patience is what a caller has to wait at most: in the short form, which runs
// beside other tests, longer than is promised.
func patience() time.Duration {
	if number("TOOLHOST_TEST_SECONDS", shortStorm) == shortStorm {
		return callLimit + waits
	}
	return callLimit + 5*time.Second
}

// shortStorm is how many seconds the short form lasts.
const shortStorm = 15

// Calls under kill -9 and SIGSTOP of every role, and under cut and slow
// connections: each effect happens once at most, each result that was given is
// given again, what was lost is said to be, and nobody waits longer than the limit
// and 5 s, which the short form allows to be longer. That ends after 15 s; make
// faults is the long one.
func TestFaults(t *testing.T) {
	calls := number("TOOLHOST_TEST_CALLS", 2000)
	seed := uint64(number("TOOLHOST_TEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("TOOLHOST_TEST_CALLS=%d TOOLHOST_TEST_SEED=%d", calls, seed)
	storm := newStorm(t, seed)
	storm.began, storm.longest = time.Now(), time.Duration(number("TOOLHOST_TEST_SECONDS", shortStorm))*time.Second
	stop := make(chan struct{})
	var breaking, watching sync.WaitGroup
	breaking.Go(func() { storm.rage(stop) })
	watching.Go(func() { storm.watch(stop) })
	each(16, func(i int) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for n := int(storm.next.Add(1)); n <= calls && !t.Failed() && !storm.over(); n = int(storm.next.Add(1)) {
			storm.call(random, n)
		}
	})
	close(stop)
	breaking.Wait()
	watching.Wait()
	storm.check()
	storm.askAgain(calls)
}

// each does something that many times at one time.
func each(times int, do func(i int)) {
	var doing sync.WaitGroup
	for i := range times {
		doing.Go(func() { do(i) })
	}
	doing.Wait()
}

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

// storm is a fleet whose programs are broken.
type storm struct {
	*theFleet
	random   *rand.Rand
	project  string
	hub      *process
	listen   string
	proxy    *proxy
	began    time.Time
	longest  time.Duration
	next     atomic.Int64 // the number of a call
	answered atomic.Int64
	stalled  atomic.Int64 // how long gateways, or the machine, stood still

	mu       sync.Mutex
	gateways []string
	servers  []*process
	results  map[int]string // of calls that were answered, by their number
	lost     map[int]bool
	stopped  map[*process]bool
}

func newStorm(t *testing.T, seed uint64) *storm {
	t.Helper()
	s := &storm{theFleet: &theFleet{place: newPlace(t)}, random: rand.New(rand.NewPCG(seed, 1<<40)),
		results: make(map[int]string), lost: make(map[int]bool), stopped: make(map[*process]bool)}
	s.write("agent.hcl", effect)
	s.project = filepath.Dir(s.write("project/effects.log", ""))
	s.write("fleet.hcl", fmt.Sprintf("workspace \"shared\" {\n directory = %q\n config = %q\n}\n", s.project,
		filepath.Join(s.home, "agent.hcl")))
	s.store = filepath.Join(s.home, "hub")
	s.hub = s.start("hub", "--listen", "127.0.0.1:0", "--store", s.store)
	s.hubURL = s.hub.find(`hub is at (\S+),`)
	s.listen = strings.TrimPrefix(s.hubURL, "nats://")
	s.proxy = newProxy(t, s.listen)
	for i := range number("TOOLHOST_TEST_WORKERS", 3) {
		s.workers = append(s.workers, s.startWorker(i))
	}
	for range 2 {
		s.addGateway()
	}
	for _, w := range s.workers {
		w.find("takes sessions")
	}
	return s
}

func (s *storm) over() bool { return time.Since(s.began) > s.longest }

// startWorker starts a worker; the first reach the hub through the proxy.
func (s *storm) startWorker(i int) *process {
	url := s.hubURL
	if i < 2 {
		url = s.proxy.url
	}
	return s.start("worker", "--hub", url, "--key", s.key("worker"), "--log-level", "info", "--directory", s.project,
		"--dir", filepath.Join(s.home, fmt.Sprint("worker", i)))
}

func (s *storm) addGateway() {
	s.mu.Lock()
	url := s.hubURL
	if len(s.gateways) == 0 {
		url = s.proxy.url
	}
	s.mu.Unlock()
	g := s.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", url, "--key", s.key("gateway"),
		"--call-limit", callLimit.String(), "--fleet-config", filepath.Join(s.home, "fleet.hcl"))
	url = g.find(`serves MCP at (\S+)`)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateways, s.servers = append(s.gateways, url), append(s.servers, g)
}

// rage breaks one thing after the other, and starts what it has killed again.
func (s *storm) rage(stop <-chan struct{}) {
	defer func() {
		if s.t.Failed() {
			for i, w := range s.workers {
				s.t.Logf("worker %d: %s", i, w.said())
			}
		}
	}()
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(500+s.random.IntN(2500)) * time.Millisecond):
		}
		s.breathe(stop)
		act := s.random.IntN(14)
		s.t.Logf("%s act %d", time.Now().Format("05.000"), act)
		s.act(act, stop)
	}
}

// breathe waits, for a while, for some calls to be answered.
func (s *storm) breathe(stop <-chan struct{}) {
	enough := s.answered.Load() + 8
	for range 100 {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if s.answered.Load() >= enough {
			return
		}
	}
}

func (s *storm) act(act int, stop <-chan struct{}) {
	switch i := s.random.IntN(len(s.workers)); {
	case act < 4:
		s.workers[i].kill()
		s.workers[i] = s.startWorker(i)
	case act < 7:
		s.freeze(s.workers[i], stop)
	case act < 8:
		i := s.random.IntN(len(s.servers))
		s.mu.Lock()
		gone := s.servers[i]
		s.gateways = append(s.gateways[:i:i], s.gateways[i+1:]...)
		s.servers = append(s.servers[:i:i], s.servers[i+1:]...)
		s.mu.Unlock()
		gone.kill()
		s.addGateway()
	case act < 9:
		began := time.Now()
		s.freeze(s.servers[s.random.IntN(len(s.servers))], stop)
		s.stalled.Add(int64(time.Since(began)))
	case act < 10:
		s.freeze(s.hub, stop)
	case act < 12:
		s.proxy.cut()
	case act < 13:
		s.proxy.slow(time.Duration(s.random.IntN(int(2 * fleet.Lease))))
	default:
		s.hub.kill()
		s.hub = s.start("hub", "--listen", s.listen, "--store", s.store)
		s.hub.find(`hub is at (\S+),`)
	}
}

// watch adds up how long this machine had no time for the test.
func (s *storm) watch(stop <-chan struct{}) {
	const tick = 50 * time.Millisecond
	for {
		began := time.Now()
		select {
		case <-stop:
			return
		case <-time.After(tick):
			s.stalled.Add(int64(time.Since(began) - tick))
		}
	}
}

// freeze stops a program for longer or shorter than a lease.
func (s *storm) freeze(p *process, stop <-chan struct{}) {
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	select {
	case <-stop:
	case <-time.After(time.Duration(s.random.IntN(int(3 * fleet.Lease / 2)))):
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
}

func toolOf(n int) string {
	if n%4 == 0 {
		return "look"
	}
	return "effect"
}

// call makes a call, and again with the same name until it has an answer. Some
// that have one are made once more.
func (s *storm) call(random *rand.Rand, n int) {
	name := toolOf(n)
	for {
		text, meta := s.try(random, name, n)
		if text == "" && s.over() {
			return
		}
		if text == "" {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		s.answered.Add(1)
		s.mu.Lock()
		before, answered := s.results[n]
		lost := s.lost[n]
		switch {
		case meta == string(fleet.CodeLost):
			assert.False(s.t, answered, "call %d had a result and is said to be lost: %s", n, text)
			assert.Equal(s.t, "effect", name, "call %d can be made again", n)
			s.lost[n] = true
		default:
			assert.False(s.t, lost, "call %d was lost and has a result: %s", n, text)
			if answered {
				assert.Equal(s.t, before, text, "call %d", n)
			}
			s.results[n] = text
		}
		s.mu.Unlock()
		if random.IntN(4) > 0 || s.t.Failed() {
			return
		}
	}
}

// try makes one attempt; there is no text where it has to be made again.
func (s *storm) try(random *rand.Rand, name string, n int) (text, meta string) {
	s.mu.Lock()
	url := s.gateways[random.IntN(len(s.gateways))]
	s.mu.Unlock()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"name":"n%d"},`+
		`"_meta":{"request_id":"r%d","io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, n, name, n, n)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost,
		url+"?session="+fmt.Sprint("s", n%number("TOOLHOST_TEST_SESSIONS", 12)),
		strings.NewReader(message))
	for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": "tools/call",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": name} {
		r.Header.Set(header, value)
	}
	began, stalled := time.Now(), s.stalled.Load()
	defer func() {
		took, stalled := time.Since(began), time.Duration(s.stalled.Load()-stalled)
		assert.Less(s.t, took-stalled, patience(), "call %d, of which %s nothing ran: %q", n, stalled, text)
	}()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", ""
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", ""
	}
	return s.read(n, data)
}

// read reads an answer; there is no text where the call was not made.
func (s *storm) read(n int, data []byte) (text, meta string) {
	if i := bytes.LastIndex(data, []byte("data: {")); i >= 0 {
		data = data[i+len("data: "):]
	}
	var message struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
			Meta    map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(bytes.TrimSpace(data), &message) != nil || message.Result == nil ||
		len(message.Result.Content) == 0 {
		return "", ""
	}
	meta, _ = message.Result.Meta[fleet.OutcomeMeta].(string)
	text = strings.TrimSpace(message.Result.Content[0].Text)
	if message.Result.IsError && meta != string(fleet.CodeLost) {
		assert.Regexp(s.t, `not run|cannot answer|could not be opened|moving|busy|no worker|no result within|not known whether`, text,
			"call %d", n)
		return "", ""
	}
	return text, meta
}

// check compares the effects with what was said about them.
func (s *storm) check() {
	data, err := os.ReadFile(filepath.Join(s.project, "effects.log"))
	require.NoError(s.t, err)
	times := make(map[string]int)
	for _, line := range strings.Fields(string(data)) {
		times[line]++
	}
	for name, n := range times {
		assert.Equal(s.t, 1, n, "the effect of %s", name)
	}
	for n, text := range s.results {
		if n%4 != 0 {
			assert.Equal(s.t, 1, times[fmt.Sprint("n", n)], "call %d has the result %q", n, text)
			assert.Contains(s.t, text, fmt.Sprint("done n", n))
		}
	}
	assert.NotEmpty(s.t, s.results)
	s.t.Logf("%d results, %d lost, %d effects", len(s.results), len(s.lost), len(times))
}

// mostAgain bounds the results that the short form asks for again.
const mostAgain = 200

// askAgain asks for the results again, now that nothing breaks any more.
func (s *storm) askAgain(calls int) {
	s.proxy.slow(0)
	s.began, s.longest = time.Now(), waits
	var asked atomic.Int64
	each(8, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for n := i + 1; n <= calls && !s.t.Failed(); n += 8 {
			s.mu.Lock()
			_, answered := s.results[n]
			s.mu.Unlock()
			if !answered && !s.lost[n] || calls <= 2000 && asked.Add(1) > mostAgain {
				continue
			}
			s.call(random, n)
		}
	})
	assert.False(s.t, s.over(), "results are not found again")
}
