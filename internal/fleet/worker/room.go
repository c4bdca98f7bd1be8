package worker

import "os"

// Files of the worker that sessions leave free, of as many as it may have open:
// each call needs some.
const (
	spareFiles  = 1024
	sparePart   = 4 // of the limit, where that is less
	filesToOpen = 8 // of a session, when it is used for the first time
	countEvery  = 4 // heartbeats
)

// room keeps the worker from taking more sessions than it may have files open.
type room struct {
	limit  int // 0 for none that is known
	open   int
	since  int // sessions that came since open was counted
	warned bool
}

func (r *room) full() bool {
	return r.limit > 0 && r.open+r.since*filesToOpen > r.limit-min(spareFiles, r.limit/sparePart)
}

// count counts the open files again. The caller has the worker's mutex.
func (w *Worker) count() {
	r := &w.room
	r.limit, r.open, r.since = fileLimit(), openFiles(), 0
	full := r.full()
	if full && !r.warned {
		w.logger.Warn("the worker takes no further sessions: it may have no more files open; raise that limit (ulimit -n)",
			"sessions", len(w.sessions), "files", r.open, "limit", r.limit)
	}
	r.warned = full
}

// isFull reports whether the worker takes no further session. The caller has its
// mutex.
func (w *Worker) isFull() bool {
	if w.room.since > 0 && w.room.full() {
		w.count()
	}
	return len(w.sessions) >= w.options.Sessions || w.room.full()
}

// openFiles counts the files that this process has open; 0 where that is not
// known.
func openFiles() int {
	for _, name := range []string{"/proc/self/fd", "/dev/fd"} {
		if dir, err := os.Open(name); err == nil {
			defer dir.Close()
			names, _ := dir.Readdirnames(-1)
			return len(names)
		}
	}
	return 0
}
