// Package view carries the wish that processes change a copy-on-write view of
// directories instead of the directories: in the context of a call, and from there
// by the command that is about to be started. The sandbox that confines the command makes
// the view; package review reads what has been changed in it.
package view

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// Extended attributes by which overlayfs speaks in an upper layer where no privilege
// is needed.
const (
	// Opaque says that nothing of the tree shows through a directory.
	Opaque = "user.overlay.opaque"
	// Origin has the handle of what a file or directory was made a copy of.
	Origin = "user.overlay.origin"
)

// View is a copy-on-write view of directories. It may be used from any goroutine.
type View struct {
	dir    string
	began  time.Time
	mu     sync.Mutex
	layers []Layer
}

// Layer is where the changes of one directory go.
type Layer struct {
	// Tree is the directory, absolute and without symlinks.
	Tree string `json:"tree"`
	// Upper holds what has changed, in the form of overlayfs, or a copy of all.
	Upper string `json:"upper"`
	// Work is for the kernel alone. A copy has none.
	Work string `json:"-"`
	// Copied is true for a copy.
	Copied bool `json:"copied,omitempty"`
}

// New makes a view that keeps changes in a directory, which is made and has to be
// where no process of the view can write.
func New(dir string) (*View, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	began, err := tick(dir)
	return &View{dir: dir, began: began}, err
}

// patience bounds the wait until a change bears a later time than the view, by
// which it is known from one before.
const patience = 100 * time.Millisecond

// tick gives the time by the clock that stamps files, and waits until it is over.
func tick(dir string) (time.Time, error) {
	now, err := stamp(dir)
	for next := now; err == nil && !next.After(now) && time.Since(now) < patience; {
		next, err = stamp(dir)
	}
	return now, err
}

// stamp changes a file and gives its time, by the clock that stamps files.
func stamp(dir string) (time.Time, error) {
	name := filepath.Join(dir, "clock")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Dir is where the view keeps changes.
func (v *View) Dir() string { return v.dir }

// Began is when the view was made, by the clock of the file system.
func (v *View) Began() time.Time { return v.began }

// Layer gives the layer of a directory for the next command, and makes it.
func (v *View) Layer(tree string) (Layer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := len(v.layers)
	for i, known := range v.layers {
		if known.Tree == tree {
			at = i
		}
	}
	base := filepath.Join(v.dir, strconv.Itoa(at))
	if at < len(v.layers) && v.layers[at].Copied {
		return v.layers[at], nil
	}
	layer := Layer{Tree: tree, Upper: filepath.Join(base, "upper"), Work: filepath.Join(base, "work")}
	if err := v.prepare(layer); err != nil {
		return layer, err
	}
	if at == len(v.layers) {
		v.layers = append(v.layers, layer)
	}
	return layer, nil
}

// prepare makes the directories of a layer. The kernel wants an empty place for
// its work, and the upper directory to be what the tree is.
func (v *View) prepare(l Layer) error {
	info, err := os.Stat(l.Tree)
	if err == nil {
		err = os.MkdirAll(l.Upper, 0o700)
	}
	if err == nil {
		err = os.Chmod(l.Upper, info.Mode().Perm()|0o700)
	}
	if err == nil {
		err = clearOut(l.Work)
	}
	if err == nil {
		err = os.MkdirAll(l.Work, 0o700)
	}
	return err
}

// kept is what another process needs to look into a view.
type kept struct {
	Name   string    `json:"name"`
	Began  time.Time `json:"began"`
	Layers []Layer   `json:"layers"`
}

const keptName = "view.json"

// Keep has other processes find the view by a name, below the directory that holds
// its own.
func (v *View) Keep(name string) error {
	data, err := json.Marshal(kept{name, v.began, v.Layers()})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(v.dir, keptName), data, 0o600)
}

// Find gives the view that was kept below a directory by a name, nil for none.
func Find(dir, name string) *View {
	files, _ := filepath.Glob(filepath.Join(dir, "*", keptName))
	for _, file := range files {
		var k kept
		data, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(data, &k) == nil && k.Name == name {
			return &View{dir: filepath.Dir(file), began: k.Began, layers: k.Layers}
		}
	}
	return nil
}

// Sweep removes views below a directory that are older than an age: their process
// was killed.
func Sweep(dir string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Lstat(filepath.Join(path, "clock")); err == nil && time.Since(info.ModTime()) > age {
			_ = clearOut(path)
		}
	}
}

// Layers are those of the directories that were in the view.
func (v *View) Layers() []Layer {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Layer(nil), v.layers...)
}

// Remove removes the view with all changes in it.
func (v *View) Remove() error { return clearOut(v.dir) }

// clearOut removes a directory in which programs and the kernel may have left
// directories that nobody may look into.
func clearOut(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}

type key struct{}

// With gives a context whose processes run in a view.
func With(ctx context.Context, v *View) context.Context { return context.WithValue(ctx, key{}, v) }

// From gives the view of a context, nil when there is none.
func From(ctx context.Context) *View {
	v, _ := ctx.Value(key{}).(*View)
	return v
}

// wish is a command's view, and whether it has come to it.
type wish struct {
	view    *View
	entered bool
}

var attached sync.Map // of *wish, by *exec.Cmd

// Attach has the sandbox that confines the command put it into the view. entered reports
// whether that has happened; detach is for when the command has been started, or
// will not be.
func Attach(cmd *exec.Cmd, v *View) (entered func() bool, detach func()) {
	if v == nil {
		return func() bool { return true }, func() {}
	}
	w := &wish{view: v}
	attached.Store(cmd, w)
	return func() bool { return w.entered }, func() { attached.Delete(cmd) }
}

// Of gives the view that a command wants, nil when there is none.
func Of(cmd *exec.Cmd) *View {
	if w, ok := attached.Load(cmd); ok {
		return w.(*wish).view
	}
	return nil
}

// Enter notes that a command has been put into its view.
func Enter(cmd *exec.Cmd) {
	if w, ok := attached.Load(cmd); ok {
		w.(*wish).entered = true
	}
}
