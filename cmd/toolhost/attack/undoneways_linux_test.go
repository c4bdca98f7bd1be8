package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func init() { // see TestUndoOfByways
	systemRoles["secret name"], systemRoles["whiteout"], systemRoles["deep"] = removeBySecretName, whiteOut, changeDeeply
}

// removeBySecretName removes ok.txt by a name in memory unreadable to other processes.
func removeBySecretName() {
	memory := make([]byte, 4096)
	if fd, _, errno := unix.Syscall(unix.SYS_MEMFD_SECRET, 0, 0, 0); errno == 0 {
		_ = unix.Ftruncate(int(fd), 4096)
		secret, err := unix.Mmap(int(fd), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			memory = secret
		}
	}
	copy(memory, "ok.txt\x00")
	at := unix.AT_FDCWD
	_, _, _ = unix.Syscall(unix.SYS_UNLINKAT, uintptr(at), uintptr(unsafe.Pointer(&memory[0])), 0)
}

func whiteOut() {
	_ = unix.Renameat2(unix.AT_FDCWD, "ok.txt", unix.AT_FDCWD, "h", unix.RENAME_WHITEOUT)
}

// changeDeeply moves a directory to where it has no path, changes it and moves it back.
func changeDeeply() {
	const depth = 22
	long := strings.Repeat("x", 200)
	for range depth {
		_ = os.Mkdir(long, 0o755)
		_ = os.Chdir(long)
	}
	_ = os.Chdir(strings.Repeat("../", depth))
	_ = os.Rename("d", long+"/d")
	_ = os.WriteFile(long+"/d/g", []byte("lost\n"), 0o644)
	_ = os.Rename(long+"/d", "d")
}

// byways are ways to change ok.txt or d/g that a record could overlook: each fails, or is undone. first
// runs in an earlier call.
var byways = map[string]struct{ first, script string }{
	"the working directory in /proc":       {"", "echo lost > /proc/self/cwd/ok.txt"},
	"removed by /proc":                     {"", "rm /proc/self/cwd/ok.txt"},
	"a link to descriptors":                {"", "ln -s /proc/self/fd l; exec 3>>ok.txt; echo lost > l/3"},
	"a pipe is left":                       {"", "rm ok.txt; mkfifo p d/p"},
	"a name in secret memory":              {"", "ATTACK_ROLE='secret name' ./player"},
	"a directory deeper than paths can be": {"", "ATTACK_ROLE=deep ./player"},
	"a whiteout":                           {"", "ATTACK_ROLE=whiteout ./player"},
	"ignored before":                       {"echo ok.txt >> .git/info/exclude", "rm ok.txt"},
}

// TestUndoOfByways has commands change files in these ways.
func TestUndoOfByways(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	prepare := func(t *testing.T, s stance) *arena {
		a := newArenaFor(t, s, map[string]string{"agent.hcl": planting + s.block(), "d/g": "fine\n"})
		require.NoError(t, copyFile(player(), filepath.Join(a.ws, "player")))
		a.repositoryIn(a.ws)
		a.arm()
		return a
	}
	lost := func(a *arena) (found []violation) {
		for _, name := range []string{"ok.txt", "d/g"} {
			if data, err := os.ReadFile(filepath.Join(a.ws, name)); err != nil || string(data) != "fine\n" {
				found = append(found, violation{checkWhole, fmt.Sprint(name, ": ", errors.Join(err), " ", string(data))})
			}
		}
		return found
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			for name, way := range byways {
				tally.note(tally.cases, "faults", s.String()+" undo of a change: "+name)
				a := prepare(t, s)
				if way.first != "" {
					a.cli(nil, "", "plant", planted(t, way.first))
				}
				r := a.cli(nil, "", "plant", planted(t, way.script))
				if len(lost(a)) == 0 {
					continue // it was refused
				}
				out, err := a.run(nil, "undo")
				assert.NoError(t, err, "%s: %s %s", name, r.said, out)
				assert.Empty(t, lost(a), "%s: %s %s", name, r.said, out)
			}
		})
	}
	for name, way := range byways {
		a := prepare(t, usual())
		a.asUser(way.script + "; true")
		control(t, "faults", "a change: "+name, checkWhole, lost(a))
	}
}
