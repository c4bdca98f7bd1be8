package sandbox

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
	"github.com/toolhost/toolhost/internal/run/view"
)

func (p *Policy) full(plan *launch.Plan, g grants, cmd *exec.Cmd) error {
	plan.Namespaces, plan.Loopback = true, !p.Network
	if scratch(plan.Dir, g) && !withinAny(plan.Dir, g.writable) {
		g.readOnly = append(g.readOnly, plan.Dir)
	}
	v := newViewBuilder(g, p.Network)
	v.show(plan.Path)
	if p.Network || len(p.Hosts) > 0 {
		for _, path := range network.CertificateFiles() {
			v.show(path)
		}
	}
	if len(p.Hosts) > 0 && !p.Network {
		if err := p.serveHosts(plan, v, cmd); err != nil {
			return err
		}
		v.showTexts()
		plan.Texts = v.texts
	}
	plan.View, plan.From = v.changes(), v.from
	if err := layered(plan, g.writable, view.Of(cmd)); err != nil {
		return err
	}
	plan.Write = append(slices.Clone(g.writable), v.scratches...)
	plan.Device = []string{"/dev"}
	plan.Filter = launch.Filter{Inet: true, Unix: true, Route: true, Attributes: true, Others: true, SysV: true}
	if !p.supervised() {
		return nil
	}
	plan.Filter.Guard = true
	access := launch.Access{Writable: plan.Write, Devices: plan.Device, Guard: p.guard(g), View: true}
	socket, err := launch.Supervise(access, p.watcher(cmd))
	if err != nil {
		return err
	}
	plan.Supervisor = addFile(cmd, socket)
	return nil
}

var temporary = [...]string{"/tmp", "/var/tmp"}

// scratch reports whether path lies in a temporary directory and not among secrets.
func scratch(path string, g grants) bool {
	return withinAny(path, existing(temporary[:])) && !withinAny(path, g.hidden())
}

// viewBuilder collects the changes to the file system that a confined process sees.
type viewBuilder struct {
	kinds     map[string]launch.Kind
	from      map[string]string // the source of a place, if elsewhere
	writable  []string
	granted   []string // visible even in hidden places
	open      []string // granted, and what is shown of hidden places
	scratches []string
	hidden    []string
	texts     map[string]string // contents of launch.Text
}

func newViewBuilder(g grants, networked bool) *viewBuilder {
	v := &viewBuilder{kinds: make(map[string]launch.Kind), from: make(map[string]string), writable: g.writable,
		granted: slices.Concat(g.writable, g.readOnly)}
	v.open = slices.Clone(v.granted)
	for _, place := range g.shown {
		v.open = append(v.open, place.path)
	}
	v.hide(g)
	v.maskSockets()
	for _, path := range g.writable {
		v.kinds[path] = launch.Writable
	}
	for _, path := range g.readOnly {
		v.kinds[path] = launch.ReadOnly
	}
	for _, place := range g.shown {
		if _, taken := v.kinds[place.path]; !taken && v.coveredBut(place.path, v.granted) {
			v.kinds[place.path] = launch.ReadOnly
			if place.real != place.path {
				v.from[place.path] = place.real
			}
		}
	}
	if networked {
		for _, path := range existing([]string{"/etc/resolv.conf", "/etc/hosts"}) {
			v.show(path)
		}
	}
	return v
}

// hide puts scratch space where programs expect to write, and empties places of secrets and other programs'
// sockets.
func (v *viewBuilder) hide(g grants) {
	v.scratches = append(existing(temporary[:]), "/dev/shm")
	for _, path := range v.scratches {
		v.kinds[path] = launch.Scratch
	}
	v.hidden = slices.Clone(v.scratches)
	hidden := append(existing([]string{"/run", "/var/run"}), g.hidden()...)
	slices.Sort(hidden) // what lies in a hidden place needs no hiding
	for _, path := range hidden {
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
}

// covered reports whether path is invisible because the nearest changed place around it is hidden.
func (v *viewBuilder) covered(path string) bool { return v.coveredBut(path, v.open) }

func (v *viewBuilder) coveredBut(path string, open []string) bool {
	nearest := func(places []string) (length int) {
		for _, place := range places {
			if within(path, place) {
				length = max(length, len(place))
			}
		}
		return length
	}
	return nearest(v.hidden) > nearest(open)
}

func (v *viewBuilder) show(path string) {
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

// maskSockets hides other programs' sockets elsewhere: the kernel allows connecting to one on a read-only
// mount.
func (v *viewBuilder) maskSockets() {
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

// changes returns the changes in order: contents after their directory. Hidden places in which nothing appears
// need no file system of their own.
func (v *viewBuilder) changes() []launch.Change {
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
