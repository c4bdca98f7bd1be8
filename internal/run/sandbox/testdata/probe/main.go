// Command probe tries what a confined process must not be able to do, and what it must, and prints a line for
// each act: its name, whether it was allowed or denied, and the error. Its argument is a Scene as JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Scene is what the acts are tried on.
type Scene struct {
	Workspace, Outside string
	Secret, Masked     string
	HostTmp            string
	Protected          string
	Pid                int
	SharedMemory       int
	TCP4, TCP6, UDP    string
	Unix, Abstract     string
	Sleep              string // the command line of a process to leave behind
}

// errAbsent means that the kernel or machine does not have what an act needs.
var errAbsent = errors.New("not offered by this kernel")

func main() {
	if len(os.Args) > 1 && os.Args[1] == "noop" {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "capabilities" {
		os.Exit(reportCapabilities())
	}
	var s Scene
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	acts := make(map[string]func() error)
	for _, group := range []map[string]func() error{
		s.work(), s.files(), s.attributes(), s.secrets(), s.processes(), s.network(), kernel(s),
	} {
		maps.Copy(acts, group)
	}
	for _, name := range slices.Sorted(maps.Keys(acts)) {
		fmt.Println(line(name, acts[name]))
	}
}

func line(name string, act func() error) string {
	err := act()
	switch {
	case err == nil:
		return name + " allowed"
	case errors.Is(err, errAbsent):
		return name + " absent"
	}
	return name + " denied " + err.Error()
}

// unconfined reports whether only the kernel itself can refuse an act.
func unconfined() bool { return os.Getenv("PROBE_CONTROL") != "" }

// passed treats errors that come after the check for rights as success.
func passed(err error, harmless ...error) error {
	if unconfined() && errors.Is(err, unix.ENOSYS) {
		return errAbsent
	}
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
