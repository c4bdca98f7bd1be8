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
	hidden := append(existing([]string{"/tmp", "/var/tmp", "/dev", "/run", "/var/run"}), g.secrets...)
	hidden = slices.DeleteFunc(hidden, func(path string) bool { return slices.Contains(g.writable, path) })
	plan.List = true
	plan.Read = append(except("/", hidden), g.readOnly...)
	plan.Read = append(plan.Read, plan.Path)
	plan.Read = append(plan.Read, existing(append(homeFiles(homeDirectory()), plan.Path, "/etc/resolv.conf"))...)
	for _, path := range g.writable {
		plan.Write = append(plan.Write, except(path, slices.DeleteFunc(slices.Clone(hidden), func(h string) bool {
			return !within(h, path)
		}))...)
	}
	plan.Device = devicesOpen[:]
	sockets := p.UnixSockets || launch.LandlockABI() >= launch.UnixABI
	plan.Filter = launch.Filter{Inet: p.Network, Route: p.Network, Unix: sockets}
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
