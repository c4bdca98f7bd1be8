package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// openReport opens a file, or a descriptor passed on by toolhost.
func openReport(to string) (*os.File, error) {
	number, isDescriptor := strings.CutPrefix(to, "fd:")
	if !isDescriptor {
		return os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%q is not a file descriptor for a report", to)
	}
	return os.NewFile(uintptr(fd), to), nil
}

// closeReportOnExec keeps commands from inheriting the report's descriptor: toolhost reads it until all copies are
// closed.
func closeReportOnExec(to string) {
	if number, isDescriptor := strings.CutPrefix(to, "fd:"); isDescriptor {
		if fd, err := strconv.Atoi(number); err == nil && fd >= 3 {
			syscall.CloseOnExec(fd)
		}
	}
}
