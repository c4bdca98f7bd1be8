package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// resident returns a program's memory, in bytes.
func (r *process) resident() int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	require.NoError(r.t, err)
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(r.t, err)
	return kib << 10
}

// looks is an agent.hcl with a tool that prints a word.
const looks = `
tool "look" {
  description = "Say a word. Returns: the word."
  risk        = "read_only"
  param "name" {}
  command { argv = ["echo", "seen", param.name] }
}
`

// newScale is a fleet of that many worker programs, each with one slot per caller.
func newScale(t *testing.T, workers, callers int, args ...string) (f *theFleet, url string) {
	t.Helper()
	f = &theFleet{place: newPlace(t)}
	f.write("agent.hcl", looks)
	f.store = filepath.Join(f.home, "hub")
	h := f.start("hub", "--listen", "127.0.0.1:0", "--store", f.store)
	f.hubURL = h.find(`hub is at (\S+),`)
	f.workers = []*process{h}
	g := f.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key", f.key("gateway"),
		"--config", filepath.Join(f.home, "agent.hcl"))
	url = g.find(`serves MCP at (\S+)`)
	f.workers = append(f.workers, g)
	for i := range workers {
		w := f.start(append([]string{"worker", "--hub", f.hubURL, "--key", f.key("worker"), "--slots",
			fmt.Sprint(callers),
			"--dir", filepath.Join(f.home, fmt.Sprint("worker", i))}, args...)...)
		w.find("takes sessions")
		f.workers = append(f.workers, w)
	}
	return f, url
}

func lookMessage() string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"look","arguments":{"name":"x"}}}`
}

// Throughput and latency of calls with 1, 2, 4 and 8 workers.
func TestScaleOfCalls(t *testing.T) {
	testneed.LongOnly(t, "it measures for minutes")
	const callers = 16
	first := 0.0
	for _, workers := range []int{1, 2, 4, 8} {
		_, url := newScale(t, workers, callers)
		names := make([]string, callers)
		for i := range names {
			names[i] = openSession(t, url)
			post(t, url, names[i], lookMessage())
		}
		var mu sync.Mutex
		var took []time.Duration
		began := time.Now()
		each(callers, func(i int) {
			for time.Since(began) < 10*time.Second && !t.Failed() {
				from := time.Now()
				assert.Contains(t, post(t, url, names[i], lookMessage()), "seen x")
				mu.Lock()
				took = append(took, time.Since(from))
				mu.Unlock()
			}
		})
		rate := float64(len(took)) / time.Since(began).Seconds()
		if first == 0 {
			first = rate
		}
		slices.Sort(took)
		t.Logf("%d workers on %d processors: %.0f calls/s, %.2f of one worker's; median %s, 99%% %s", workers,
			runtime.NumCPU(), rate, rate/first, took[len(took)/2], took[len(took)*99/100])
	}
}

// perWorker limits a worker's sessions: each holds a file open, and 20,000 are a common limit.
const perWorker = 15000

// The cost of an idle session in hub, gateway and worker, and of one that its worker has given up.
func TestScaleOfSessions(t *testing.T) {
	testneed.LongOnly(t, "it measures for minutes")
	sessions := number("TOOLHOST_TEST_SESSIONS", 400)
	workers := 1 + (sessions-1)/perWorker
	for _, idle := range []string{"1h", "1s"} {
		f, url := newScale(t, workers, 16, "--sessions", fmt.Sprint(sessions/workers+100), "--idle", idle,
			"--pack-after", "1h")
		post(t, url, openSession(t, url), lookMessage())
		before := make([]int, len(f.workers))
		for i, p := range f.workers {
			before[i] = p.resident()
		}
		each(8, func(i int) {
			for n := i; n < sessions && !t.Failed(); n += 8 {
				openSession(t, url)
			}
		})
		http.DefaultClient.CloseIdleConnections()
		if idle == "1s" {
			f.waitFor(func() bool {
				at, _ := filepath.Glob(filepath.Join(f.home, "worker*", "sessions", "*"))
				return len(at) == 0
			})
		}
		grown := map[string]int{}
		for i, p := range f.workers {
			grown[[]string{"hub", "gateway", "workers"}[min(i, 2)]] += p.resident() - before[i]
		}
		for role, bytes := range grown {
			t.Logf("%d sessions of %d workers, idle after %s: %s %.1f KiB each", sessions, workers, idle, role,
				float64(bytes)/float64(sessions)/1024)
		}
		for _, p := range f.workers {
			p.kill()
		}
	}
}
