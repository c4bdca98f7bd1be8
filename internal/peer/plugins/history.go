package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/atomicfile"
	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/run/pid"
)

// historyFormat is raised when History changes its meaning.
const historyFormat = 1

// History is what is remembered of a plugin in one workspace, over all hosts
// that ran it.
type History struct {
	Format int `json:"format"`
	// Starts, FailedStarts, Crashes, Calls and Errors count. A crash is an end
	// that the host did not ask for; an error is a call that gave one.
	Starts       int64 `json:"starts"`
	FailedStarts int64 `json:"failed_starts"`
	Crashes      int64 `json:"crashes"`
	Calls        int64 `json:"calls"`
	Errors       int64 `json:"errors"`
	// CallTime is the time that all calls took together, SlowestCall that of
	// the slowest.
	CallTime    time.Duration `json:"call_time"`
	SlowestCall time.Duration `json:"slowest_call"`
	// CallTimes counts the calls by how long they took: the i-th counter those
	// under 2^i microseconds that were in none before.
	CallTimes []int64 `json:"call_times,omitempty"`
	// StartTook is how long the last start took.
	StartTook time.Duration `json:"start_took"`
	// PeakMemory is the most resident memory, in bytes, that a process of the
	// plugin was seen with; 0 where the system does not tell.
	PeakMemory int64 `json:"peak_memory"`
	// LastCall and LastSuccess are when a call ended last, and when one last
	// reached the plugin.
	LastCall    time.Time `json:"last_call,omitzero"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	// LastError is the last start or crash that failed, LastErrorAt when.
	LastError   *tool.Error `json:"last_error,omitempty"`
	LastErrorAt time.Time   `json:"last_error_at,omitzero"`
	// FailuresInRow counts the failed starts since the last that went well, of
	// the program that Failed is; each took about FailureTook.
	FailuresInRow int           `json:"failures_in_row,omitempty"`
	FailureTook   time.Duration `json:"failure_took,omitempty"`
	Failed        identity      `json:"failed_program,omitzero"`
	// FailedConfig is a digest of the configuration that it failed with.
	FailedConfig string `json:"failed_config,omitempty"`
	// Live are the processes that run now.
	Live []LiveProcess `json:"live,omitempty"`
}

// LiveProcess is a process of a plugin, and the host that started it.
type LiveProcess struct {
	PID   int       `json:"pid"`
	Host  int       `json:"host"`
	Since time.Time `json:"since"`
	// Memory is what the process has resident now, in bytes; 0 where the
	// system does not tell.
	Memory int64 `json:"memory,omitempty"`
}

// Failing reports whether the last that is known of the plugin is a failure.
func (h *History) Failing() bool {
	return h.LastError != nil && h.LastErrorAt.After(h.LastSuccess)
}

// Average is how long a call took on average; 0 without calls.
func (h *History) Average() time.Duration {
	if h.Calls == 0 {
		return 0
	}
	return h.CallTime / time.Duration(h.Calls)
}

// Quantile is a bound under which that share (0 to 1) of the calls stayed. It
// is at most twice what they took.
func (h *History) Quantile(share float64) time.Duration {
	var total, seen int64
	for _, n := range h.CallTimes {
		total += n
	}
	for i, n := range h.CallTimes {
		if seen += n; n > 0 && float64(seen) >= share*float64(total) {
			return min(h.SlowestCall, time.Duration(1<<i)*time.Microsecond)
		}
	}
	return 0
}

// countCall adds a call that took d.
func (h *History) countCall(now time.Time, d time.Duration, failed bool) {
	h.Calls++
	if failed {
		h.Errors++
	}
	h.CallTime += d
	h.SlowestCall = max(h.SlowestCall, d)
	bucket := bits.Len64(uint64(d.Microseconds()))
	if missing := bucket + 1 - len(h.CallTimes); missing > 0 {
		h.CallTimes = append(h.CallTimes, make([]int64, missing)...)
	}
	h.CallTimes[bucket]++
	h.LastCall = now
}

// add counts what came about since, which more tells.
func (h *History) add(more *History) {
	h.Starts += more.Starts
	h.FailedStarts += more.FailedStarts
	h.Crashes += more.Crashes
	h.Calls += more.Calls
	h.Errors += more.Errors
	h.CallTime += more.CallTime
	h.SlowestCall = max(h.SlowestCall, more.SlowestCall)
	for i, n := range more.CallTimes {
		if i == len(h.CallTimes) {
			h.CallTimes = append(h.CallTimes, 0)
		}
		h.CallTimes[i] += n
	}
	if more.Starts > 0 {
		h.FailuresInRow = 0
	}
	if more.FailuresInRow > 0 {
		if more.Failed != h.Failed || more.FailedConfig != h.FailedConfig {
			h.FailuresInRow = 0
		}
		h.FailuresInRow += more.FailuresInRow
		h.FailureTook, h.Failed, h.FailedConfig = more.FailureTook, more.Failed, more.FailedConfig
	}
	if more.StartTook > 0 {
		h.StartTook = more.StartTook
	}
	h.PeakMemory = max(h.PeakMemory, more.PeakMemory)
	h.LastCall = latest(h.LastCall, more.LastCall)
	h.LastSuccess = latest(h.LastSuccess, more.LastSuccess)
	if more.LastError != nil && more.LastErrorAt.After(h.LastErrorAt) {
		h.LastError, h.LastErrorAt = more.LastError, more.LastErrorAt
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// historyFile is where the history of one plugin is kept. Its methods are safe
// for use by several goroutines and processes.
type historyFile struct {
	dir             string // empty keeps nothing
	workspace, name string
	mu              sync.Mutex
}

// path is the file for a plugin of a workspace.
func (f *historyFile) path() string {
	sum := sha256.Sum256(tool.MustMarshal([]string{f.workspace, f.name}))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:12])+".json")
}

// read gives what is kept; nothing where nothing can be read.
func (f *historyFile) read() *History {
	h := new(History)
	if f.dir == "" {
		return h
	}
	data, err := os.ReadFile(f.path())
	if err != nil || json.Unmarshal(data, h) != nil || h.Format != historyFormat {
		return new(History)
	}
	h.Live = slices.DeleteFunc(h.Live,
		func(l LiveProcess) bool { return !pid.Alive(l.Host) || !pid.Alive(l.PID) })
	return h
}

// update changes what is kept, while no other process does.
func (f *historyFile) update(change func(*History)) error {
	if f.dir == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := filelock.Wait(lock, true); err != nil {
		return err
	}
	h := f.read()
	change(h)
	h.Format = historyFormat
	return atomicfile.WriteCache(path, tool.MustMarshal(h))
}
