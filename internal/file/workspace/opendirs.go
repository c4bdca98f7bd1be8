package workspace

import (
	"os"
	"path"
	"sync"
)

// openDirs shares directory handles between places: each directory is opened once, however many paths lead through
// it. A nil one shares nothing. Paths are resolved sequentially; the resulting places may be used concurrently.
type openDirs struct {
	roots map[dirName]*os.Root
	mu    sync.Mutex // of files
	files map[*os.Root]*os.File
}

type dirName struct {
	tree *tree
	rel  string
}

func newOpenDirs() *openDirs {
	return &openDirs{roots: make(map[dirName]*os.Root), files: make(map[*os.Root]*os.File)}
}

func (d *openDirs) add(t *tree, names []string, dir *os.Root) {
	if d != nil {
		d.roots[dirName{t, path.Join(names...)}] = dir
	}
}

func (d *openDirs) file(dir *os.Root) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[dir]; f != nil {
		return f, nil
	}
	f, err := dir.Open(".")
	if err == nil {
		d.files[dir] = f
	}
	return f, err
}

func (d *openDirs) close() {
	for _, f := range d.files {
		f.Close()
	}
	for _, dir := range d.roots {
		dir.Close()
	}
}
