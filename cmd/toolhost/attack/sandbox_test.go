package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// forbidden are commands that a confined process must not achieve. They may fail or act in an isolated
// namespace.
var forbidden = []script{
	{"write a file outside", `echo owned > {OUT}/owned`},
	{"append to a file outside", `echo owned >> {OUT}/secret.txt`},
	{"truncate a file outside", `: > {OUT}/secret.txt`},
	{"remove a file outside", `rm -f {OUT}/secret.txt`},
	{"remove a tree outside", `rm -rf {OUT}/dir`},
	{"rename outside", `mv {OUT}/secret.txt {OUT}/moved`},
	{"move out of the workspace", `mv ok.txt {OUT}/`},
	{"chmod outside", `chmod 777 {OUT}/secret.txt`},
	{"chown outside", `chown 1:1 {OUT}/secret.txt`},
	{"change times outside", `touch -d 2020-01-01 {OUT}/secret.txt`},
	{"make a directory outside", `mkdir {OUT}/owned`},
	{"make a link outside", `ln -s /etc/passwd {OUT}/owned`},
	{"hard link a file of outside and write it", `ln {OUT}/secret.txt stolen && echo owned > stolen`},
	{"write through a link of the workspace", `ln -sfn {OUT} way && echo owned > way/owned`},
	{"write through the working directory in proc", `echo owned > /proc/self/cwd/../outside/owned`},
	{"write through the root in proc", `echo owned > /proc/self/root{OUT}/owned`},
	{"write by dd", `dd if=/dev/zero of={OUT}/secret.txt bs=1 count=1`},
	{"read the user's keys", `cat {HOME}/.ssh/id_ed25519 {HOME}/.aws/credentials`},
	{"copy the user's keys", `cp -r {HOME}/.ssh taken`},
	{"read the host's environment", `cat /proc/$PPID/environ /proc/1/environ | tr '\0' '\n'`},
	{"read every environment there is", `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'`},
	{"say the own environment", `env`},
	{"write to the shared memory of all",
		`echo {MARK} > /dev/shm/{MARK} && test -e /dev/shm/{MARK}; rm -f /dev/shm/{MARK}`},
	{"make a device", `mknod {WS}/kmem c 1 1 && cat kmem | head -c 10`},
	{"mount over outside", `mount -t tmpfs none {OUT}`},
	{"mount in new namespaces", `unshare -rm sh -c 'mount -t tmpfs none {OUT} && touch {OUT}/owned'`},
	{"leave by a new user namespace", `unshare -r sh -c 'echo owned > {OUT}/owned'`},
	{"unmount what covers", `umount -l {HOME}/.ssh; cat {HOME}/.ssh/id_ed25519`},
	{"remount for writing", `mount -o remount,rw / && echo owned > {OUT}/owned`},
	{"change a kernel setting", `echo 1 > /proc/sys/kernel/sysrq`},
	{"trace the parent", `gdb -p $PPID -batch || strace -p $PPID -o {OUT}/owned`},
	{"connect to a server by TCP", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT} && cat <&3'`},
	{"fetch from a server", `curl -s -m 2 http://{CANARY}/`},
	{"fetch from a server by its name", `curl -s -m 2 http://localhost:{PORT}/`},
	{"use the proxy of the environment", `curl -s -m 2 http://example.com/`},
	{"send by UDP", `bash -c 'echo x > /dev/udp/127.0.0.1/{PORT}'`},
	{"set its own user id", `cp /bin/sh own && chmod u+s own && ./own -p -c 'echo owned > {OUT}/owned'; rm -f own`},
	{changeOfRules, `echo 'workspace { allow = ["/"] }' > agent.hcl; printf 'version: 3' > .agent/Taskfile.yml`},
	{"plant a git hook", `mkdir -p .git/hooks; echo 'touch {OUT}/owned' > .git/hooks/pre-commit; true`},
}

const changeOfRules = "change what agents may do"

// faces are the ways to run a shell command, each with its toolset and a script's parameters.
var faces = map[string]struct {
	toolset, tool string
	params        func(t *testing.T, script string) string
}{
	"agentbench": {"agentbench", "run", command},
	"cliagent":   {"cliagent", "run_in_terminal", command},
	"command":    {"", "script", scriptParams},
	"taskfile":   {"", "run_command", taskParams},
}

func scriptParams(t *testing.T, script string) string {
	data, err := json.Marshal(map[string]string{"line": script})
	require.NoError(t, err)
	return string(data)
}

func taskParams(t *testing.T, script string) string {
	data, err := json.Marshal(map[string]string{"command": "script",
		"args": "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"})
	require.NoError(t, err)
	return string(data)
}

func sandboxArena(t *testing.T, s stance) *arena {
	a := newArenaFor(t, s, map[string]string{
		".git/config":         "[core]\n",
		".agent/Taskfile.yml": "version: '3'\ntasks:\n  script:\n    desc: run\n    cmds: ['sh -c {{.CLI_ARGS}}']\n",
	})
	hcl := "tool \"script\" {\n  description = \"Run.\"\n  param \"line\" { type = string }\n" +
		"  command { argv = [\"sh\", \"-c\", param.line] }\n}\n"
	hcl += s.block()
	a.write(a.ws, "agent.hcl", hcl, 0o644)
	a.whole["agent.hcl"] = []string{hcl}
	return a
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testneed.Program(t, "unshare")
	}
	for _, s := range stances() {
		for face, f := range faces {
			t.Run(face+" "+s.String(), func(t *testing.T) {
				only(t, face, s)
				t.Parallel()
				a := sandboxArena(t, s)
				a.arm()
				h := a.serve(nil, toolsetArgs(f.toolset)...)
				name := face + " " + s.String() + " "
				for part := range slices.Chunk(forbidden, 10) {
					a.write(a.ws, "ok.txt", "fine\n", 0o644)
					together(t, h, attack{group: "sandbox", name: name, tool: f.tool}, f.params, part)
				}
				oneOverMCP(t, h, attack{group: "sandbox", name: name + "end the host", tool: f.tool,
					params: f.params(t, `kill -9 $PPID; kill -9 1; kill -9 -1; sleep 0`)})
				for _, v := range h.stop() {
					t.Errorf("after the end: %s: %s", v.check, v.what)
				}
			})
		}
	}
}

func toolsetArgs(toolset string) []string {
	if toolset == "" {
		return nil
	}
	return []string{"--toolset", toolset}
}

// TestSandboxProbe runs package sandbox's probe through the whole program: sockets of every family,
// io_uring, namespaces, ptrace and more.
func TestSandboxProbe(t *testing.T) {
	t.Parallel()
	a := sandboxArena(t, usual())
	require.NoError(t, copyFile(filepath.Join(binaries, "probe"), filepath.Join(a.ws, "probe")))
	a.arm()
	scene, err := json.Marshal(map[string]any{
		"Workspace": a.ws, "Outside": a.out, "Secret": a.home + "/.ssh/id_ed25519", "Masked": a.home + "/.ssh",
		"HostTmp": a.tmp, "Protected": a.ws + "/agent.hcl", "Pid": os.Getpid(), "SharedMemory": -1,
		"TCP4": a.canary.Addr().String(), "TCP6": "[::1]:1", "UDP": a.canary.Addr().String(),
		"Unix": a.base + "/none.sock", "Abstract": "none",
		"Sleep": string(testproc.Sleep(t)),
	})
	require.NoError(t, err)
	h := a.serve(nil, "--toolset", "cliagent")
	r := h.call("run_in_terminal", command(t, "./probe '"+string(scene)+"'"))
	found := h.inspect(r)
	denied := 0
	for line := range strings.Lines(r.text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(rest, "denied") {
			tally.note(tally.cases, "sandbox", "probe "+name)
			denied++
		}
	}
	assert.Empty(t, found)
	assert.GreaterOrEqual(t, denied, 25, "forbidden acts that are denied: %s", r.text)
	assert.Empty(t, h.stop())
}

func TestSandboxControls(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ script, check string }{
		"write a file outside":        {`echo owned > {OUT}/owned`, checkCanary},
		"chmod outside":               {`chmod 777 {OUT}/secret.txt`, checkCanary},
		"change times outside":        {`touch -d 2020-01-01 {OUT}/secret.txt`, checkCanary},
		"read the user's keys":        {`cat {HOME}/.ssh/id_ed25519`, checkSecret},
		"read the host's environment": {`cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'`, checkSecret},
		"connect to a server by TCP":  {`bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT} && cat <&3'`, checkServer},
		"hard link and write":         {`ln {OUT}/secret.txt stolen && echo owned > stolen`, checkCanary},
		changeOfRules:                 {`echo 'workspace { allow = ["/"] }' > agent.hcl`, checkWhole},
	} {
		for _, uid := range []int{os.Geteuid(), ordinary()} {
			s := stance{sandbox.Off, uid}
			t.Run(name+" "+s.String(), func(t *testing.T) {
				if uid != os.Geteuid() {
					testneed.NotShort(t, "one user is enough")
				}
				t.Parallel()
				a := sandboxArena(t, s)
				a.arm()
				r := a.cli(nil, "cliagent", "run_in_terminal", command(t, a.fill(x.script)))
				control(t, "sandbox", name, x.check, a.inspect(r.said...))
			})
		}
	}
}

// TestStances checks that commands run as the stances say: otherwise the attacks would test something
// else.
func TestStances(t *testing.T) {
	t.Parallel()
	list := stances()
	if all() && level() == sandbox.Auto {
		list = append(list, stance{sandbox.Full, os.Geteuid()})
	}
	for _, s := range list {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := sandboxArena(t, s)
			a.arm()
			r := a.cli(nil, "", "script", scriptParams(t, "echo user $(id -u)"))
			level := s.level
			if level == sandbox.Auto {
				level = sandbox.Detect(t.Context()).Strongest
			}
			assert.Contains(t, r.said[0], fmt.Sprintf("user %d", s.uid), r.said)
			assert.Contains(t, r.said[0], `"sandbox":"`+string(level)+`"`)
		})
	}
}
