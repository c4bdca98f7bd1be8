package proc

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// StatusEnv names the environment variable that tells Prepare, and its launcher in front of the command, the
// descriptor for the launcher's report. Prepare removes the variable from the command's environment, and the
// launcher closes the descriptor, the last of cmd.ExtraFiles. There is one report, its fields separated by NUL
// bytes; the last one is a native four-byte number:
//
//	error NUL code NUL message NUL suggestion NUL errno
//	ended NUL status
//
// The first says that the command could not run; it becomes Run's error. The second, with the status of
// wait(2), says that the command has ended with all its processes. A killed launcher reports nothing.
const StatusEnv = "TOOLHOST_STATUS_FD"

// statusPipe is our end of the pipe for a launcher's report; may be nil.
type statusPipe struct {
	ours   *os.File
	kind   string
	fields []string // without the last one
	number uint32
}

func offerStatusPipe(cmd *exec.Cmd) (pipe *statusPipe, theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, tool.Errorf(tool.Unavailable, "no pipe for the launcher: %w", err).
			Suggest("Close files or raise the limit of open files (ulimit -n).")
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(cmd.Env, StatusEnv+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
	return &statusPipe{ours: ours}, theirs, nil
}

// reportLimit bounds a report; the deadline is a safeguard against an end left open.
const (
	reportLimit    = 16 << 10
	reportPatience = 10 * time.Second
)

// read reads the report after the launcher's end.
func (s *statusPipe) read() {
	if s == nil {
		return
	}
	_ = s.ours.SetReadDeadline(time.Now().Add(reportPatience))
	report, _ := io.ReadAll(io.LimitReader(s.ours, reportLimit))
	const size = 4
	if len(report) < size {
		return
	}
	text, number := report[:len(report)-size], report[len(report)-size:]
	s.number = binary.NativeEndian.Uint32(number)
	fields := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	s.kind, s.fields = fields[0], fields[1:]
}

// clean reports whether the launcher reported that no process is left.
func (s *statusPipe) clean() bool { return s != nil && s.kind == "ended" }

func (s *statusPipe) failure() error {
	if s == nil || s.kind != "error" || len(s.fields) != 3 {
		return nil
	}
	return tool.Errorf(tool.Code(s.fields[0]), "%s: %w", s.fields[1], syscall.Errno(s.number)).Suggest("%s",
		s.fields[2])
}

// signal returns the signal that ended the command, by the launcher's report, or 0.
func (s *statusPipe) signal() syscall.Signal {
	if !s.clean() {
		return 0
	}
	return syscall.Signal(s.number & 0x7f)
}

func (s *statusPipe) close() {
	if s != nil {
		_ = s.ours.Close()
	}
}
