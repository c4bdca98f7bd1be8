package sandbox

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
	"github.com/toolhost/toolhost/internal/run/view"
)

// full plans level full.
func (p *Policy) full(plan *launch.Plan, g grants, cmd *exec.Cmd) error {
	plan.Namespaces, plan.Loopback = true, !p.Network
	if scratch(plan.Dir, g) && !withinAny(plan.Dir, g.writable) {
		g.readOnly = append(g.readOnly, plan.Dir)
	}
	v := newPlaces(g, p.Network)
	v.show(plan.Path)
	plan.View = v.changes()
	if err := layered(plan, g.writable, view.Of(cmd)); err != nil {
		return err
	}
	plan.Write = append(slices.Clone(g.writable), v.scratches...)
	plan.Device = []string{"/dev"}
	plan.Filter = launch.Filter{Inet: true, Unix: true, Route: true, Attributes: true, Others: true, SysV: true}
	w := p.watcher(cmd)
	if w == nil {
		return nil
	}
	plan.Filter.Watch = true
	socket, err := launch.Observe(w)
	if err != nil {
		return err
	}
	plan.Supervisor = addFile(cmd, socket)
	return nil
}

// temporary are the directories that are private to a confined process.
var temporary = [...]string{"/tmp", "/var/tmp"}

// scratch reports whether path lies in a directory for temporary files, and
// not among secrets.
func scratch(path string, g grants) bool {
	return withinAny(path, existing(temporary[:])) && !withinAny(path, g.secrets)
}

// places collects what becomes of places in the file system.
type places struct {
	kinds     map[string]launch.Kind
	writable  []string
	open      []string // what is visible wherever it lies
	scratches []string
	hidden    []string
}

func newPlaces(g grants, network bool) *places {
	v := &places{kinds: make(map[string]launch.Kind), writable: g.writable,
		open: append(slices.Clone(g.writable), g.readOnly...)}
	v.hide(g)
	v.maskSockets()
	for _, path := range g.writable {
		v.kinds[path] = launch.Writable
	}
	for _, path := range g.readOnly {
		v.keep(path)
	}
	shown := existing(homeFiles(homeDirectory()))
	if network {
		shown = append(shown, existing([]string{"/etc/resolv.conf", "/etc/hosts"})...)
	}
	for _, path := range shown {
		v.show(path)
	}
	return v
}

func homeFiles(home string) (paths []string) {
	if home == "" {
		return nil
	}
	for _, name := range harmlessInHome {
		paths = append(paths, filepath.Join(home, name))
	}
	return paths
}

// hide puts scratch space where programs expect to write, and nothing where
// secrets and the sockets of other programs are.
func (v *places) hide(g grants) {
	v.scratches = append(existing(temporary[:]), "/dev/shm")
	for _, path := range v.scratches {
		v.kinds[path] = launch.Scratch
	}
	v.hidden = slices.Clone(v.scratches)
	for _, path := range append(existing([]string{"/run", "/var/run"}), g.secrets...) {
		info, err := os.Lstat(path)
		switch {
		case err != nil || v.covered(path):
		case info.IsDir():
			v.kinds[path] = launch.Hidden
			v.hidden = append(v.hidden, path)
		default:
			v.kinds[path] = launch.Void
		}
	}
	for _, path := range g.secrets {
		v.pin(path)
	}
}

// covered reports whether path is invisible because the nearest place around
// it of which something becomes is a hidden one.
func (v *places) covered(path string) bool {
	nearest := func(places []string) (length int) {
		for _, place := range places {
			if within(path, place) {
				length = max(length, len(place))
			}
		}
		return length
	}
	return nearest(v.hidden) > nearest(v.open)
}

// keep makes path read-only, also where it lies in a writable tree.
func (v *places) keep(path string) {
	v.pin(path)
	v.kinds[path] = launch.ReadOnly
}

// pin makes mounts of the directories between a writable tree and path that are
// not hidden: they cannot be moved, and path with them to where nobody looks for it.
func (v *places) pin(path string) {
	for _, root := range v.writable {
		if path == root || !within(path, root) {
			continue
		}
		for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
			if _, taken := v.kinds[dir]; !taken && !v.covered(dir) {
				v.kinds[dir] = launch.Writable
			}
		}
	}
}

// show makes a file visible that hiding has hidden.
func (v *places) show(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	for _, p := range []string{path, real} {
		if _, taken := v.kinds[p]; !taken && v.covered(p) {
			v.kinds[real] = launch.ReadOnly
		}
	}
}

// maskSockets hides the sockets of other programs that lie elsewhere: the
// kernel lets a process connect to one on a read-only mount.
func (v *places) maskSockets() {
	file, err := os.Open("/proc/net/unix")
	if err != nil {
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		_, path, found := strings.Cut(lines.Text(), " /")
		if !found {
			continue
		}
		path, err := filepath.EvalSymlinks("/" + path)
		if err == nil && !v.covered(path) && !withinAny(path, v.writable) {
			v.kinds[path] = launch.Void
		}
	}
}

// changes gives the view in the order in which it is made: what lies in a
// place comes after the place. Hidden places in which nothing appears need no
// file system of their own.
func (v *places) changes() []launch.Change {
	paths := slices.Sorted(maps.Keys(v.kinds))
	changes := make([]launch.Change, 0, len(paths))
	for i, path := range paths {
		kind := v.kinds[path]
		if kind == launch.Hidden && !slices.ContainsFunc(paths[i+1:], func(p string) bool { return within(p, path) }) {
			kind = launch.Blank
		}
		changes = append(changes, launch.Change{Kind: kind, Path: path})
	}
	return changes
}
