// Package sandbox confines child processes: what they can write, read and reach by network, and what outlives
// them. Apply rewrites a command before it starts, so that it runs at one of these levels:
//
//   - full: user, mount, PID, network, IPC and UTS namespaces with a read-only view of the system, a private /tmp and
//     no secrets, and Landlock and a system call filter inside them. When the command or the host ends, the kernel
//     ends everything that it started.
//   - landlock: Landlock, a system call filter and a supervisor for what those cannot distinguish, for machines where
//     ordinary users cannot make namespaces.
//   - off: nothing.
//
// Promises lists what holds at which level; the tests try each act. Nothing runs at a weaker level than
// requested: if a level does not work, Apply fails with code unavailable.
//
// Each command is started by a launcher, a small program made for it, see package launch. Programs that import
// this package need no setup.
//
// On macOS, full is a Seatbelt profile. It was written from the documentation and has not run on a Mac yet.
package sandbox

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/memory"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Level is how strongly a process is confined.
type Level string

// The levels. Auto is the strongest of full and landlock that works here.
const (
	Auto     Level = "auto"
	Full     Level = "full"
	Landlock Level = "landlock"
	Off      Level = "off"
)

// Other is Report.Around of a sandbox other than toolhost's.
const Other Level = "other"

// Policy is how a process is confined.
type Policy struct {
	// Held is a directory that must still be the one that was opened.
	Held Held
	// Level is the level; empty is Auto.
	Level Level
	// Workspace is the absolute path of the tree that the process may change; empty if none.
	Workspace string
	// Untouched makes the workspace read-only, except for the cache.
	Untouched bool
	// Unwatched disables the watcher of changes.
	Unwatched bool
	// ReadWrite are further existing absolute paths that it may change.
	ReadWrite []string
	// ReadOnly are absolute paths that it may read even in hidden places such as /tmp, and may not change even
	// in the workspace. At level landlock, missing ones may not be made either; other levels ignore them.
	ReadOnly []string
	// Keep are absolute paths that it may not change, as with ReadOnly, but that become no more readable: a
	// planted symlink grants nothing.
	Keep []string
	// Straight are those of ReadWrite and ReadOnly granted as written: nothing runs if their path contains a
	// symlink.
	Straight []string
	// Names are globs (see path.Match) of the last elements of paths that it may not make or change anywhere in
	// the workspace.
	Names []string
	// MaskSecrets are absolute paths that it may not read, besides the known places of secrets.
	MaskSecrets []string
	// Network allows the network. Without it, level full has its own loopback interface, level landlock no
	// internet sockets.
	Network bool
	// Hosts are what it may reach without Network, see network.Parse. They need level full on Linux.
	Hosts []string
	// Credentials are added to requests to the hosts that they name.
	Credentials []network.Credential
	trusting    map[string]string // variables for their certificates
	// UnixSockets allows unix sockets at level landlock, as needed to serve a plugin. Other programs' sockets
	// that the user may write to become reachable, unless Landlock confines them (Linux 7.1). At level full
	// they are not visible.
	UnixSockets bool
	// CacheDir is the absolute path of the build tools' caches, in a writable place; by default
	// .agent/cache/sandbox in the workspace.
	CacheDir string
	// NoCache makes no cache directory.
	NoCache bool
	// Scratch is a temporary directory below one of ReadOnly, made if missing. It is for level landlock, which
	// has no private /tmp, and programs that change nothing else.
	Scratch string
	// Limits bound its resources.
	Limits Limits

	prepared *preparation
	trial    bool // supervised without a workspace, to find out whether that works
}

// Prepared returns the policy with a memory: findings for one command, such as where secrets are, are reused
// for a few seconds. All copies share it.
func (p Policy) Prepared() Policy {
	p.prepared = new(preparation)
	return p
}

// Limits bound resources. Zero sets no bound.
type Limits struct {
	// OpenFiles and Processes are counts. Processes holds at level full only: elsewhere it would count all of
	// the user's.
	OpenFiles, Processes uint64
	// FileSize bounds a written file, Memory all processes together (see package memory), Tmp all of /tmp, in
	// bytes. Tmp is 2 GiB by default, Memory that of the package.
	FileSize, Memory, Tmp uint64
	// CPU bounds the processor time of each process, in whole seconds.
	CPU time.Duration
}

// DefaultTmp is the default size of a private /tmp.
const DefaultTmp = 2 << 30

func (l Limits) tmp() uint64 {
	if l.Tmp == 0 {
		return DefaultTmp
	}
	return l.Tmp
}

// Apply rewrites cmd, which has not been started, so that it runs confined, and returns its level. It fits
// proc.Command.Prepare; other callers close the files that Apply added to cmd.ExtraFiles after the start. The
// error is a *tool.Error, of code unavailable if the level does not work here.
func Apply(cmd *exec.Cmd, p Policy) (Level, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	if err := p.Held.There(); err != nil {
		return "", err
	}
	level, err := p.choose()
	if err != nil {
		return "", err
	}
	if network.Learns(cmd) {
		p.Network, p.Hosts = false, append(slices.Clone(p.Hosts), network.AskEntry)
	}
	if err := p.intoView(cmd, level); err != nil {
		return "", err
	}
	if err := p.hostsAt(level); err != nil {
		return "", err
	}
	p.unseen(cmd, level)
	memory.Set(cmd, int64(p.Limits.Memory))
	if level == Off {
		return Off, nil
	}
	return level, p.apply(cmd, level)
}

// intoView moves a command that asks for it into a view. Its hosts stay reachable there, but not for a dry run:
// what it sends could not be dropped. Its changes need no watcher.
func (p *Policy) intoView(cmd *exec.Cmd, level Level) error {
	if view.Of(cmd) == nil {
		return nil
	}
	if level != Full || !views {
		return tool.Errorf(tool.Unsupported, "there is no view of the workspace at sandbox level %s on %s", level,
			runtime.GOOS).
			Suggest("It needs the level full on Linux; toolhost doctor says what keeps that from working.")
	}
	p.Network, p.UnixSockets = false, false
	if network.Offline(cmd) {
		p.Hosts = nil
	}
	view.Enter(cmd)
	return nil
}

// hostsAt returns an error if a list of hosts cannot be enforced at the level.
func (p *Policy) hostsAt(level Level) error {
	if len(p.Hosts) == 0 || p.Network || level == Full && hostsServed {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "a list of hosts (network = [...]) cannot be held at sandbox level %s on %s",
		level, runtime.GOOS).
		Suggest(`It takes the level full on Linux, as --learn does: toolhost doctor says what keeps that from working. ` +
			`Or choose network = "deny", or "allow" for every host, in agent.hcl.`)
}

// unseen tells the watcher of a process that it cannot watch.
func (p *Policy) unseen(cmd *exec.Cmd, level Level) {
	w := watch.Of(cmd)
	switch {
	case w == nil || !p.changes():
	case p.Unwatched:
		w.Missed("what processes change, as the sandbox block says (watch = false)")
	case level != Full && level != Landlock || !watches:
		w.Missed("what processes change at sandbox level " + string(level) + " on " + runtime.GOOS)
	}
}

// changes reports whether the process may change more than its cache.
func (p *Policy) changes() bool { return p.Workspace != "" && !p.Untouched || len(p.ReadWrite) > 0 }

// supervised reports whether the process has a supervisor at level full. At level landlock all have one.
func (p *Policy) supervised() bool { return p.trial || p.changes() }

// watcher returns the watcher of the process's changes, nil if not needed.
func (p *Policy) watcher(cmd *exec.Cmd) watch.Watcher {
	if p.Unwatched || !p.changes() || view.Of(cmd) != nil {
		return nil
	}
	return watch.Of(cmd)
}

func (p *Policy) check() error {
	paths := slices.Concat(p.ReadWrite, p.ReadOnly, p.Keep, p.MaskSecrets)
	for _, path := range append(paths, p.Workspace, p.CacheDir, p.Scratch) {
		if path != "" && !filepath.IsAbs(path) {
			return tool.Errorf(tool.InvalidArgument, "the sandbox was given the relative path %s", path).
				Suggest("Give absolute paths.")
		}
	}
	for _, path := range append(p.ReadWrite, p.Workspace) {
		if path != "" && filepath.Clean(path) == string(filepath.Separator) {
			return tool.Errorf(tool.InvalidArgument, "the sandbox cannot make the whole file system writable").
				Suggest("Choose a directory, or turn the sandbox off in agent.hcl.")
		}
	}
	return nil
}

func (p *Policy) choose() (Level, error) {
	switch p.Level {
	case Auto, "":
		full := on(Full, p.supervised(), p.prepared)
		if full.Works {
			return Full, nil
		}
		if full.Passing {
			return "", passing(full)
		}
		landlock := on(Landlock, true, p.prepared)
		switch {
		case landlock.Works:
			return Landlock, nil
		case landlock.Passing:
			return "", passing(landlock)
		}
		return "", tool.Errorf(tool.Unavailable, "no sandbox works here: %s", Reasons(full, landlock)).
			Suggest("%s", advice(full, landlock))
	case Full, Landlock:
		verdict := on(p.Level, p.supervised(), p.prepared)
		switch {
		case verdict.Passing:
			return "", passing(verdict)
		case !verdict.Works:
			return "", tool.Errorf(tool.Unavailable, "the sandbox level %s does not work here: %s", p.Level, verdict.Reason).
				Suggest("%s", advice(verdict))
		}
		return p.Level, nil
	case Off:
		return p.Level, nil
	}
	return "", tool.Errorf(tool.InvalidArgument, "there is no sandbox level %q", p.Level).
		Suggest("The levels are auto, full, landlock and off.")
}

// passing returns the error of a call while a limit is exhausted.
func passing(v Verdict) error {
	return tool.Errorf(tool.Unavailable, "the command cannot be confined at this moment: %s", v.Reason).
		Suggest("%s", v.Remedy)
}

// Reasons explains why neither level works.
func Reasons(full, landlock Verdict) string {
	if full.Reason == landlock.Reason {
		return full.Reason
	}
	return "full: " + full.Reason + "; landlock: " + landlock.Reason
}

// Remedies returns known ways, as sentences, to make the levels work.
func Remedies(levels ...Verdict) string {
	var remedies []string
	for _, v := range levels {
		if v.Remedy != "" && !slices.Contains(remedies, v.Remedy) {
			remedies = append(remedies, v.Remedy)
		}
	}
	return strings.Join(remedies, " Or: ")
}

func advice(levels ...Verdict) string {
	return cmp.Or(Remedies(levels...),
		"Run `toolhost doctor` for more. To run commands unconfined all the same, a person can set TOOLHOST_SANDBOX=off.")
}
