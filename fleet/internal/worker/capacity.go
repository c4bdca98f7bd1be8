package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

// What new sessions leave for calls: a part of the worker's open files, and bytes of the
// workspaces' disk.
const (
	spareFiles  = 1024
	sparePart   = 4 // of the limit, if less
	filesToOpen = 8 // of a session, when first used
	spareBytes  = 64 << 20
	spareOfDisk = 8 // of the disk, if less
	countEvery  = 4 // heartbeats
)

// capacity limits the worker's sessions by open files and disk.
type capacity struct {
	limit  int // 0 if unknown
	open   int
	since  int // sessions added since open was counted
	noDisk bool
	warned bool
}

func (r *capacity) full() bool { return r.noFiles() || r.noDisk }

func (r *capacity) noFiles() bool {
	return r.limit > 0 && r.open+r.since*filesToOpen > r.limit-min(spareFiles, r.limit/sparePart)
}

// count counts the open files and the free disk. The worker's mutex must be held.
func (w *Worker) count() {
	r := &w.capacity
	r.limit, r.open, r.since = fileLimit(), openFiles(), 0
	free, size := disk(w.options.Dir)
	r.noDisk = size > 0 && free < min(spareBytes, size/spareOfDisk)
	switch {
	case r.warned:
	case r.noDisk:
		w.logger.Warn("the worker takes no further sessions: the disk is full; free space in its directory",
			"directory", w.options.Dir, "free", free)
	case r.noFiles():
		w.logger.Warn("the worker takes no further sessions: it may have no more files open; raise that limit (ulimit -n)",
			"sessions", len(w.sessions), "files", r.open, "limit", r.limit)
	}
	r.warned = r.full()
}

// isFull reports whether the worker takes no further session. Its mutex must be held.
func (w *Worker) isFull() bool {
	if w.capacity.since > 0 && w.capacity.full() {
		w.count()
	}
	return len(w.sessions) >= w.options.Sessions || w.capacity.full()
}

// openFiles counts this process's open files; 0 if unknown.
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

func fileLimit() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}

// disk returns a disk's space that is free for this user, and its size, in bytes; 0, 0 if unknown.
func disk(dir string) (free, size uint64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, 0
	}
	block := uint64(fs.Bsize)
	return uint64(fs.Bavail) * block, uint64(fs.Blocks) * block
}
