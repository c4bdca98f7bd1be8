package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
)

const callLimit = 20 * time.Second

// patience is how long a caller waits at most: in the short form, which runs
// beside other tests, longer than promised.
func patience() time.Duration {
	if number("TOOLHOST_TEST_SECONDS", shortStorm) == shortStorm {
		return callLimit + waits
	}
	return callLimit + 5*time.Second
}

// shortStorm is the short form's duration in seconds.
const shortStorm = 15

// Calls under kill -9 and SIGSTOP of every role, and under cut and slow
// connections: each effect happens at most once, each given result is given again,
// losses are reported, no caller waits longer than the limit and 5 s (more in the
// short form) or sees another's data. The short form ends after 15 s; make faults
// is the long one, with three hubs, a disk that fills up, and clocks that jump.
func TestFaults(t *testing.T) {
	calls := number("TOOLHOST_TEST_CALLS", 2000)
	seed := uint64(number("TOOLHOST_TEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("TOOLHOST_TEST_CALLS=%d TOOLHOST_TEST_SEED=%d", calls, seed)
	hubs := number("TOOLHOST_TEST_HUBS", 1)
	form := shape{seed: seed, hubs: hubs, gateways: 2, workers: number("TOOLHOST_TEST_WORKERS", 3),
		sessions: number("TOOLHOST_TEST_SESSIONS", 12)}
	if form.clocks = hubs > 1; hubs > 1 {
		err := mayMount(t)
		form.disk = err == nil
		t.Logf("a disk that fills up: %t (%v)", form.disk, err)
	}
	storm := newStorm(t, form)
	if form.clocks {
		storm.seeJump()
	}
	storm.began, storm.longest = time.Now(), time.Duration(number("TOOLHOST_TEST_SECONDS", shortStorm))*time.Second
	stop := make(chan struct{})
	var breaking, watching sync.WaitGroup
	breaking.Go(func() { storm.rage(stop) })
	watching.Go(func() { storm.watch(stop) })
	each(number("TOOLHOST_TEST_CALLERS", 16), func(i int) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for n := int(storm.next.Add(1)); n <= calls && !t.Failed() && !storm.over(); n = int(storm.next.Add(1)) {
			storm.call(random, n)
		}
	})
	close(stop)
	breaking.Wait()
	watching.Wait()
	storm.calm()
	storm.waitFor(storm.idle)
	t.Logf("%d calls in %s, the longest took %s", storm.answered.Load(), time.Since(storm.began).Round(time.Second),
		time.Duration(storm.slowest.Load()).Round(time.Millisecond))
	storm.check()
	storm.askAgain(calls)
}

// each calls do times times concurrently.
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

// shape is the size of a storm's fleet, and its further faults.
type shape struct {
	seed                              uint64
	hubs, workers, gateways, sessions int
	disk                              bool // the last worker has a small disk
	clocks                            bool // the wall clocks of programs jump
}

// storm is a fleet whose programs are broken.
type storm struct {
	*theFleet
	shape    shape
	random   *rand.Rand
	projects string
	hubs     []*aHub
	began    time.Time
	longest  time.Duration
	next     atomic.Int64 // number of the next call
	answered atomic.Int64
	stalled  atomic.Int64 // how long gateways, or the machine, stood still
	slowest  atomic.Int64 // duration of the longest call
	progress atomic.Int64
	filling  sync.WaitGroup
	clocks   []string

	mu       sync.Mutex
	gateways []string
	servers  []*process
	made     int            // gateways made
	results  map[int]string // of answered calls, by number
	failed   map[int]string // those that are errors
	lost     map[int]bool
	refused  map[string]int
}

// aHub is a hub behind proxies.
type aHub struct {
	*process
	args          []string
	url           string
	proxy, routes *proxy
}

func newStorm(t *testing.T, form shape) *storm {
	t.Helper()
	s := &storm{theFleet: &theFleet{place: newPlace(t)}, shape: form, random: rand.New(rand.NewPCG(form.seed, 1<<40)),
		results: make(map[int]string), lost: make(map[int]bool), failed: make(map[int]string),
		refused: make(map[string]int)}
	if form.clocks {
		s.program = jumpingProgram(t)
	}
	s.makeWorkspaces()
	s.startHubs()
	for i := range form.workers {
		s.workers = append(s.workers, s.startWorker(i))
	}
	for range form.gateways {
		s.addGateway()
	}
	for _, w := range s.workers {
		w.find("takes sessions")
	}
	return s
}

// startHubs starts one hub, or a cluster whose hubs reach each other through proxies too.
func (s *storm) startHubs() {
	s.store = filepath.Join(s.home, "hub0")
	_, err := hub.OpenKeys(filepath.Join(s.store, "keys"))
	require.NoError(s.t, err)
	listens, routes := freeAddresses(s.t, s.shape.hubs), freeAddresses(s.t, s.shape.hubs)
	for i := range s.shape.hubs {
		store := filepath.Join(s.home, fmt.Sprint("hub", i))
		if i > 0 {
			require.NoError(s.t, os.CopyFS(filepath.Join(store, "keys"), os.DirFS(filepath.Join(s.store, "keys"))))
		}
		h := &aHub{url: "nats://" + listens[i], proxy: newProxy(s.t, listens[i]), routes: newProxy(s.t, routes[i]),
			args: []string{"hub", "--listen", listens[i], "--store", store}}
		s.hubs = append(s.hubs, h)
	}
	for i, h := range s.hubs {
		if s.shape.hubs > 1 {
			h.args = append(h.args, "--name", fmt.Sprint("hub", i), "--cluster", routes[i])
		}
		for j, other := range s.hubs {
			if j != i {
				h.args = append(h.args, "--route", strings.TrimPrefix(other.routes.url, "nats://"))
			}
		}
		h.process = s.startAs(fmt.Sprint("hub", i), h.args...)
	}
	for _, h := range s.hubs {
		h.find(`hub is at (\S+),`)
	}
}

// freeAddresses returns free addresses of the loopback interface.
func freeAddresses(t *testing.T, n int) (all []string) {
	t.Helper()
	for i := range n {
		host := "127.0.0.1"
		if runtime.GOOS == "linux" {
			host = fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, 1+rand.IntN(250), 1+i)
		}
		listener, err := net.Listen("tcp", host+":0")
		require.NoError(t, err)
		all = append(all, listener.Addr().String())
		defer listener.Close()
	}
	return all
}

// reach returns how a program reaches the hubs: the first of them through proxies.
func (s *storm) reach(through bool) string {
	var urls []string
	for _, h := range s.hubs {
		url := h.url
		if through {
			url = h.proxy.url
		}
		urls = append(urls, url)
	}
	return strings.Join(urls, ",")
}

func (s *storm) over() bool { return time.Since(s.began) > s.longest }

// startAs starts a program whose wall clock may jump.
func (s *storm) startAs(name string, args ...string) *process {
	return s.run(s.clocked(name, s.command(args...)))
}

func (s *storm) clocked(name string, cmd *exec.Cmd) *exec.Cmd {
	if s.shape.clocks {
		file := filepath.Join(s.home, "clock-"+name)
		if !slices.Contains(s.clocks, file) {
			setClock(s.t, file, 0)
			s.clocks = append(s.clocks, file)
		}
		cmd.Env = append(cmd.Env, clockVariable+"="+file)
	}
	return cmd
}

func (s *storm) workerDir(i int) string { return filepath.Join(s.home, fmt.Sprint("worker", i)) }

// startWorker starts a worker; all but one reach the hub through the proxy.
func (s *storm) startWorker(i int) *process {
	dir := s.workerDir(i)
	onOwn := s.shape.disk && i == s.shape.workers-1
	work := dir
	if onOwn {
		work = filepath.Join(dir, "work")
	}
	cmd := s.command("worker", "--hub", s.reach(i != 2), "--key", s.key("worker"), "--log-level", "info", "--directory",
		s.projects, "--pack-after", "1s", "--dir", work)
	if onOwn {
		onDisk(s.t, cmd, dir)
	}
	return s.run(s.clocked(fmt.Sprint("worker", i), cmd))
}

func (s *storm) addGateway() {
	s.mu.Lock()
	through := len(s.gateways) == 0
	name := fmt.Sprint("gateway", s.made%s.shape.gateways)
	s.made++
	s.mu.Unlock()
	g := s.startAs(name, "serve", "--http", "127.0.0.1:0", "--no-token", "--hub", s.reach(through), "--key",
		s.key("gateway"), "--call-limit", callLimit.String(), "--fleet-config", filepath.Join(s.home, "fleet.hcl"),
		"--replicas", fmt.Sprint(s.shape.hubs))
	url := g.find(`serves MCP at (\S+)`)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateways, s.servers = append(s.gateways, url), append(s.servers, g)
}

// rage breaks one thing after another, and restarts what it has killed.
func (s *storm) rage(stop <-chan struct{}) {
	defer func() {
		if s.t.Failed() {
			for i, w := range s.workers {
				s.t.Logf("worker %d: %s", i, w.said())
			}
		}
	}()
	only := number("TOOLHOST_TEST_ACT", -1) // only this act, every two seconds
	for {
		pause := time.Duration(500+s.random.IntN(2500)) * time.Millisecond
		if only >= 0 {
			pause = 2 * time.Second
		}
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		if only >= 0 {
			s.act(only, stop)
			continue
		}
		s.breathe(stop)
		acts := 14
		if s.shape.hubs > 1 {
			acts = 20
		}
		act := s.random.IntN(acts)
		s.t.Logf("%s act %d", time.Now().Format("05.000"), act)
		s.act(act, stop)
	}
}

// breathe waits, for a limited time, until some calls are answered.
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
		s.freeze(s.someHub().process, stop)
	case act < 12:
		s.someHub().proxy.cut()
	case act < 13:
		s.someHub().proxy.slow(time.Duration(s.random.IntN(int(2 * fleet.Lease))))
	case act < 14:
		h := s.someHub()
		h.kill()
		h.process = s.run(s.clocked(filepath.Base(h.args[4]), s.command(h.args...)))
		h.find(`hub is at (\S+),`)
	case act < 15:
		s.someHub().routes.cut()
	case act < 16:
		s.someHub().routes.slow(time.Duration(s.random.IntN(int(2 * fleet.Lease))))
	case act < 18 && s.shape.clocks:
		setClock(s.t, s.clocks[s.random.IntN(len(s.clocks))], int64(s.random.IntN(3)-1)*3600)
	case s.shape.disk:
		s.fillFor(time.Duration(2+s.random.IntN(10)) * time.Second)
	}
}

func (s *storm) someHub() *aHub { return s.hubs[s.random.IntN(len(s.hubs))] }

func (s *storm) fillFor(d time.Duration) {
	s.filling.Wait()
	free := fillDisk(s.workers[len(s.workers)-1], s.workerDir(len(s.workers)-1))
	s.filling.Go(func() {
		time.Sleep(d)
		free()
	})
}

// idle reports whether all workers say that they run no call.
func (s *storm) idle() bool {
	out := s.output("fleet", "workers", "--json", "--hub", s.reach(false), "--key", s.key("gateway"))
	for line := range strings.Lines(out) {
		var worker struct{ Beat fleet.Beat }
		require.NoError(s.t, json.Unmarshal([]byte(line), &worker), line)
		if worker.Beat.Running > 0 {
			return false
		}
	}
	return true
}

func (s *storm) calm() {
	s.filling.Wait()
	for _, h := range s.hubs {
		h.proxy.slow(0)
		h.routes.slow(0)
	}
}

func (s *storm) seeJump() {
	jumped := filepath.Join(s.home, "clock-gateway0")
	setClock(s.t, jumped, 3600)
	s.mu.Lock()
	both := s.gateways
	s.gateways = both[:1]
	s.mu.Unlock()
	s.began, s.longest = time.Now(), waits
	s.call(rand.New(rand.NewPCG(1, 1)), 0)
	s.mu.Lock()
	s.gateways = both
	s.mu.Unlock()
	var opened struct{ Created time.Time }
	out := s.output("fleet", "sessions", "--json", "--hub", s.reach(false), "--key", s.key("gateway"))
	require.NoError(s.t, json.Unmarshal([]byte(out), &opened), out)
	require.Greater(s.t, time.Until(opened.Created), 50*time.Minute, "the clock of the gateway has not jumped")
	setClock(s.t, jumped, 0)
}

// watch adds up how long this machine did not run the test.
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
