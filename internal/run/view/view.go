// Package view makes processes change a copy-on-write view of directories. A view is requested in the context
// of a call and attached to a command, whose sandbox makes it; package review reads its changes.
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

// Extended attributes of overlayfs in an upper layer, where they need no privilege.
const (
	// Opaque marks a directory that hides the tree's.
	Opaque = "user.overlay.opaque"
	// Origin has the handle of the file or directory that was copied up.
	Origin = "user.overlay.origin"
)

// View is a copy-on-write view of directories. It is safe for concurrent use.
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
	// Upper holds the changes in the form of overlayfs, or a full copy.
	Upper string `json:"upper"`
	// Work is the kernel's work directory; a copy has none.
	Work string `json:"-"`
	// Copied is set for a copy.
	Copied bool `json:"copied,omitempty"`
}

// New makes a view with its changes in dir, which is created and must be where no process of the view can
// write.
func New(dir string) (*View, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	began, err := tick(dir)
	return &View{dir: dir, began: began}, err
}

// patience bounds the wait for a later time than the view's, which distinguishes changes from earlier ones.
const patience = 100 * time.Millisecond

// tick waits until the clock that stamps files has advanced, and returns its time.
func tick(dir string) (time.Time, error) {
	now, err := stamp(dir)
	for next := now; err == nil && !next.After(now) && time.Since(now) < patience; {
		next, err = stamp(dir)
	}
	return now, err
}

// stamp changes a file and returns its time.
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

// Dir is the directory of the changes.
func (v *View) Dir() string { return v.dir }

// StartedAt returns when the view was made, by the file system's clock.
func (v *View) StartedAt() time.Time { return v.began }

// Layer makes and returns the layer of a directory for the next command.
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

// prepare makes the directories of a layer. The kernel requires an empty work directory, and an upper directory
// with the attributes of the tree.
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

// kept is what another process needs to read a view.
type kept struct {
	Name   string    `json:"name"`
	Began  time.Time `json:"began"`
	Layers []Layer   `json:"layers"`
}

const keptName = "view.json"

// Keep makes the view available to other processes by a name, below the parent of its directory.
func (v *View) Keep(name string) error {
	data, err := json.Marshal(kept{name, v.began, v.Layers()})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(v.dir, keptName), data, 0o600)
}

// Find returns the view kept below a directory by a name, or nil.
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

// Sweep removes views below dir older than age: their process was killed.
func Sweep(dir string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Lstat(filepath.Join(path, "clock")); err == nil && time.Since(info.ModTime()) > age {
			_ = clearOut(path)
		}
	}
}

// Layers returns the layers of the view's directories.
func (v *View) Layers() []Layer {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Layer(nil), v.layers...)
}

// Remove removes the view with all its changes.
func (v *View) Remove() error { return clearOut(v.dir) }

// clearOut removes a directory that may contain inaccessible directories of programs and the kernel.
func clearOut(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // so that it can be read
		}
		return nil
	})
	return os.RemoveAll(dir)
}

type key struct{}

// With returns a context whose processes run in a view.
func With(ctx context.Context, v *View) context.Context { return context.WithValue(ctx, key{}, v) }

// From returns the view of a context, or nil.
func From(ctx context.Context) *View {
	v, _ := ctx.Value(key{}).(*View)
	return v
}

// wish is a command's view, and whether it was entered.
type wish struct {
	view    *View
	entered bool
}

var attached sync.Map // of *wish, by *exec.Cmd

// Attach makes the sandbox of the command put it into the view. entered reports whether it did; call detach
// once the command has been started or given up.
func Attach(cmd *exec.Cmd, v *View) (entered func() bool, detach func()) {
	if v == nil {
		return func() bool { return true }, func() {}
	}
	w := &wish{view: v}
	attached.Store(cmd, w)
	return func() bool { return w.entered }, func() { attached.Delete(cmd) }
}

// Of returns the view requested for a command, or nil.
func Of(cmd *exec.Cmd) *View {
	if w, ok := attached.Load(cmd); ok {
		return w.(*wish).view
	}
	return nil
}

// Enter notes that a command was put into its view.
func Enter(cmd *exec.Cmd) {
	if w, ok := attached.Load(cmd); ok {
		w.(*wish).entered = true
	}
}
