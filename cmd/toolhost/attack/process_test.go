package attack

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// sleeper is a lasting process, found by its mark.
const sleeper = `bash -c 'exec -a {MARK} sleep 300'`

// stubbornCommand is one of them; text is its output.
type stubbornCommand struct {
	name, script string
	want         []string
	text         string
}

// stubborn are commands that try to outlive their call, block it, or use up resources.
var stubborn = []stubbornCommand{
	{name: "a child in the background", script: sleeper + ` & echo started`, text: "started"},
	{name: "a grandchild that holds the output open", script: `( ` + sleeper + ` & ) ; echo started`, text: "started"},
	{name: "a daemon by double fork", script: `( ( ` + sleeper + ` & ) & ) ; echo started`, text: "started"},
	{name: "a session of its own", script: `setsid ` + sleeper + ` & sleep 0.1; echo started`, text: "started"},
	{name: "a session of its own without environment and streams",
		script: `setsid env -i ` + sleeper + ` </dev/null >/dev/null 2>&1 & sleep 0.1; echo started`, text: "started"},
	{name: "one that no hangup ends", script: `nohup ` + sleeper + ` >/dev/null 2>&1 & sleep 0.1; echo started`,
		text: "started"},
	{name: "many children", script: `i=0; while [ $i -lt 100 ]; do ` + sleeper + ` & i=$((i+1)); done; echo started`,
		text: "started"},
	{name: "ignores the request to end", script: `trap '' TERM INT HUP QUIT; while :; do sleep 0.05; done # {MARK}`,
		want: []string{"timeout"}},
	{name: "children that ignore it", script: `sh -c 'trap "" TERM HUP; sleep 300; :' {MARK} & trap '' TERM; sleep 300`,
		want: []string{"timeout"}},
	{name: "stops itself", script: `kill -STOP $$ # {MARK}`, want: []string{"timeout", "command_failed"}},
	{name: "forks on and on", script: `f() { sh -c 'sleep 300; :' {MARK} & sleep 0.002; f; }; f`,
		want: []string{"timeout", "command_failed"}},
	{name: "floods its output",
		script: `while :; do echo flood flood flood flood flood flood flood flood; done # {MARK}`,
		want:   []string{"timeout"}},
	{name: "floods with bytes", script: `head -c 20000000 /dev/urandom # {MARK}`},
	{name: "floods with one line", script: `head -c 20000000 /dev/zero | tr '\0' x # {MARK}`},
	{name: "floods both streams",
		script: `head -c 9000000 /dev/zero | tr '\0' '\n'; head -c 9000000 /dev/zero | tr '\0' '\n' >&2`},
	{name: "takes much memory", script: `dd if=/dev/zero of=/dev/null bs=300M count=1 # {MARK}`},
	{name: "waits for input", script: `cat; echo ended # {MARK}`, text: "ended"},
	{name: "ends by a signal", script: `kill -SEGV $$ # {MARK}`,
		want: []string{"command_failed", "abnormal_exit", "timeout"}},
	{name: "closes its streams and stays", script: `exec >&- 2>&- <&-; sleep 300 # {MARK}`, want: []string{"timeout"}},
}

const stubbornTools = `
tool "script" {
  description = "Run."
  param "line" { type = string }
  command {
    argv    = ["sh", "-c", param.line]
    timeout = "1s"
  }
}
taskfile { timeout = "1s" }
`

// shortly is a call with a time limit of a second.
func shortly(face string) func(t *testing.T, script string) string {
	return func(t *testing.T, script string) string {
		name := map[string]string{"cliagent": "timeout_seconds", "agentbench": "timeout_sec"}[face]
		data, err := json.Marshal(map[string]any{"command": script, name: 1})
		require.NoError(t, err)
		return string(data)
	}
}

func processArena(t *testing.T, s stance, hcl string) *arena {
	a := newArenaFor(t, s, map[string]string{
		".agent/Taskfile.yml": "version: '3'\ntasks:\n  script:\n    desc: run\n    cmds: ['sh -c {{.CLI_ARGS}}']\n",
	})
	a.write(a.ws, "agent.hcl", hcl+s.block(), 0o644)
	return a
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	for face := range faces {
		for part := range slices.Chunk(stubborn, 5) {
			for _, s := range []stance{usual(), weakest()} {
				t.Run(face+" "+s.String()+" "+part[0].name, func(t *testing.T) {
					only(t, face, s)
					if part[0].name != stubborn[0].name {
						testneed.NotShort(t, "five processes that stay are enough")
					}
					t.Parallel()
					outlive(t, s, face, part)
				})
			}
		}
	}
}

func outlive(t *testing.T, s stance, face string, list []stubbornCommand) {
	a, f := processArena(t, s, stubbornTools), faces[face]
	a.arm()
	make := f.params
	if f.toolset != "" {
		make = shortly(face)
	}
	h := a.serve(nil, toolsetArgs(f.toolset)...)
	for _, x := range list {
		if face == "taskfile" && x.name == "stops itself" {
			continue // go-task's shell waits for it, and both are ended
		}
		one := attack{group: "processes", name: face + " " + s.String() + " " + x.name, tool: f.tool,
			params: make(t, a.fill(x.script)), want: x.want}
		if face == "cliagent" || face == "command" {
			one.wantText = x.text
		}
		r := oneOverMCPResult(t, h, one)
		assert.Less(t, r.elapsed, time.Minute, "%s held the call up", x.name)
	}
	for _, v := range h.stop() {
		t.Errorf("after the end: %s: %s", v.check, v.what)
	}
}

// inTheBackground is a command that only the sandbox can end.
const inTheBackground = `setsid ` + sleeper + ` & trap '' TERM HUP; sleep 300 # {MARK}`

// The host's end, however caused, ends its child processes.
func TestProcessesEndWithTheHost(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for face := range faces {
		for how, end := range map[string]func(h *host){
			"killed":      func(h *host) { _ = h.cmd.Process.Kill() },
			"terminated":  func(h *host) { _ = h.cmd.Process.Signal(syscall.SIGTERM) },
			"hung up":     func(h *host) { _ = h.cmd.Process.Signal(syscall.SIGHUP) },
			"end of file": func(h *host) { _ = h.in.Close() },
		} {
			for _, s := range []stance{usual(), weakest()} {
				t.Run(face+" "+how+" "+s.String(), func(t *testing.T) {
					t.Parallel()
					tally.note(tally.cases, "processes", face+" host "+how+" "+s.String())
					script, processes := inTheBackground, 2
					if how == "killed" && !s.full(t) {
						// A command's children may outlive it; the command itself may not.
						if script, processes = `exec `+sleeper, 1; face == "taskfile" {
							return
						}
					}
					endHost(t, s, face, script, processes, end)
				})
			}
		}
	}
}

// endHost ends a host whose command runs as that many processes.
func endHost(t *testing.T, s stance, face, script string, processes int, end func(*host)) {
	f, a := faces[face], processArena(t, s, strings.ReplaceAll(stubbornTools, `"1s"`, `"60s"`))
	a.arm()
	h := a.serve(nil, toolsetArgs(f.toolset)...)
	h.startCall(f.tool, f.params(t, a.fill(script)))
	require.True(t, within(patience, func() bool { return len(a.marked()) >= processes }), "it has begun")
	end(h)
	select {
	case <-h.done:
	case <-time.After(patience):
		_ = h.cmd.Process.Kill()
		t.Error("the host did not end")
	}
	assert.Empty(t, a.inspect(h.stdout.String(), h.stderr.String()))
}

// A cancelled call's processes end; the host stays.
func TestProcessesOfACancelledCall(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for face, f := range faces {
		for _, s := range []stance{usual(), weakest()} {
			t.Run(face+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				tally.note(tally.cases, "processes", face+" cancelled "+s.String())
				a := processArena(t, s, strings.ReplaceAll(stubbornTools, `"1s"`, `"60s"`))
				a.arm()
				h := a.serve(nil, toolsetArgs(f.toolset)...)
				id := h.startCall(f.tool, f.params(t, a.fill(inTheBackground)))
				require.True(t, within(patience, func() bool { return len(a.marked()) >= 2 }), "it has begun")
				h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
				assert.True(t, within(patience, func() bool { return len(a.marked()) == 0 }), "its processes end")
				assert.Empty(t, h.inspect(new(result)))
				assert.Empty(t, h.stop())
			})
		}
	}
}

func TestProcessControls(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a child in the background":     sleeper + ` >/dev/null 2>&1 & sleep 0.1`,
		"a session of its own":          `setsid ` + sleeper + ` >/dev/null 2>&1 & sleep 0.1`,
		"a session without environment": `setsid env -i ` + sleeper + ` </dev/null >/dev/null 2>&1 & sleep 0.1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			a.arm()
			a.shell(strings.ReplaceAll(script, "{MARK}", "%MARK%"))
			control(t, "processes", name, checkProcess, a.left(a.renamed))
		})
	}
}
