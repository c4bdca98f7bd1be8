package attack

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// nobody is the user id of an ordinary user.
const nobody = 65534

// stance is how the attacked host runs: at which sandbox level (Auto is the default without agent.hcl)
// and as which user.
type stance struct {
	level sandbox.Level
	uid   int
}

// usual is a stance without the operator's settings.
func usual() stance { return stance{level(), os.Geteuid()} }

// level returns this run's level, Auto unless levelEnv is set.
func level() sandbox.Level { return cmp.Or(sandbox.Level(os.Getenv(levelEnv)), sandbox.Auto) }

// weakest is the stance with the least protection by the kernel: no namespaces, and an ordinary user if
// possible.
func weakest() stance { return stance{sandbox.Landlock, ordinary()} }

func ordinary() int {
	if testneed.Superuser() {
		return nobody
	}
	return os.Geteuid()
}

func stances() []stance {
	levels := []sandbox.Level{level()}
	if level() == sandbox.Auto {
		levels = append(levels, sandbox.Landlock)
	}
	if testing.Short() {
		levels = levels[:1]
	}
	var list []stance
	for _, level := range levels {
		list = append(list, stance{level, os.Geteuid()})
		if ordinary() != os.Geteuid() {
			list = append(list, stance{level, nobody})
		}
	}
	return list
}

func (s stance) String() string {
	name := string(s.level)
	if s.uid != os.Geteuid() {
		name += " as nobody"
	}
	return name
}

// only selects one way to run a command, in one stance, under -short.
func only(t testing.TB, face string, s stance) {
	t.Helper()
	if face != "command" || s != usual() {
		testneed.NotShort(t, "one way to run a command stays, in one stance")
	}
}

// block returns the stance's part of agent.hcl.
func (s stance) block() string {
	if s.level == sandbox.Auto {
		return ""
	}
	return "sandbox { level = \"" + string(s.level) + "\" }\n"
}

// unwatched returns the block with watching of changes turned off.
func (s stance) unwatched() string {
	return fmt.Sprintf("sandbox {\n  level = %q\n  watch = false\n}\n", s.level)
}

// full reports whether namespaces work: only they protect parts of the workspace, and end what a killed
// host started.
func (s stance) full(t testing.TB) bool {
	return s.level == sandbox.Full || s.level == sandbox.Auto && sandbox.Detect(t.Context()).Strongest == sandbox.Full
}

// signalScope is the version of Landlock that scopes signals. Without it, an attack that kills whatever
// it can must not be tried.
const signalScope = 6

// need skips a test whose stance is impossible on this machine.
func (s stance) need(t testing.TB) {
	t.Helper()
	report := sandbox.Detect(t.Context())
	switch {
	case s.level == sandbox.Full && !report.Full.Works:
		testneed.Missing(t, "sandbox level full does not work here: "+report.Full.Reason)
	case s.level == sandbox.Landlock && !report.Landlock.Works:
		testneed.Missing(t, "sandbox level landlock does not work here: "+report.Landlock.Reason)
	case !s.full(t) && report.LandlockABI < signalScope:
		testneed.Missing(t, "the kernel's Landlock does not confine signals: Linux 6.12 does")
	}
}

// newArenaFor is newArena for a host in a stance.
func newArenaFor(t testing.TB, s stance, files map[string]string) *arena {
	t.Helper()
	s.need(t)
	a := newArena(t, files)
	a.stance = s
	return a
}

// hand gives all files in the arena to the host's user: only the sandbox may keep it out.
func (a *arena) hand() {
	a.t.Helper()
	if a.stance.uid == os.Geteuid() {
		return
	}
	require.NoError(a.t, filepath.WalkDir(a.base, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, a.stance.uid, a.stance.uid)
		}
		return err
	}))
}

// credential makes a program run as the stance's user.
func (s stance) credential() *syscall.SysProcAttr {
	if s.uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
}
