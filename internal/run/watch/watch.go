// Package watch passes a watcher of processes' changes to the sandbox: from the context of a call to the
// command about to be started.
package watch

import (
	"context"
	"os/exec"
	"sync"
)

// What is how a change affects a path.
type What byte

// Something is made, replaced, written to or removed, or only its metadata changes.
const (
	Content What = iota
	Attributes
)

// Place is a name in an open directory, both as the process sees them. Path is the name's, absolute and without
// symlinks; without a name, that of Dir. Dir is open with O_PATH.
type Place struct {
	Path string
	Dir  int
	Name string
}

// Watcher is notified of changes before they happen. Its methods may be called from any thread; the process
// waits meanwhile.
type Watcher interface {
	// Begin is called before processes run; done once they have ended.
	Begin() (done func())
	// Active reports whether any process was watched.
	Active() bool
	// Wants reports whether changes at an absolute path without symlinks are wanted. It is called first.
	Wants(path string, what What) bool
	// Before is called before a place changes.
	Before(at Place, what What)
	// Rename is called before a place is moved with all below it; with exchange, the two places are swapped.
	Rename(from, to Place, exchange bool)
	// Missed reports why changes could not be watched.
	Missed(why string)
}

type key struct{}

// With returns a context whose processes are watched.
func With(ctx context.Context, w Watcher) context.Context { return context.WithValue(ctx, key{}, w) }

// From returns the watcher of a context, or nil.
func From(ctx context.Context) Watcher {
	w, _ := ctx.Value(key{}).(Watcher)
	return w
}

var attached sync.Map // of Watcher, by *exec.Cmd

// Attach makes the sandbox of the command watch it. Call detach once it has been started or given up.
func Attach(cmd *exec.Cmd, w Watcher) (detach func()) {
	if w == nil {
		return func() {}
	}
	attached.Store(cmd, w)
	return func() { attached.Delete(cmd) }
}

// Of returns the watcher of a command, or nil.
func Of(cmd *exec.Cmd) Watcher {
	w, _ := attached.Load(cmd)
	watcher, _ := w.(Watcher)
	return watcher
}
