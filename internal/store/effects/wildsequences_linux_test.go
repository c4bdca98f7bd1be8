package effects_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// TestWildSequences runs random commands that access files in many ways, take rights away, leave pipes and
// sockets, and change arguments of calls from a thread: what undo does not restore must have been reported.
func TestWildSequences(t *testing.T) {
	testproc.Unchanged(t)
	testneed.Program(t, "python3")
	run := newSequences(t)
	differ, unkept := 0, 0
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			run.each(run.count/2, patience, func(n int) {
				a := newArena(t, level)
				differs, noted := a.wild(run.seed + uint64(n))
				if differs {
					differ++
				}
				if noted {
					unkept++
				}
				a.unlock()
			})
		})
	}
	run.report(t)
	t.Logf("%d did not come back whole, and said it; %d said that something was not kept", differ, unkept)
}

// unlock lets the directory be removed, also by its owner.
func (a *arena) unlock() {
	_ = filepath.WalkDir(a.root, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}

// wild runs one sequence and undoes it. It returns whether a path differs from before, which must have been
// reported, and whether something was reported as not kept.
func (a *arena) wild(seed uint64) (differs, unkept bool) {
	t := a.t
	t.Helper()
	g := generator{rand.New(rand.NewPCG(seed, 29))}
	a.outside(strings.Join(g.several(12, func(g generator) string {
		return "( " + g.pick("mkdir -p "+g.path(), "echo "+strconv.Itoa(g.IntN(9))+" >"+g.path(), "ln -s "+g.path()+" "+g.path()) +
			" ) >/dev/null 2>&1 || true"
	}), "\n"))
	commands := g.several(1+g.IntN(6), generator.wild)
	before := a.withoutObjects()
	// A pipe without a reader would block forever.
	report := a.run(append([]string{"/bin/sh", "-c", `for c; do timeout 5 sh -c "$c" >/dev/null 2>&1; done; true`, "sh"}, commands...))
	after := a.withoutObjects()
	about := testneed.SeedVariable + "=" + strconv.FormatUint(seed, 10) + " changed " + strings.Join(report.Files, " ") + "; " +
		report.Note() + "\n" + strings.Join(commands, "\n")
	require.NoError(t, report.Err, about)
	var left []string
	said := []string{report.Note()}
	if len(report.Files) > 0 {
		outcome, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Skip: true})
		if err != nil {
			said = append(said, err.Error())
		} else {
			left = outcome.Left
			said = append(said, left...)
			for _, s := range outcome.Special {
				said = append(said, s.Path, s.To)
			}
			for _, s := range outcome.Skipped {
				said = append(said, s.Path, s.To)
			}
		}
	}
	is, named := a.withoutObjects(), pathsIn(strings.Join(said, "\n"))
	within := func(path string) bool { // a directory for which that was reported, or that was left as it is
		return strings.Contains(report.Note(), "what is in "+filepath.Dir(path)+":") ||
			slices.ContainsFunc(left, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	}
	for _, path := range differences(before, is) {
		if path == "." || special(is[path]) && before[path] == "" {
			continue
		}
		differs = true
		assert.True(t, slices.Contains(named, path) || within(path),
			"%s was %q, became %q, is %q, and nothing was said in %q: %s",
			path, before[path], after[path], is[path], said, about)
	}
	return differs, report.Note() != ""
}

func (g generator) several(n int, command func(generator) string) (commands []string) {
	for range n {
		commands = append(commands, command(g))
	}
	return commands
}

// article is the word that is spelled as the path a.
var article = regexp.MustCompile(
	`\ba (named|pipe|socket|device|file|process|command|program|directory|call|path|regular|later)\b`)

// pathsIn returns the words of a text that may be paths of the tree.
func pathsIn(text string) []string {
	between := func(r rune) bool { return strings.ContainsRune(" \n,;:()\"'", r) }
	words := strings.FieldsFunc(article.ReplaceAllString(text, ""), between)
	for i, word := range words {
		words[i] = strings.TrimSuffix(word, ".")
	}
	return words
}

// special reports whether a path of the tree is a pipe or a socket, which RECORD.md says are never kept.
func special(is string) bool { return strings.HasPrefix(is, "p") || strings.HasPrefix(is, "S") }

func differences(a, b map[string]string) (paths []string) {
	for path := range a {
		if a[path] != b[path] {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// wild returns a command that accesses a path in an unusual way, or one of the others.
func (g generator) wild() string {
	p, q := g.path(), g.path()
	way := g.pick("/proc/self/cwd/", "/proc/$$/cwd/", "/proc/self/task/$$/cwd/", "/proc/self/root$PWD/", "/dev/fd/3/",
		"/proc/self/fd/3/", "/proc/$$/fd/3/", "k/", "$(printf './%.0s' $(seq 2040))")
	begin := "exec 3<.; ln -sfn " + g.pick("/proc/self/cwd", "/proc/self/fd/3", "/dev/fd/3", "/proc/$$/cwd") + " k; "
	removed := "mkdir -p z/n; cd z/n; rmdir ../n; "
	python := func(code string) string { return "exec python3 -c '" + code + "'" }
	return g.pick(
		g.command(), g.command(), g.command(),
		begin+"echo GONE >"+way+p, begin+"echo GONE >>"+way+p, begin+"rm -rf "+way+p, begin+"mv "+way+p+" "+q,
		begin+"mv -f "+q+" "+way+p, begin+"ln "+way+p+" "+q, begin+"chmod 600 "+way+p, begin+"mkdir "+way+p,
		"exec 4>>"+p+"; echo GONE >/proc/self/fd/4", "exec 4>>"+p+"; p=$$; sh -c \"echo GONE >/proc/$p/fd/4\"",
		"exec 4>>"+p+"; ln -sfn /proc/self/fd k; echo GONE >k/4",
		removed+"echo GONE >../../"+p, removed+"rm -rf ../../"+p, removed+"mv ../../"+p+" ../../"+q,
		"chmod 000 "+p, "chmod 000 "+p+"; rm -rf "+p, "chmod 200 "+p, "chmod 500 "+p, "echo 1 >"+p+"; chmod 000 "+p,
		"mkfifo "+p, "rm -f "+p+"; mkfifo "+p,
		python("import socket; socket.socket(socket.AF_UNIX).bind(\""+p+"\")"),
		python(`
import os
for i in range(25):
    os.mkdir("x"*200); os.chdir("x"*200)
open("../"*25 + "`+p+`", "w").write("GONE")
for i in range(25):
    os.chdir(".."); os.rmdir("x"*200)`),
		python(`
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(447, 0)
os.ftruncate(fd, 4096)
m = mmap.mmap(fd, 4096)
m[:8] = b"`+p+`\0".ljust(8, b"\0")[:8]
libc.unlink(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))))`),
		python(`
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"a")
def swap():
    for i in range(3000):
        path[0] = b"b"; path[0] = b"a"
t = threading.Thread(target=swap); t.start()
while t.is_alive():
    fd = libc.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    if fd >= 0:
        os.write(fd, b"GONE"); os.close(fd)
    libc.`+g.pick("unlink(path)", "rename(path, b\"c\")", "chmod(path, 0o600)", "mkdir(path, 0o755)")+`
    t.join(0.0001)`),
	)
}
