package launch

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Some files that git obeys may be made if their content is harmless. The program writes a draft elsewhere, and
// a copy of what was read from it is put there.

// mostChecked bounds how much of a file is read, mostDrafts how many are open at once.
const (
	mostChecked = 1 << 20
	mostDrafts  = 64
)

// readAt returns the content of a regular file, and its mode.
func readAt(dir int, name string) (content string, mode os.FileMode, errno syscall.Errno) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, number(err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, refused
	}
	data, err := io.ReadAll(io.LimitReader(file, mostChecked+1))
	if err != nil || len(data) > mostChecked {
		return "", 0, refused
	}
	return string(data), info.Mode().Perm(), 0
}

// accepts reports whether content may replace the file at a place.
func accepts(check *obeyed.Check, p dirEntry, content string) syscall.Errno {
	old, _, errno := readAt(p.dir, p.name)
	if errno != 0 && errno != syscall.ENOENT {
		return refused
	}
	if !check.Accepts(old, errno == 0, content) {
		return refused
	}
	return 0
}

// replaceChecked is rename for a file whose content is checked.
func (s *supervisor) replaceChecked(source, target dirEntry, check *obeyed.Check) syscall.Errno {
	if !s.granted(filepath.Dir(target.path)) {
		return s.outside(syscall.EACCES)
	}
	content, mode, errno := readAt(source.dir, source.name)
	if errno != 0 {
		return errno
	}
	if errno := accepts(check, target, content); errno != 0 {
		return errno
	}
	s.beforePlace(source, watch.Content)
	s.beforePlace(target, watch.Content)
	if err := unix.Unlinkat(source.dir, source.name, 0); err != nil {
		return number(err)
	}
	if errno := writeNew(source.dir, source.name, content, mode); errno != 0 {
		return errno
	}
	return number(unix.Renameat(source.dir, source.name, target.dir, target.name))
}

func writeNew(dir int, name, content string, mode os.FileMode) syscall.Errno {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return number(err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.WriteString(content)
	if err == nil {
		err = unix.Fchmod(fd, uint32(mode)) // the host's umask may have reduced it
	}
	_ = file.Close()
	return number(err)
}

// draft is a file in memory that a program writes in place of a protected one. Its content goes to the file
// when complete.
type draft struct {
	memory int
	at     dirEntry
	check  *obeyed.Check
	mode   os.FileMode
	put    string // content last written to the file
	// settled is set once the program has finished writing.
	settled bool
}

func (s *supervisor) openDraft(c caller, p dirEntry, check *obeyed.Check, call openCall) (int, syscall.Errno) {
	whole := call.flags&unix.O_CREAT != 0 && (p.exists() == syscall.ENOENT || call.flags&unix.O_TRUNC != 0)
	if !s.granted(filepath.Dir(p.path)) || !whole {
		return -1, refused
	}
	if len(s.drafts) == mostDrafts {
		if !s.drafts[0].settled {
			return -1, refused
		}
		s.drafts[0].close()
		s.drafts = s.drafts[1:]
	}
	d := draft{at: dirEntry{name: p.name, path: p.path}, check: check, mode: os.FileMode(call.mode &^ s.status.umask(c.pid) & 0o777)}
	var errno syscall.Errno
	if d.at.dir, errno = duplicate(p.dir); errno != 0 {
		return -1, errno
	}
	memory, err := unix.MemfdCreate("toolhost-draft", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil { // before Linux 6.3
		memory, err = unix.MemfdCreate("toolhost-draft", unix.MFD_CLOEXEC)
	}
	if err != nil {
		d.at.close()
		return -1, number(err)
	}
	d.memory = memory
	if check.Fixed != "" {
		if errno := s.applyDraft(&d, check.Fixed); errno != 0 {
			d.close()
			return -1, errno
		}
	}
	s.drafts = append(s.drafts, &d)
	fd, err := unix.FcntlInt(uintptr(memory), unix.F_DUPFD_CLOEXEC, 0)
	return fd, number(err)
}

func (d *draft) close() {
	_ = syscall.Close(d.memory)
	d.at.close()
}

// content returns what the program has written so far.
func (d *draft) content() string {
	buf := make([]byte, mostChecked)
	n, _ := unix.Pread(d.memory, buf, 0)
	return string(buf[:max(n, 0)])
}

func (s *supervisor) applyDraft(d *draft, content string) syscall.Errno {
	if old, _, errno := readAt(d.at.dir, d.at.name); errno == 0 && old == content {
		d.put = content
		return 0
	}
	s.beforePlace(d.at, watch.Content)
	if err := unix.Unlinkat(d.at.dir, d.at.name, 0); err != nil && err != unix.ENOENT {
		return number(err)
	}
	errno := writeNew(d.at.dir, d.at.name, content, d.mode)
	if errno == 0 {
		d.put = content
	}
	return errno
}

// applyDrafts puts complete drafts in place, before each call that a program makes and at the end: what is
// still refused then is reported.
func (s *supervisor) applyDrafts(end bool) {
	for _, d := range s.drafts {
		content := d.content()
		same := content == d.put || d.check.Fixed != "" && strings.TrimSpace(content) == strings.TrimSpace(d.check.Fixed)
		if !same && d.check.Fixed == "" && strings.HasSuffix(content, "\n") && accepts(d.check, d.at, content) == 0 {
			same = s.applyDraft(d, content) == 0
		}
		if end && !same {
			s.watch.Missed(d.at.path + " was not written as the command meant it: git would obey it")
		}
		d.settled = same && d.put != ""
	}
	if end {
		for _, d := range s.drafts {
			d.close()
		}
		s.drafts = nil
	}
}
