package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pause is the time between checks, which take at most one part in share of the time. longest is the longest
// pause: on a busy machine a check takes long though it does little, and a process can take 100 MiB in 100 ms.
const (
	pause   = 200 * time.Millisecond
	share   = 50
	longest = time.Second
)

// watched are this process's running commands.
var watched watcher

type watcher struct {
	mu      sync.Mutex
	entries map[*entry]bool
	looking bool
}

type entry struct {
	pid   int
	bound int64
	over  func()
	known map[int]uint64 // its processes, with their start times
}

// Watch kills a process, which leads its own group, and its descendants once they exceed the bound together,
// and calls over. After stop no process is killed.
func Watch(pid int, bound int64, over func()) (stop func()) {
	if bound <= 0 {
		return func() {}
	}
	e := &entry{pid: pid, bound: bound, over: over, known: make(map[int]uint64)}
	w := &watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.entries == nil {
		w.entries = make(map[*entry]bool)
	}
	w.entries[e] = true
	if !w.looking {
		w.looking = true
		time.AfterFunc(pause, w.checkAll)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.entries, e)
	}
}

// checkAll checks all commands, and again later while there are any.
func (w *watcher) checkAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looking = len(w.entries) > 0; !w.looking {
		return
	}
	began := time.Now()
	least := int64(math.MaxInt64)
	for e := range w.entries {
		least = min(least, e.bound)
	}
	if used() > least {
		all := processes()
		for e := range w.entries {
			if e.exceeds(all) {
				delete(w.entries, e)
				e.over()
			}
		}
	}
	time.AfterFunc(pauseAfter(time.Since(began)), w.checkAll)
}

// pauseAfter returns the time until the next check, by the duration of the last.
func pauseAfter(look time.Duration) time.Duration { return min(max(pause, share*look), longest) }

type process struct {
	parent, group, session int
	began                  uint64
	resident               int64
}

// exceeds reports whether the command exceeded its bound and was killed for it.
func (e *entry) exceeds(all map[int]process) bool {
	e.learn(all)
	var most int64
	for pid := range e.known {
		most += all[pid].resident
	}
	if most <= e.bound { // counts shared memory several times
		return false
	}
	var taken int64
	for pid := range e.known {
		if own, ok := own(pid); ok {
			taken += own
		} else {
			taken += all[pid].resident
		}
	}
	if taken <= e.bound {
		return false
	}
	for pid, began := range e.known {
		end(pid, began)
	}
	return true
}

// learn finds the command's processes: those that are children, or in the group or session, of one of them.
func (e *entry) learn(all map[int]process) {
	for pid, began := range e.known {
		if p, alive := all[pid]; !alive || p.began != began {
			delete(e.known, pid)
		}
	}
	if p, alive := all[e.pid]; alive {
		e.known[e.pid] = p.began
	}
	is := func(id int) bool { _, known := e.known[id]; return known || id == e.pid }
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if !is(pid) && (is(p.parent) || is(p.group) || is(p.session)) {
				e.known[pid], grown = p.began, true
			}
		}
	}
}

// end kills a process if it still is the one that began then.
func end(pid int, began uint64) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if p, alive := processOf(pid); alive && p.began == began {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func processes() map[int]process {
	all := make(map[int]process)
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, alive := processOf(pid); alive {
				all[pid] = p
			}
		}
	}
	return all
}

func processOf(pid int) (p process, alive bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The program's name, in parentheses, may contain anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 22 || fields[0] == "Z" || fields[0] == "X" {
		return p, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	p = process{parent: number(1), group: number(2), session: number(3), resident: int64(number(21) * os.Getpagesize())}
	p.began, _ = strconv.ParseUint(fields[19], 10, 64)
	return p, true
}

// own returns a process's memory, including its share of shared memory, without what can be read again from
// files.
func own(pid int) (bytes int64, ok bool) {
	values := table("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	anonymous, ok := values["Pss_Anon"]
	return anonymous + values["Pss_Shmem"] + values["SwapPss"], ok
}

// used returns how much of the machine's memory is used.
func used() int64 {
	m := table("/proc/meminfo")
	return m["MemTotal"] - m["MemAvailable"] + m["SwapTotal"] - m["SwapFree"]
}

// table parses lines such as "MemTotal:  1024 kB".
func table(path string) map[string]int64 {
	data, _ := os.ReadFile(path)
	values := make(map[string]int64)
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) == 2 && fields[1] == "kB" {
			n, _ := strconv.ParseInt(fields[0], 10, 64)
			values[name] = n << 10
		}
	}
	return values
}

// total returns the machine's memory, or the limit of this process's control groups if less.
func total() int64 {
	all := table("/proc/meminfo")["MemTotal"]
	data, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(data)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ok {
			limit, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.max"))
			if n, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && n > 0 {
				all = min(all, n)
			}
			if slices.Contains([]string{"/", "."}, group) {
				break
			}
			group = filepath.Dir(group)
		}
	}
	return all
}
