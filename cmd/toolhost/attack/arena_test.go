package attack

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crypto/rand"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// arena is where attacks take place: a workspace, and around it what must not change.
type arena struct {
	t      testing.TB
	stance stance
	base   string
	ws     string // the workspace
	out    string // the canary tree
	home   string
	tmp    string // for temporary files of the program
	secret string // planted outside and in the host's environment
	mark   string // in the command line of every process that an attack starts

	soon time.Duration // bounds the wait for what happens at once

	canary  net.Listener // must not be reached
	reached atomic.Int64
	visits  int64 // our own, of those reached

	before map[string]string   // the canary tree
	whole  map[string][]string // allowed contents of files
	owners map[string]bool     // earlier mounts by name
}

// newArena makes an arena with files in the workspace, by slash path.
func newArena(t testing.TB, files map[string]string) *arena {
	t.Helper()
	base, err := os.MkdirTemp("", "atk")
	require.NoError(t, err)
	base, err = filepath.EvalSymlinks(base)
	require.NoError(t, err)
	a := &arena{
		t: t, stance: usual(), base: base, ws: filepath.Join(base, "ws"), out: filepath.Join(base, "outside"),
		home: filepath.Join(base, "home"), tmp: filepath.Join(base, "tmp"),
		secret: "planted-" + rand.Text(), mark: "marked" + rand.Text(), soon: soon, whole: make(map[string][]string),
	}
	t.Cleanup(func() { a.clear() })
	require.NoError(t, os.MkdirAll(a.tmp, 0o755))
	a.write(a.out, "secret.txt", "outside: "+a.secret+"\n", 0o644)
	a.write(a.out, "dir/inner.txt", "inner: "+a.secret+"\n", 0o600)
	a.write(a.out, "run.sh", "#!/bin/sh\ntouch ran\n", 0o755)
	a.write(a.out, "locked.txt", a.secret, 0o400)
	a.write(a.base, "ws-evil/secret.txt", "sibling: "+a.secret+"\n", 0o644)
	a.write(a.home, ".ssh/id_ed25519", "key: "+a.secret+"\n", 0o600)
	a.write(a.home, ".aws/credentials", "aws: "+a.secret+"\n", 0o600)
	a.write(a.ws, "ok.txt", "fine\n", 0o644)
	for name, content := range files {
		a.write(a.ws, name, content, 0o644)
	}
	old := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	for _, dir := range []string{a.out, filepath.Join(a.base, "ws-evil")} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Chtimes(path, old, old)
			}
			return err
		}))
	}
	a.listen()
	return a
}

func (a *arena) write(dir, name, content string, mode fs.FileMode) {
	a.t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(a.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(a.t, testfile.WriteWhole(path, []byte(content), mode))
	require.NoError(a.t, os.Chmod(path, mode))
	if a.before != nil && a.stance.uid != os.Geteuid() {
		require.NoError(a.t, os.Lchown(path, a.stance.uid, a.stance.uid))
	}
}

func (a *arena) link(target, name string) {
	a.t.Helper()
	path := filepath.Join(a.ws, filepath.FromSlash(name))
	require.NoError(a.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(a.t, os.Symlink(target, path))
}

// listen opens the canary server, on a port outside the system's ephemeral range: a client of an ended
// server with such a port does not connect here.
func (a *arena) listen() {
	a.t.Helper()
	var l net.Listener
	testproc.Until(a.t, "a free port", func() (bool, string) {
		var err error
		l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20000+mathrand.IntN(12000)))
		return err == nil, fmt.Sprint(err)
	})
	a.canary = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			a.reached.Add(1)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached"))
			c.Close()
		}
	}()
}

// strangers returns how often others than we reached the canary server. It connects itself: connections
// are accepted in order, so all earlier ones are counted then.
func (a *arena) strangers() int64 {
	a.t.Helper()
	c, err := net.Dial("tcp", a.canary.Addr().String())
	require.NoError(a.t, err)
	defer c.Close()
	_, err = io.Copy(io.Discard, c)
	require.NoError(a.t, err)
	a.visits++
	return a.reached.Load() - a.visits
}

// arm records the state before the attack.
func (a *arena) arm() {
	a.t.Helper()
	a.hand()
	a.before = a.snapshot()
	a.owners = make(map[string]bool)
	for _, m := range mounts() {
		a.owners[m] = true
	}
}

// snapshot describes the canary tree: bytes, modes, owners, times, links.
func (a *arena) snapshot() map[string]string {
	all := make(map[string]string)
	for _, dir := range []string{a.out, filepath.Join(a.base, "ws-evil"), a.home + "/.ssh", a.home + "/.aws"} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				all[path] = "unreadable: " + err.Error()
				return nil
			}
			all[path] = describe(path)
			return nil
		})
	}
	entries, _ := os.ReadDir(a.base)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	all[a.base] = strings.Join(names, " ")
	return all
}

func describe(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		text += fmt.Sprintf(" %d %d %d", st.Uid, st.Gid, st.Ino)
	}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(path)
		text += fmt.Sprintf(" %x %v", sha256.Sum256(data), err)
	} else if info.IsDir() {
		return fmt.Sprintf("%v %d", info.Mode(), info.ModTime().UnixNano())
	}
	return text
}

func mounts() []string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	return strings.Split(string(data), "\n")
}

// clear ends what an attack left and removes the arena.
func (a *arena) clear() {
	a.canary.Close()
	for _, pid := range a.marked() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = filepath.WalkDir(a.base, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(a.base)
}
