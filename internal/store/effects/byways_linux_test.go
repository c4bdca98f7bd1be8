package effects_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Ways to a file other than its plain path: each fails and changes nothing, or is recorded and undone.
func TestByways(t *testing.T) {
	testneed.Program(t, "python3")
	lines := map[string]string{
		"/proc/self/cwd":        "echo GONE >/proc/self/cwd/f",
		"/proc/PID/cwd":         "echo GONE >/proc/$$/cwd/f",
		"/proc/self/task":       "echo GONE >/proc/self/task/$$/cwd/f",
		"/proc/self/root":       "echo GONE >/proc/self/root$PWD/f",
		"/proc/PID/fd":          "exec 3>>f; echo GONE >/proc/$$/fd/3",
		"/proc/PARENT/fd":       "exec 3>>f; p=$$; sh -c \"echo GONE >/proc/$p/fd/3\"",
		"/proc/self/fd/N":       "exec 3>>f; echo GONE >/proc/self/fd/3",
		"/proc/self/fd/N/f":     "exec 3<.; echo GONE >/proc/self/fd/3/f",
		"/dev/fd/N/f":           "exec 3<.; echo GONE >/dev/fd/3/f",
		"link to /proc":         "ln -s /proc/self/cwd l; echo GONE >l/f",
		"link to a descriptor":  "exec 3>>f; ln -s /proc/self/fd l; echo GONE >l/3",
		"rm /proc/self/cwd":     "rm -f /proc/self/cwd/f && touch removed",
		"rm /proc/self/task":    "rm -f /proc/self/task/$$/cwd/f && touch removed",
		"rm /dev/fd":            "exec 3<.; rm -f /dev/fd/3/f && touch removed",
		"mv /proc/PID/cwd":      "mv /proc/$$/cwd/f g",
		"mv onto /proc/PID/cwd": "mv -f d/g /proc/$$/cwd/f",
		"ln /proc/self/cwd":     "ln /proc/self/cwd/f g && echo GONE >g",
		"chmod /proc/self/cwd":  "chmod 600 /proc/self/cwd/f",
		"removed directory":     "mkdir n; cd n; rmdir ../n; echo GONE >../f",
		"removed, by rm":        "mkdir n; cd n; rmdir ../n; rm ../f",
		"deep directory": `python3 -c '
import os
for i in range(40):
    os.mkdir("x"*200); os.chdir("x"*200)
open("../"*40 + "f", "w").write("GONE")'`,
		"long path": `python3 -c 'open("./"*2040 + "f", "w").write("GONE")'`,
		"long path and directory": `python3 -c '
import os
for i in range(10):
    os.mkdir("x"*200); os.chdir("x"*200)
open("./"*1500 + "../"*10 + "f", "w").write("GONE")'`,
		"moved deeper than a path": `python3 -c '
import os
os.mkdir("t")
for i in range(20):
    os.mkdir("x"*200); os.chdir("x"*200)
os.chdir("/".join([".."]*20))
os.rename("d", "x"*200 + "/d")
open("x"*200 + "/d/g", "w").write("GONE")
os.rename("x"*200 + "/d", "d")'`,
		"secret memory": `python3 -c '
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(447, 0)
os.ftruncate(fd, 4096)
m = mmap.mmap(fd, 4096)
m[:2] = b"f\0"
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
libc.unlink(ctypes.c_void_p(at))'`,
		"whiteout": `python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.renameat2(-100, b"f", -100, b"h", 4) == -1 and ctypes.get_errno() == 22, ctypes.get_errno()'`,
		"a thread that changes the path": `python3 -c '
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"f")
def swap():
    for i in range(20000):
        path[0] = b"e"; path[0] = b"f"
t = threading.Thread(target=swap); t.start()
while t.is_alive():
    fd = libc.open(path, os.O_WRONLY)
    if fd >= 0:
        os.write(fd, b"GONE"); os.close(fd)
    t.join(0.0001)'`,
	}
	each(t, func(a *arena) {
		for name, line := range lines {
			a.t.Run(name, func(t *testing.T) {
				b := newArena(t, a.level)
				b.outside("echo orig >f; echo orig >e; mkdir d; echo g >d/g")
				before := b.tree()
				report := b.sh("(" + line + "\n) || true")
				after := b.tree()
				require.NoError(t, report.Err)
				assert.NotContains(t, report.Files, "removed", "what is refused does not look as if it were gone")
				var changed []string
				for path := range before {
					if before[path] != after[path] && !strings.HasPrefix(path, "x") {
						changed = append(changed, path)
					}
				}
				for _, path := range changed {
					if path != "." {
						assert.Contains(t, report.Files, path)
					}
				}
				if len(report.Files) > 0 {
					b.undo()
				}
				data, err := os.ReadFile(filepath.Join(b.root, "f"))
				require.NoError(t, err)
				assert.Equal(t, "orig\n", string(data))
				assert.FileExists(t, filepath.Join(b.root, "d", "g"))
			})
		}
	})
}
