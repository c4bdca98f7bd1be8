package launch

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// A supervisor tells a watcher what a call is going to change, before it makes the
// call.

// nobody watches.
type nobody struct{}

func (nobody) Begin() func()                         { return func() {} }
func (nobody) Began() bool                           { return false }
func (nobody) Wants(string, watch.What) bool         { return false }
func (nobody) Before(watch.Place, watch.What)        {}
func (nobody) Rename(watch.Place, watch.Place, bool) {}
func (nobody) Missed(string)                         {}

func (p place) watched() watch.Place { return watch.Place{Path: p.path, Dir: p.dir, Name: p.name} }

func (s *supervisor) beforePlace(p place, what watch.What) {
	if s.watch.Wants(p.path, what) {
		s.watch.Before(p.watched(), what)
	}
}

// beforeFile is beforePlace for an open file, which need not have a name any more.
func (s *supervisor) beforeFile(fd int, what watch.What) {
	path, ok := s.nameOf(fd)
	if ok && strings.HasPrefix(path, "/") && s.watch.Wants(path, what) {
		s.watch.Before(watch.Place{Path: path, Dir: fd}, what)
	}
}

func (s *supervisor) beforeRename(source, target place, flags uint) {
	s.watch.Rename(source.watched(), target.watched(), flags&unix.RENAME_EXCHANGE != 0)
}
