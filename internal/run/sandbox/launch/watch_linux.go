package launch

import (
	"strings"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// A supervisor reports to a watcher what a call will change, before it makes the call.

type unwatched struct{}

func (unwatched) Begin() func()                         { return func() {} }
func (unwatched) Active() bool                          { return false }
func (unwatched) Wants(string, watch.What) bool         { return false }
func (unwatched) Before(watch.Place, watch.What)        {}
func (unwatched) Rename(watch.Place, watch.Place, bool) {}
func (unwatched) Missed(string)                         {}

func (p dirEntry) watched() watch.Place { return watch.Place{Path: p.path, Dir: p.dir, Name: p.name} }

func (s *supervisor) beforePlace(p dirEntry, what watch.What) {
	if s.watch.Wants(p.path, what) {
		s.watch.Before(p.watched(), what)
	}
}

// beforeFile is beforePlace for an open file, which may have no name, or others that are wanted.
func (s *supervisor) beforeFile(fd int, what watch.What) {
	path, ok := s.nameOf(fd)
	if ok && strings.HasPrefix(path, "/") {
		s.watch.Before(watch.Place{Path: path, Dir: fd}, what)
	}
}
