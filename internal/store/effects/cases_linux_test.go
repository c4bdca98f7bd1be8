package effects_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// python runs a Python script as a call, and undoes and redoes it.
func (a *arena) python(prepare, script string, files ...string) {
	a.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		testneed.Missing(a.t, "python3 is not installed")
	}
	require.NoError(a.t, os.WriteFile(filepath.Join(a.root, "script.py"), []byte(script), 0o644))
	a.thereAndBack(prepare, python+" script.py", files...)
}

// Ways to change a file that are not a plain write to its name.
func TestBadCases(t *testing.T) {
	each(t, func(a *arena) {
		for name, c := range map[string]struct {
			prepare, script string
			files           []string
		}{
			"a file that is deleted while open and written on": {some, `
import os
f = open("a.txt", "r+"); os.unlink("a.txt"); f.write("gone"); f.close()`, []string{"a.txt"}},
			"mmap": {some, `
import mmap
f = open("a.txt", "r+b"); m = mmap.mmap(f.fileno(), 0); f.close(); m[0:1] = b"X"; m.flush(); m.close()`, []string{"a.txt"}},
			"a file without a name that gets one": {some, `
import ctypes, os
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o644); os.write(fd, b"new")
libc = ctypes.CDLL(None, use_errno=True)
assert libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"linked", 0x400) == 0, ctypes.get_errno()`, []string{"linked"}},
			"copy_file_range, sendfile and splice": {some, `
import os
src = os.open("a.txt", os.O_RDONLY)
one = os.open("one", os.O_WRONLY | os.O_CREAT, 0o644); os.copy_file_range(src, one, 4, 0)
two = os.open("d/y", os.O_WRONLY); os.sendfile(two, src, 0, 4)`, []string{"d/y", "one"}},
			"holes": {"head -c 100000 /dev/zero | tr '\\0' x >big", `
import os
fd = os.open("big", os.O_RDWR); os.posix_fallocate(fd, 200000, 1000); os.ftruncate(fd, 150000)`, []string{"big"}},
			"a directory over another": {some + "; mkdir empty", `
import os
os.rename("d", "empty")`, nil},
			"two trees that change places": {some + "; mkdir other; echo o >other/o", `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.renameat2(-100, b"d", -100, b"other", 2) == 0, ctypes.get_errno()`, nil},
			"from a deleted directory": {some + "; mkdir gone", `
import os
os.chdir("gone"); os.rmdir("../gone")
try: open("x", "w")
except OSError: pass
open(os.environ["PWD"] + "/a.txt", "w").write("z")`, []string{"a.txt", "gone"}},
			"by a descriptor of a directory": {some, `
import os
d = os.open("d", os.O_RDONLY); os.rename("y", "z", src_dir_fd=d, dst_dir_fd=d); os.mkdir("n", dir_fd=d)
os.chmod("e/x", 0o600, dir_fd=d)`, []string{"d/e/x", "d/n", "d/y", "d/z"}},
			"by fchmod": {some, `
import os
os.fchmod(os.open("a.txt", os.O_RDONLY), 0o600)`, []string{"a.txt"}},
			"names of 255 bytes and of no UTF-8": {some, `
open("n" * 255, "w").write("1"); open(b"\xff\xfe", "w").write("2")`, nil},
			"read-only files in a writable directory": {"echo r >ro; chmod 444 ro", `
import os
os.unlink("ro"); open("ro", "w").write("other")`, []string{"ro"}},
			"rename loops": {some, `
import os
for i in range(100):
    os.rename("d", "f"); os.rename("a.txt", "d"); os.rename("d", "a.txt"); os.rename("f", "d")
open("d/y", "w").write("z")`, []string{"d/y"}},
			"threads": {some, `
import os, threading
def work(n):
    for i in range(50):
        open("t%d" % n, "w").write(str(i)); os.rename("t%d" % n, "u%d" % n)
list(map(lambda t: (t.start(), 0), ts := [threading.Thread(target=work, args=(n,)) for n in range(8)]))
[t.join() for t in ts]`, strings.Fields("u0 u1 u2 u3 u4 u5 u6 u7")},
		} {
			a.t.Run(name, func(t *testing.T) { newArena(t, a.level).python(c.prepare, c.script, c.files...) })
		}
	})
}

// A file too large to be kept is reported as lost, also by undo.
func TestTooLarge(t *testing.T) {
	each(t, func(a *arena) {
		a.outside("truncate -s 4G sparse; echo one >a.txt")
		report := a.sh("rm sparse; echo two >a.txt")
		assert.Equal(t, []string{"a.txt", "sparse"}, report.Files)
		assert.Contains(t, report.Note(), "sparse (it had more than 32 MiB)")
		report = a.sh("truncate -s 4G made; echo three >a.txt")
		assert.Empty(t, report.Note())
		outcome, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Ours: true})
		require.NoError(t, err)
		assert.Equal(t, []string{"made"}, outcome.Unkept)
		assert.NoFileExists(t, filepath.Join(a.root, "made"))
	})
}

func TestIgnored(t *testing.T) {
	each(t, func(a *arena) {
		report := a.sh("mkdir -p node_modules/x; echo 1 >node_modules/x/y; echo 2 >b")
		assert.Contains(t, report.Note(), "by rule, node_modules (2 changes)")
		assert.Equal(t, []string{"b", "node_modules"}, report.Files)
	})
}

// Files outside that a symlink leads to are refused by the sandbox, and are no effect.
func TestFilesOfLinksThatLeadOutside(t *testing.T) {
	each(t, func(a *arena) {
		outside := filepath.Join(t.TempDir(), "o")
		require.NoError(t, os.WriteFile(outside, []byte("o"), 0o666))
		require.NoError(t, os.Symlink(outside, filepath.Join(a.root, "l")))
		report := a.sh("echo x >l || true; echo y >b")
		assert.Equal(t, []string{"b"}, report.Files)
	})
}
