// Package watch carries the wish to know what processes change, from where a
// call begins to where its processes are confined: in the context of the call,
// and from there by the command that is about to be started.
package watch

import (
	"context"
	"os/exec"
	"sync"
)

// What says how a change reaches what is at a path.
type What byte

// The ways: something is made, replaced, written to or removed, or only what is
// known about it changes.
const (
	Content What = iota
	Attributes
)

// Place is a name in an open directory, both as the process sees them. Path is
// that of the name, absolute and without symlinks. Without a name it is that of
// what is open as Dir. Dir is open for no access.
type Place struct {
	Path string
	Dir  int
	Name string
}

// Watcher learns of changes before they happen. Its methods may be called from
// any thread, and the process waits meanwhile.
type Watcher interface {
	// Begin says that processes are about to run; done that they have ended.
	Begin() (done func())
	// Began reports whether any process was watched.
	Began() bool
	// Wants reports whether anybody wants to know of changes at an absolute
	// path without symlinks. It is asked first.
	Wants(path string, what What) bool
	// Before says that what is at a place is going to change.
	Before(at Place, what What)
	// Rename says that what is at a place is going to be moved, with all that is
	// in it; with exchange, what is at the other place comes here.
	Rename(from, to Place, exchange bool)
	// Missed says why a change could not be seen.
	Missed(why string)
}

type key struct{}

// With gives a context whose processes are watched.
func With(ctx context.Context, w Watcher) context.Context { return context.WithValue(ctx, key{}, w) }

// From gives the watcher of a context, nil when there is none.
func From(ctx context.Context) Watcher {
	w, _ := ctx.Value(key{}).(Watcher)
	return w
}

var attached sync.Map // of Watcher, by *exec.Cmd

// Attach has the sandbox that confines the command watch it. detach is for when it has
// been started, or will not be.
func Attach(cmd *exec.Cmd, w Watcher) (detach func()) {
	if w == nil {
		return func() {}
	}
	attached.Store(cmd, w)
	return func() { attached.Delete(cmd) }
}

// Of gives the watcher of a command, nil when there is none.
func Of(cmd *exec.Cmd) Watcher {
	w, _ := attached.Load(cmd)
	watcher, _ := w.(Watcher)
	return watcher
}
