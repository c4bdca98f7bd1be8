package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// ownDisk is a directory where the test binary mounts a small disk before it
// becomes the program that diskFor names.
const (
	ownDisk  = "TOOLHOST_HUB_TEST_DISK"
	diskFor  = "TOOLHOST_HUB_TEST_DISK_FOR"
	diskSize = "64m"
)

func runOnOwnDisk() int {
	dir, program := os.Getenv(ownDisk), os.Getenv(diskFor)
	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("none", dir, "tmpfs", 0, "size="+diskSize+",mode=700"))
	if err == nil && program == "" {
		return 0
	}
	if err == nil {
		_ = os.Unsetenv(ownDisk)
		_ = os.MkdirAll(filepath.Join(dir, "tmp"), 0o700)
		err = syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, "a disk of its own:", err)
	return 1
}

// onDisk makes a command run with a small disk at dir, which has all its files.
// The disk is gone with the process.
func onDisk(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	cmd.Env = append(cmd.Env, ownDisk+"="+dir, diskFor+"="+cmd.Path, "HOME="+dir, "TMPDIR="+filepath.Join(dir, "tmp"))
	for _, name := range []string{"STATE", "DATA", "CONFIG", "CACHE"} {
		cmd.Env = append(cmd.Env, "XDG_"+name+"_HOME="+filepath.Join(dir, name))
	}
	cmd.Path, cmd.SysProcAttr = self, apart()
}

// apart returns namespaces in which a process may mount.
func apart() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	}
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
}

// mayMount reports an error if a process that the test starts cannot have its own disk.
func mayMount(t *testing.T) error {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), ownDisk+"="+t.TempDir()), apart()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// fillDisk leaves no byte free on a process's disk until stop is called.
func fillDisk(p *process, dir string) (stop func()) {
	name := filepath.Join("/proc", fmt.Sprint(p.cmd.Process.Pid), "root", dir, "filler")
	file, err := os.Create(name)
	if err != nil {
		return func() {}
	}
	fill := func() {
		piece := make([]byte, 1<<20)
		for size := len(piece); size > 0; {
			if _, err := file.Write(piece[:size]); err != nil {
				size /= 16
			}
		}
	}
	fill()
	ending := make(chan struct{})
	var filling sync.WaitGroup
	filling.Go(func() {
		for {
			fill()
			select {
			case <-ending:
				return
			case <-time.After(5 * time.Millisecond): // files removed meanwhile
			}
		}
	})
	return func() {
		close(ending)
		filling.Wait()
		_ = file.Truncate(0)
		_ = file.Close()
		_ = os.Remove(name)
	}
}

// A worker with a full disk reports each call's fate, runs none twice, takes no
// further session, and recovers.
func TestFullDisk(t *testing.T) {
	if err := mayMount(t); err != nil {
		testneed.Skip(t, fmt.Sprint("a test may not mount here: ", err))
	}
	s := newStorm(t, shape{hubs: 1, gateways: 1, sessions: 6, disk: true, workers: 1})
	s.began, s.longest = time.Now(), 10*waits
	for n := 1; n <= 24; n++ {
		s.call(s.randomOf(n), n)
	}
	require.Len(t, s.results, 24)
	w := s.workers[0]
	free := fillDisk(w, s.workerDir(0))
	s.waitFor(func() bool { // the worker's unfinished packs are gone
		return errors.Is(os.WriteFile(filepath.Join("/proc", fmt.Sprint(w.cmd.Process.Pid), "root", s.workerDir(0), "more"),
			make([]byte, 1<<16), 0o600), syscall.ENOSPC)
	})
	w.find("takes no further sessions: the disk is full")
	for n := 25; n <= 60; n++ {
		s.attempts(s.randomOf(n), n, 3)
	}
	free()
	for n := 61; n <= 80; n++ {
		s.call(s.randomOf(n), n)
		assert.NotEmpty(t, s.results[n], "call %d", n)
	}
	select {
	case <-w.ended:
		t.Errorf("the worker ended: %s", w.said())
	default:
	}
	for n := 25; n <= 60; n++ {
		s.call(s.randomOf(n), n)
	}
	s.check()
	s.askAgain(80)
}
