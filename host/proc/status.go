package proc

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// StatusEnv names the environment variable that tells a launcher, a program
// that Prepare put in front of the command, on which descriptor it reports.
// It writes one report, fields separated by NUL bytes:
//
//	error NUL code NUL message NUL suggestion   the command could not be run
//	signal NUL number                           the command was ended by a signal
//	done                                        the command has ended otherwise
//
// The latter two also say that nothing the command started is left. A launcher
// that is killed reports nothing.
//
// and keeps the descriptor from the command. An error becomes Run's.
const StatusEnv = "TOOLHOST_STATUS_FD"

// statusPipe is our side of a launcher's report. A nil one reports nothing.
type statusPipe struct {
	ours, theirs *os.File
	fields       []string
}

func addStatusPipe(cmd *exec.Cmd) (*statusPipe, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "no pipe for the launcher: %w", err).
			Suggest("Close files or raise the limit of open files (ulimit -n).")
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(cmd.Env, StatusEnv+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
	return &statusPipe{ours: ours, theirs: theirs}, nil
}

// reportLimit bounds a report; the deadline is for a launcher that has ended
// without closing its end, which cannot be.
const (
	reportLimit    = 16 << 10
	reportPatience = time.Second
)

// read reads the report. The launcher has ended.
func (s *statusPipe) read() {
	if s == nil {
		return
	}
	_ = s.theirs.Close()
	_ = s.ours.SetReadDeadline(time.Now().Add(reportPatience))
	report, _ := io.ReadAll(io.LimitReader(s.ours, reportLimit))
	for field := range bytes.SplitSeq(report, []byte{0}) {
		s.fields = append(s.fields, string(field))
	}
}

// clean reports whether the launcher says that nothing is left.
func (s *statusPipe) clean() bool {
	return s != nil && len(s.fields) > 0 && (s.fields[0] == "done" || s.fields[0] == "signal")
}

// failure gives the error in the report if there is one.
func (s *statusPipe) failure() error {
	if s == nil {
		return nil
	}
	if len(s.fields) == 4 && s.fields[0] == "error" {
		return tool.Errorf(tool.Code(s.fields[1]), "%s", s.fields[2]).Suggest("%s", s.fields[3])
	}
	return nil
}

// signal is the signal that the launcher says has ended the command, or 0.
func (s *statusPipe) signal() syscall.Signal {
	if s == nil || len(s.fields) != 2 || s.fields[0] != "signal" {
		return 0
	}
	number, _ := strconv.Atoi(s.fields[1])
	return syscall.Signal(number)
}

func (s *statusPipe) close() {
	if s != nil {
		_ = s.ours.Close()
		_ = s.theirs.Close()
	}
}
