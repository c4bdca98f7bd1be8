package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testfilter"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// inDocker are the calls used by toolhost that the profile of Docker, containerd and CRI-O refuses.
var inDocker = []testfilter.Rule{{Call: unix.SYS_UNSHARE, Errno: syscall.EPERM}, {Call: unix.SYS_MOUNT, Errno: syscall.EPERM}}

func noLandlock(errno syscall.Errno) testfilter.Rule {
	return testfilter.Rule{Call: unix.SYS_LANDLOCK_CREATE_RULESET, Errno: errno}
}

const makingTool = `tool "make" {
  description = "Make files. Returns: nothing."
  command { argv = ["sh", "-c", "umask 0; echo x > a; mkdir b; mkfifo c; umask 027; echo x > d; mkdir e"] }
}
`

// TestEnvironments calls a command where the kernel, or a container, refuses a part of the confinement.
func TestEnvironments(t *testing.T) {
	testneed.NotShort(t, "makes environments where system calls are refused")
	const passing = "the command cannot be confined at this moment: "
	const none = "no sandbox works here: full: make namespaces: operation not permitted; landlock: "
	strongest := sandbox.Detect(t.Context()).Strongest
	if strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	for name, c := range map[string]struct {
		rules []testfilter.Rule
		level sandbox.Level // expected, or selected by the case
		error string        // otherwise it works
		next  string
	}{
		"as it is":             {level: strongest},
		"in Docker":            {rules: inDocker, level: sandbox.Landlock},
		"before Landlock":      {rules: []testfilter.Rule{noLandlock(syscall.ENOSYS)}, level: sandbox.Full},
		"Landlock not enabled": {rules: []testfilter.Rule{noLandlock(syscall.EOPNOTSUPP)}, level: sandbox.Full},
		"Landlock refused":     {rules: []testfilter.Rule{noLandlock(syscall.EPERM)}, level: sandbox.Full},
		"before Linux 6.0": {rules: []testfilter.Rule{{Call: unix.SYS_SECCOMP, Errno: syscall.EINVAL, Arg: 1,
			Bits: unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV}}, level: strongest},
		"memfd_create refused": {rules: []testfilter.Rule{{Call: unix.SYS_MEMFD_CREATE, Errno: syscall.EPERM}}, level: strongest},
		"before openat2":       {rules: []testfilter.Rule{{Call: unix.SYS_OPENAT2, Errno: syscall.ENOSYS}}, level: sandbox.Landlock},
		"openat2 refused": {rules: []testfilter.Rule{{Call: unix.SYS_OPENAT2, Errno: syscall.EPERM}}, level: sandbox.Full,
			error: "no sandbox works here: openat2: operation not permitted", next: "seccomp profile"},
		"mounts refused": {rules: inDocker[1:], level: sandbox.Landlock},
		"too many processes": {rules: []testfilter.Rule{{Call: unix.SYS_UNSHARE, Errno: syscall.EAGAIN}}, level: sandbox.Full,
			error: passing + "make namespaces: resource temporarily unavailable", next: "ulimit -u"},
		"too many files": {rules: []testfilter.Rule{{Call: unix.SYS_PIPE2, Errno: syscall.EMFILE}},
			error: "no pipe for the launcher: pipe2: too many open files", next: "ulimit -n"},
		"in Docker before Landlock": {rules: append(inDocker, noLandlock(syscall.ENOSYS)),
			error: none + "this kernel has no Landlock", next: "Linux 5.13"},
		"in Docker, Landlock not enabled": {rules: append(inDocker, noLandlock(syscall.EOPNOTSUPP)),
			error: none + "Landlock was not enabled when this machine was booted", next: "lsm="},
		"in Docker, Landlock refused": {rules: append(inDocker, noLandlock(syscall.EPERM)),
			error: none + "a system call filter around toolhost refuses Landlock: operation not permitted", next: "seccomp profile"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.level == sandbox.Full && strongest != sandbox.Full {
				testneed.Missing(t, "sandbox level full does not work on this machine")
			}
			dir := t.TempDir()
			plant(t, dir, map[string]string{"agent.hcl": makingTool})
			out, err := testfilter.Behind(t, program(t, dir, "call", "make", "--json", "--yes"), c.rules...).Output()
			var got struct {
				Success  bool
				Metadata struct{ Sandbox sandbox.Level }
				Error    struct{ Message, Suggestion string }
			}
			require.NoError(t, json.Unmarshal(out, &got), string(out))
			if c.error != "" {
				require.Error(t, err)
				assert.Equal(t, c.error, got.Error.Message)
				assert.Contains(t, got.Error.Suggestion, c.next)
				return
			}
			require.True(t, got.Success, string(out))
			assert.Equal(t, c.level, got.Metadata.Sandbox)
			for file, mode := range map[string]fs.FileMode{"a": 0o666, "b": fs.ModeDir | 0o777, "c": fs.ModeNamedPipe | 0o666,
				"d": 0o640, "e": fs.ModeDir | 0o750} {
				info, err := os.Stat(filepath.Join(dir, file))
				if assert.NoError(t, err) {
					assert.Equal(t, mode, info.Mode(), file)
				}
			}
		})
	}
}

// TestWeakerLevelIsSaid reads the warnings if the strongest level does not work: at a client's start,
// once in the log, in each result, and by doctor.
func TestWeakerLevelIsSaid(t *testing.T) {
	testneed.NotShort(t, "needs a level of the sandbox")
	if !sandbox.On(sandbox.Landlock).Works {
		testneed.Missing(t, "sandbox level landlock does not work on this machine")
	}
	const said = "Commands are confined at level landlock, since level full, which is stronger, does not work here: " +
		"make namespaces: operation not permitted."
	for name, c := range map[string]struct {
		env  string
		said bool
	}{
		"auto":              {said: true},
		"chosen, a control": {env: "TOOLHOST_SANDBOX=landlock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, map[string]string{"agent.hcl": makingTool})
			behind := func(args ...string) *exec.Cmd {
				cmd := program(t, dir, args...)
				cmd.Env = append(cmd.Env, c.env)
				return testfilter.Behind(t, cmd, inDocker...)
			}
			s := serveCommand(t, behind("serve"))
			instructions := instructionsOf(t, s.request("initialize", map[string]any{"protocolVersion": "2025-11-25",
				"capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}))
			assert.Equal(t, c.said, strings.Contains(instructions, said), instructions)
			for range 2 {
				require.False(t, s.call("make", `{}`).IsError)
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
				for _, file := range []string{"a", "b", "c", "d"} {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, file)))
				}
			}
			s.end()
			times := 0
			if c.said {
				times = 1
			}
			assert.Equal(t, times, strings.Count(s.log(), said), s.log())
			out, err := behind("call", "make", "--json", "--yes").Output()
			require.NoError(t, err)
			assert.Equal(t, c.said, strings.Contains(string(out), `"sandbox_weaker":"`+said), string(out))
			out, _ = behind("doctor").Output()
			assert.Equal(t, c.said, strings.Contains(strings.Join(strings.Fields(string(out)), " "), said), string(out))
		})
	}
}

// TestDoctorTries: doctor finds what calls would meet, although the sandbox works and the plugin's
// tools are cached.
func TestDoctorTries(t *testing.T) {
	testneed.NotShort(t, "starts many programs")
	if sandbox.Detect(t.Context()).Strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	dir, home := t.TempDir(), t.TempDir()
	broken := filepath.Join(dir, "broken")
	testfile.Program(t, filepath.Join(dir, "own.sh"), "#!/bin/sh\n[ -e '"+broken+"' ] && exit 3\nexec '"+
		filepath.Join(binaries, "toolhost")+"' internal plugin clemini\n")
	plant(t, dir, texts{"agent.hcl": "plugin \"own\" {\n  source = \"./own.sh\"\n  prefix = \"own_\"\n}\n" +
		"sandbox {\n  read = [\"" + binaries + "\"]\n}\n"})
	doctor := func(rules ...testfilter.Rule) string {
		cmd := program(t, dir, "doctor")
		cmd.Env = environment(home)
		if len(rules) > 0 {
			cmd = testfilter.Behind(t, cmd, rules...)
		}
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	const commands, plugin = "! commands ", "! plugin own "
	said := doctor()
	assert.NotContains(t, said, commands)
	assert.NotContains(t, said, plugin)
	said = doctor(testfilter.Rule{Call: unix.SYS_UNLINKAT, Errno: syscall.EACCES, Arg: 2, Bits: unix.AT_REMOVEDIR})
	assert.Contains(t, said, commands)
	assert.Contains(t, said, "remove a directory in "+dir+": permission denied")
	plant(t, dir, texts{"broken": ""})
	assert.Contains(t, doctor(), plugin)
}

// A directory whose files get its group keeps that, also for new directories in it.
func TestGroupOfADirectory(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"agent.hcl": makingTool})
	require.NoError(t, os.Chmod(dir, fs.ModeSetgid|0o755))
	out, err := program(t, dir, "call", "make", "--yes").CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(filepath.Join(dir, "b"))
	require.NoError(t, err)
	assert.Equal(t, fs.ModeDir|fs.ModeSetgid|0o777, info.Mode())
}

// TestLimitForAMoment has a limit exhausted when a server starts and free later: the call fails with
// its own message, and the next is fully confined.
func TestLimitForAMoment(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	unshare := testneed.Program(t, "unshare")
	if !sandbox.On(sandbox.Full).Works {
		testneed.Missing(t, "sandbox level full does not work on this machine")
	}
	const script = `echo 3 > /proc/sys/user/max_user_namespaces || exit
for i in $TAKEN; do (unshare -U sh -c 'echo $$ > part$0; mv part$0 taker$0; exec sleep 1000' $i <&- >&- 2>&- &) done
for i in $TAKEN; do while [ ! -e taker$i ]; do sleep 0.01; done; done
exec "$@"`
	for name, taken := range map[string]string{"control": "", "all taken": "1 2 3"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, map[string]string{"agent.hcl": makingTool})
			serving := program(t, dir, "serve")
			cmd := exec.Command(unshare, append([]string{"-Ur", "sh", "-c", script, "sh"}, serving.Args...)...)
			cmd.Dir, cmd.Env = serving.Dir, append(serving.Env, "TAKEN="+taken)
			free := sync.OnceFunc(func() {
				for _, taker := range strings.Fields(taken) {
					data, _ := os.ReadFile(filepath.Join(dir, "taker"+taker))
					if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
			s := serveCommand(t, cmd)
			defer free()
			s.hello()
			first := s.call("make", `{}`)
			assert.Equal(t, taken != "", first.IsError, first.text())
			free()
			if taken != "" {
				assert.Contains(t, first.text(), "cannot be confined at this moment: make namespaces: no space left on device")
				eventually(t, "a call that works", func() bool { return !s.call("make", `{}`).IsError })
			}
			s.end()
			assert.NotContains(t, s.log(), "below its strongest level")
		})
	}
}

// TestHomes calls commands that change a file where changes cannot be kept.
func TestHomes(t *testing.T) {
	testneed.NotShort(t, "starts many programs")
	for name, c := range map[string]struct {
		home string
		kept bool
	}{
		"control":  {home: "own", kept: true},
		"relative": {home: "HOME=somewhere"},
		"empty":    {home: "HOME="},
		"none":     {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, map[string]string{"agent.hcl": makingTool})
			cmd := program(t, dir, "serve")
			if !c.kept {
				cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TOOLHOST_TRUST=1", "TMPDIR=" + os.TempDir()},
					strings.Fields(c.home)...)
			}
			s := serveCommand(t, cmd)
			s.hello()
			for range 2 {
				m := s.request("tools/call", map[string]any{"name": "make", "arguments": map[string]any{}})
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
				assert.FileExists(t, filepath.Join(dir, "d"))
				if c.kept {
					assert.Contains(t, string(m.Result), "undo: toolhost undo")
				} else {
					assert.NotContains(t, string(m.Result), "undo: toolhost undo")
				}
				for _, file := range []string{"a", "b", "c", "d"} {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, file)))
				}
			}
		})
	}
}

// A machine and its containers may share a home: what was detected in one does not count in the other.
func TestHomeOfAMachineAndItsContainer(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	plant(t, dir, map[string]string{"a.txt": "one\n"})
	call := func(rules ...testfilter.Rule) {
		t.Helper()
		cmd := program(t, dir, "call", "head", "args=a.txt")
		cmd.Env = environment(home)
		if len(rules) > 0 {
			cmd = testfilter.Behind(t, cmd, rules...)
		}
		out, err := cmd.Output()
		var failed *exec.ExitError
		if assert.NoError(t, err) {
			assert.Equal(t, "one\n", string(out))
		} else if assert.ErrorAs(t, err, &failed) {
			t.Log(string(failed.Stderr))
		}
	}
	for range 2 {
		call()
		call(inDocker...)
	}
}

// TestHomeOfTheUserDatabase reads a key in the home named by the user database, at an unusual place,
// with and without a variable that names it.
func TestHomeOfTheUserDatabase(t *testing.T) {
	testneed.NotShort(t, "mounts a user database")
	if !testneed.Superuser() {
		testneed.Missing(t, "only the superuser may mount a user database")
	}
	unshare := testneed.Program(t, "unshare")
	const script = `set -e
mount -t tmpfs none /srv
mkdir -p /srv/ci/.ssh /srv/w /srv/bin
echo KEY > /srv/ci/.ssh/id
cp /etc/passwd /srv/passwd
echo "ci:x:23456:23456::/srv/ci:/bin/sh" >> /srv/passwd
mount --bind /srv/passwd /etc/passwd
cp "$BINARIES"/toolhost* /srv/bin/
chown -R 23456:23456 /srv/ci /srv/w
cd /srv/w
setpriv --reuid 23456 --regid 23456 --clear-groups env "$@" TOOLHOST_TRUST=1 /srv/bin/toolhost call --toolset clemini bash "command=cat $KEY" 2>/dev/null
`
	for name, c := range map[string]struct {
		env    []string
		leaked bool
	}{
		"control, unconfined": {env: []string{"HOME=/srv/ci", "TOOLHOST_SANDBOX=off"}, leaked: true},
		"HOME":                {env: []string{"HOME=/srv/ci"}},
		"no HOME":             {env: []string{"-u", "HOME"}},
		"empty":               {env: []string{"HOME="}},
		"relative":            {env: []string{"HOME=ci"}},
		"another":             {env: []string{"HOME=/var"}},
		"landlock, no HOME":   {env: []string{"-u", "HOME", "TOOLHOST_SANDBOX=landlock"}},
		"landlock, another":   {env: []string{"TOOLHOST_SANDBOX=landlock", "HOME=/var"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(unshare, append([]string{"--mount", "--propagation", "private", "sh", "-c", script, "sh"}, c.env...)...)
			cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "BINARIES=" + binaries, "KEY=/srv/ci/.ssh/id"}
			out, _ := cmd.CombinedOutput()
			assert.Contains(t, string(out), "stdout", "it ran")
			assert.Equal(t, c.leaked, strings.Contains(string(out), "KEY"), string(out))
		})
	}
}
