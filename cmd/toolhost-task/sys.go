package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stopSignals end a run: what it started is stopped, its deferred commands
// still run.
func stopSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// openReport opens a file, or takes over a descriptor that toolhost passed on.
func openReport(to string) (*os.File, error) {
	number, isDescriptor := strings.CutPrefix(to, "fd:")
	if !isDescriptor {
		return os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%q is no descriptor for a report", to)
	}
	return os.NewFile(uintptr(fd), to), nil
}

// keepReport keeps commands from inheriting the report's descriptor, whose end
// toolhost would then not see.
func keepReport(to string) {
	if number, isDescriptor := strings.CutPrefix(to, "fd:"); isDescriptor {
		if fd, err := strconv.Atoi(number); err == nil && fd >= 3 {
			syscall.CloseOnExec(fd)
		}
	}
}
