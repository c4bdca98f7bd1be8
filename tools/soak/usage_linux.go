package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is observed from outside, by its ID.
type process int

// usage is what a process and its descendants use.
type usage struct {
	memory                    int64 // resident, in bytes
	files, processes, threads int
}

func (p process) usage() usage {
	u := usage{processes: 1}
	at := filepath.Join("/proc", strconv.Itoa(int(p)))
	status, _ := os.ReadFile(filepath.Join(at, "status"))
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case len(fields) == 0:
		case name == "VmRSS":
			kib, _ := strconv.ParseInt(fields[0], 10, 64)
			u.memory = kib << 10
		case name == "Threads":
			u.threads, _ = strconv.Atoi(fields[0])
		}
	}
	files, _ := os.ReadDir(filepath.Join(at, "fd"))
	u.files = len(files)
	lists, _ := filepath.Glob(filepath.Join(at, "task", "*", "children"))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(children)) {
			id, _ := strconv.Atoi(child)
			of := process(id).usage()
			u.memory += of.memory
			u.files += of.files
			u.processes += of.processes
			u.threads += of.threads
		}
	}
	return u
}

func quit(p *os.Process) error { return p.Signal(syscall.SIGQUIT) }
