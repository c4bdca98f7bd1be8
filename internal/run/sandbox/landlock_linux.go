package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

var devicesOpen = [...]string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// landlock plans level landlock. Landlock can only grant, and grants include everything below; to leave out
// secrets, directories around them are granted entry by entry. The many rules are kept for the next command.
func (p *Policy) landlock(plan *launch.Plan, g grants, cmd *exec.Cmd) error {
	sockets := p.UnixSockets || launch.LandlockABI() >= launch.UnixABI
	plan.Filter = launch.Filter{Inet: p.Network, Route: p.Network, Unix: sockets,
		Guard: p.changes() || p.trial || launch.LandlockABI() < launch.TruncateABI}
	ruleset, writable, err := p.ruleset(plan, g)
	if err != nil {
		return err
	}
	plan.Ruleset = addFile(cmd, ruleset)
	access := launch.Access{Writable: writable, Devices: devicesOpen[:], Guard: p.guard(g)}
	socket, err := launch.Supervise(access, p.watcher(cmd))
	if err != nil {
		return err
	}
	plan.Supervisor = addFile(cmd, socket)
	return nil
}

// addFile passes a file to the launcher and returns its descriptor there.
func addFile(cmd *exec.Cmd, file *os.File) (fd int) {
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	return 2 + len(cmd.ExtraFiles)
}

// ruleset makes the ruleset, or copies a kept one, and returns what may be written by it.
func (p *Policy) ruleset(plan *launch.Plan, g grants) (ruleset *os.File, writable []string, err error) {
	key := rulesetKey(plan, g)
	if ruleset, writable, err = p.prepared.ruleset(key); ruleset != nil || err != nil {
		return ruleset, writable, err
	}
	p.landlockRules(plan, g)
	fd, err := plan.NewRuleset()
	if err != nil {
		return nil, nil, err
	}
	ruleset = os.NewFile(uintptr(fd), "landlock ruleset")
	p.prepared.keepRuleset(key, ruleset, plan.Write)
	return ruleset, plan.Write, nil
}

// rulesetKey identifies a ruleset. Rules are for inodes, not names: a directory that was made again has another
// key.
func rulesetKey(plan *launch.Plan, g grants) string {
	var b strings.Builder
	for _, paths := range [][]string{{plan.Dir, plan.Path}, g.writable, g.readOnly} {
		for _, path := range paths {
			var stat syscall.Stat_t
			_ = syscall.Stat(path, &stat)
			fmt.Fprintf(&b, "%s\x00%d:%d\x00", path, stat.Dev, stat.Ino)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *Policy) landlockRules(plan *launch.Plan, g grants) {
	hidden := append(existing(append([]string{"/dev", "/run", "/var/run"}, temporary[:]...)), g.hidden()...)
	visible := slices.Clone(g.readOnly)
	if scratch(plan.Dir, g) && !withinAny(plan.Dir, g.writable) {
		visible = append(visible, plan.Dir)
	}
	plan.List = true
	plan.Read = except("/", hidden)
	for _, path := range visible {
		plan.Read = append(plan.Read, except(path, pathsBelow(hidden, path))...)
	}
	for _, place := range g.shown {
		plan.Read = append(plan.Read, except(place.real, pathsBelow(hidden, place.real))...)
	}
	further := []string{"/etc/resolv.conf"}
	if p.Network {
		further = append(further, network.CertificateFiles()...)
	}
	if plan.Path != "" {
		further = append(further, plan.Path)
	}
	plan.Read = append(plan.Read, existing(further)...)
	for _, path := range g.writable {
		plan.Write = append(plan.Write, except(path, pathsBelow(hidden, path))...)
	}
	plan.Device = devicesOpen[:]
}

func pathsBelow(paths []string, dir string) (found []string) {
	for _, path := range paths {
		if path != dir && within(path, dir) {
			found = append(found, path)
		}
	}
	return found
}

// except returns the parts of dir without hidden. Symlinks are left out: their target counts.
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
