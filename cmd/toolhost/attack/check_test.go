package attack

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// Names of the checks, for controls.
const (
	checkCanary  = "canary tree"
	checkSecret  = "secret"
	checkProcess = "process"
	checkLeft    = "left over"
	checkWhole   = "whole files"
	checkServer  = "canary server"
	checkAlive   = "host answers"
	checkResult  = "one result"
)

type violation struct{ check, what string }

// inspect makes the checks of the surroundings; said is the program's whole output.
func (a *arena) inspect(said ...string) []violation {
	var found []violation
	add := func(check, format string, args ...any) {
		found = append(found, violation{check, fmt.Sprintf(format, args...)})
	}
	after := a.snapshot()
	for path, was := range a.before {
		if after[path] != was {
			add(checkCanary, "%s was %s and is %s", path, was, after[path])
		}
	}
	for path := range after {
		if _, ok := a.before[path]; !ok {
			add(checkCanary, "%s is new", path)
		}
	}
	for _, text := range said {
		if strings.Contains(text, a.secret) {
			add(checkSecret, "in what the program said: %s", around(text, a.secret))
		}
	}
	a.walk(add)
	for path, contents := range a.whole {
		data, err := os.ReadFile(filepath.Join(a.ws, path))
		if err != nil && !slices.Contains(contents, "(missing)") ||
			err == nil && !slices.Contains(contents, string(data)) {
			add(checkWhole, "%s: %v, %d bytes", path, err, len(data))
		}
	}
	if pids := a.marked(); len(pids) > 0 && !within(a.soon, func() bool { pids = a.marked(); return len(pids) == 0 }) {
		add(checkProcess, "%v are alive", pids)
	}
	if n := a.strangers(); n > 0 {
		add(checkServer, "it was reached %d times", n)
	}
	for _, m := range mounts() {
		if strings.Contains(m, a.base) && !a.owners[m] {
			add(checkLeft, "a mount: %s", m)
		}
	}
	return found
}

// walk looks for secrets and leftovers in the workspace.
func (a *arena) walk(add func(check, format string, args ...any)) {
	_ = filepath.WalkDir(a.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".toolhost-tmp-") || strings.HasPrefix(d.Name(), "tmp-") {
			add(checkLeft, "a temporary file: %s", path)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 8<<20 {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data,
			[]byte(a.secret)) && !a.plantedLink(info) {
			add(checkSecret, "in the file %s", path)
		}
		return nil
	})
}

// plantedLink reports whether a file is a hard link to the canary tree, as planted by attacks.
func (a *arena) plantedLink(info fs.FileInfo) bool {
	for _, name := range []string{"secret.txt", "dir/inner.txt", "locked.txt"} {
		if canary, err := os.Stat(filepath.Join(a.out, name)); err == nil && os.SameFile(canary, info) {
			return true
		}
	}
	return false
}

// ended looks for what an ended program must not leave.
func (a *arena) ended() []violation {
	var found []violation
	_ = filepath.WalkDir(a.tmp, func(path string, _ fs.DirEntry, _ error) error {
		if path != a.tmp {
			found = append(found, violation{checkLeft, path})
		}
		return nil
	})
	return found
}

// marked lists the processes with the mark in their command line.
func (a *arena) marked() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil &&
			bytes.Contains(line, []byte(a.mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// left inspects after a control that leaves a process. While that becomes another program, it briefly
// has no name to be found by.
func (a *arena) left(named func() bool) []violation {
	a.t.Helper()
	require.True(a.t, within(patience, named), "there is a process")
	a.soon = brief
	return a.inspect()
}

// named reports whether a process has the mark in its command line.
func (a *arena) named() bool { return len(a.marked()) > 0 }

// renamed reports whether a process took the mark as its name.
func (a *arena) renamed() bool {
	return slices.ContainsFunc(a.marked(), func(pid int) bool {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && bytes.HasPrefix(line, []byte(a.mark))
	})
}

func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// around returns a text's part near a place.
func around(text, place string) string {
	i := strings.Index(text, place)
	return text[max(0, i-60):min(len(text), i+60)]
}
