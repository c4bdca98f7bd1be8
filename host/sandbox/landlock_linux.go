package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/sandbox/launch"
)

// devicesOpen are the devices that every process may use.
var devicesOpen = [...]string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// landlock plans level landlock. Landlock can only grant, and grants reach all
// the way down; so what leaves secrets out is granted piece by piece.
func (p *Policy) landlock(plan *launch.Plan, g grants) {
	hidden := append(existing(append([]string{"/dev", "/run", "/var/run"}, temporary[:]...)), g.secrets...)
	visible := slices.Clone(g.readOnly)
	if scratch(plan.Dir, g) && !withinAny(plan.Dir, g.writable) {
		visible = append(visible, plan.Dir)
	}
	plan.List = true
	plan.Read = except("/", hidden)
	for _, path := range visible {
		plan.Read = append(plan.Read, except(path, below(hidden, path))...)
	}
	plan.Read = append(plan.Read, existing(append(homeFiles(homeDirectory()), plan.Path, "/etc/resolv.conf"))...)
	for _, path := range g.writable {
		plan.Write = append(plan.Write, except(path, below(hidden, path))...)
	}
	plan.Device = devicesOpen[:]
	sockets := p.UnixSockets || launch.LandlockABI() >= launch.UnixABI
	plan.Filter = launch.Filter{Inet: p.Network, Route: p.Network, Unix: sockets}
}

// below picks those of paths that lie below dir.
func below(paths []string, dir string) (found []string) {
	for _, path := range paths {
		if path != dir && within(path, dir) {
			found = append(found, path)
		}
	}
	return found
}

// except lists what makes up dir without hidden. Symlinks need no mention: it
// counts where they lead.
func except(dir string, hidden []string) []string {
	switch {
	case slices.Contains(hidden, dir):
		return nil
	case !anyWithin(hidden, dir):
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink == 0 {
			paths = append(paths, except(filepath.Join(dir, entry.Name()), hidden)...)
		}
	}
	return paths
}
