package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// emulator names the program that runs binaries of this architecture on a machine of another: see .ci/arm64.
const emulator = "TOOLHOST_EMULATOR"

func emulate(cmd *exec.Cmd) {
	if program := os.Getenv(emulator); program != "" {
		cmd.Path, cmd.Args = program, []string{program, cmd.Path}
	}
}

// execute runs a script as a launcher does, and returns its output and exit code.
func execute(t *testing.T, s *script) (output string, code int) {
	t.Helper()
	cmd := &exec.Cmd{Dir: t.TempDir()}
	require.NoError(t, apply(cmd, s))
	defer cmd.ExtraFiles[0].Close()
	emulate(cmd)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestMachine(t *testing.T) {
	exit := func(s *script, code any) { s.call("", unix.SYS_EXIT_GROUP, code) }
	tests := map[string]struct {
		write  func(s *script)
		output string
		code   int
	}{
		"arguments": {func(s *script) {
			s.call("", unix.SYS_WRITE, 1, "hello", 5)
			exit(s, 7)
		}, "hello", 7},
		"six arguments and a result": {func(s *script) {
			at, fd := s.cell(), s.cell()
			s.call("", unix.SYS_MEMFD_CREATE, "x", 0).into(fd)
			s.call("", unix.SYS_PWRITE64, fd, "page", 4, 4096)
			s.call("", unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, fd, 4096).into(at)
			s.call("", unix.SYS_WRITE, 1, at, 4)
			exit(s, 0)
		}, "page", 0},
		"an error ends it": {func(s *script) {
			s.call("first", unix.SYS_CLOSE, -1)
			exit(s, 0)
		}, "toolhost: the command cannot be confined: first.", exitFailed},
		"an error does not matter": {func(s *script) {
			s.try(unix.SYS_CLOSE, -1)
			exit(s, 3)
		}, "", 3},
		"an error that is put up with": {func(s *script) {
			var missing label
			s.call("", unix.SYS_OPENAT, unix.AT_FDCWD, "none", 0).orElse(&missing, unix.EACCES, unix.ENOENT)
			exit(s, 1)
			s.here(&missing)
			exit(s, 4)
		}, "", 4},
		"another error": {func(s *script) {
			var missing label
			s.call("second", unix.SYS_CLOSE, -1).orElse(&missing, unix.EACCES, unix.ENOENT)
			s.here(&missing)
			exit(s, 1)
		}, "toolhost: the command cannot be confined: second.", exitFailed},
		"an error beyond the set": {func(s *script) { // 95 is 31 and 64
			var passed label
			s.call("third", unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0,
				s.buffer(make([]byte, 8))).orElse(&passed, unix.EMLINK)
			s.here(&passed)
			exit(s, 1)
		}, "toolhost: the command cannot be confined: third.", exitFailed},
		"the number of an error": {func(s *script) {
			s.try(unix.SYS_CLOSE, -1)
			exit(s, stateErrno)
		}, "", int(unix.EBADF)},
		"an error of its own place": {func(s *script) {
			var other label
			s.call("", unix.SYS_CLOSE, -1).failing(&other)
			exit(s, 1)
			s.here(&other)
			exit(s, 5)
		}, "", 5},
		"what is expected, and what is not": {func(s *script) {
			var on, wrong label
			s.call("", opValue, 12).unless(12).otherwise(&wrong)
			s.call("", opValue, 12).unless(13).otherwise(&on)
			s.here(&wrong)
			exit(s, 1)
			s.here(&on)
			exit(s, 6)
		}, "", 6},
		"back and forth": {func(s *script) {
			var forth, back label
			s.goTo(&forth)
			s.here(&back)
			exit(s, 8)
			s.here(&forth)
			s.goTo(&back)
		}, "", 8},
		"a decimal number": {func(s *script) {
			n := s.cell()
			s.call("", opNumber, s.buffer([]byte("193 205 "))).into(n)
			exit(s, n)
		}, "", 193},
		"no number": {func(s *script) {
			n := s.cell()
			s.call("", opNumber, s.buffer([]byte("x1"))).into(n)
			exit(s, n)
		}, "", 0},
		"the exit code of an exit": {func(s *script) {
			code := s.cell()
			s.call("", opExitCode, 42<<8).into(code)
			exit(s, code)
		}, "", 42},
		"the exit code of a signal": {func(s *script) {
			code := s.cell()
			s.call("", opExitCode, 15).into(code)
			exit(s, code)
		}, "", 143},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			test.write(s)
			(&Plan{}).fail(s)
			output, code := execute(t, s)
			if strings.HasSuffix(test.output, ".") {
				output = output[:min(len(output), len(test.output))]
			}
			assert.Equal(t, test.output, output)
			assert.Equal(t, test.code, code)
		})
	}
}

func TestStringsThatNoCallCanBeGiven(t *testing.T) {
	for _, plan := range []Plan{
		{Path: "/bin/true\x00", Args: []string{"true"}},
		{Path: "/bin/true", Args: []string{"true", "a\x00b"}},
		{Path: "/bin/true", Args: []string{"true"}, Env: []string{"A=\x00"}},
		{Path: "/bin/true", Args: []string{"true"}, Namespaces: true, View: []Change{{Blank, "/etc\x00"}}},
	} {
		plan.Ruleset = 1
		_, err := plan.script()
		assert.ErrorIs(t, err, unix.EINVAL)
	}
}

// TestLauncherOnDisk is for machines where files in memory cannot be executed.
func TestLauncherOnDisk(t *testing.T) {
	s := newScript()
	s.call("", unix.SYS_EXIT_GROUP, 9)
	dir := t.TempDir()
	file, err := executableIn(dir, s.image())
	require.NoError(t, err)
	defer file.Close()
	cmd := exec.Cmd{Path: "/proc/self/fd/3", Args: []string{Name}, ExtraFiles: []*os.File{file}}
	emulate(&cmd)
	_ = cmd.Run()
	assert.Equal(t, 9, cmd.ProcessState.ExitCode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = executableIn(filepath.Join(dir, "none"), s.image())
	assert.ErrorIs(t, err, os.ErrNotExist)
}
