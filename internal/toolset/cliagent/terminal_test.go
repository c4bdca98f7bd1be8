package cliagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

func TestRunInTerminal(t *testing.T) {
	const name = "run_in_terminal"
	run := func(command string) args { return args{"command": command} }
	t.Run("success", func(t *testing.T) {
		g := newBench(t).ok(name, run("printf 'a\\nb\\nc\\nd\\ne\\n'"))
		assert.Equal(t, "Command output:\na\nb\nc\nd\ne\n", g.Output)
		assert.JSONEq(t, `{"exit_code":0,"stdout_lines":5,"stderr_lines":0}`, g.meta())
		assert.Empty(t, g.FilesAffected)
	})
	t.Run("no output, no final newline, unicode", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, "Command output:\n", b.ok(name, run("true")).Output)
		assert.Equal(t, "Command output:\nGrüße 世界\n", b.ok(name, run("printf 'Grüße 世界'")).Output)
		assert.Equal(t, "Command output:\na\uFFFDb\n", b.ok(name, run(`printf 'a\377b'`)).Output)
	})
	t.Run("stderr of a success is shown", func(t *testing.T) {
		g := newBench(t).ok(name, run("echo out; echo err >&2"))
		assert.Equal(t, "Command output:\nout\nError output:\nerr\n", g.Output)
		assert.JSONEq(t, `{"exit_code":0,"stdout_lines":1,"stderr_lines":1}`, g.meta())
	})
	t.Run("working directory and shell features", func(t *testing.T) {
		b := newBench(t)
		b.write("a.txt", "")
		b.write("b.txt", "")
		assert.Equal(t, "Command output:\n"+b.root+"\n", b.ok(name, run("pwd -P")).Output)
		assert.Equal(t, "Command output:\n2\n", b.ok(name, run("ls *.txt | wc -l | tr -d ' '")).Output)
		b.ok(name, run("echo x > made && cat made"))
		assert.FileExists(t, b.path("made"))
	})
	t.Run("stdin is empty", func(t *testing.T) {
		assert.Equal(t, "Command output:\n", newBench(t).ok(name, run("cat")).Output)
	})
	t.Run("a command that begins with a dash", func(t *testing.T) {
		newBench(t).fails("command_not_found", "Error: Command '-c' not found", name, run("-c"))
	})
	t.Run("user's default shell", func(t *testing.T) {
		bash := testneed.Program(t, "bash")
		ws := func(t *testing.T) *bench { return newBenchWith(t, cliagent.Deps{Shell: " "}, workspace.Options{}) }
		t.Setenv("SHELL", bash)
		assert.Equal(t, "Command output:\nbash\n", ws(t).ok(name, run(`[[ -n $BASH_VERSION ]] && echo bash`)).Output)
		for _, none := range []string{"", "/no/such/shell", "/usr/sbin/nologin", "/bin/false", "relative/sh"} {
			t.Setenv("SHELL", none)
			assert.Equal(t, "Command output:\nok\n", ws(t).ok(name, run("echo ok")).Output, none)
		}
	})
	t.Run("a shell in the workspace is not used", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{Shell: " "}, workspace.Options{})
		b.write("evil", "#!/bin/sh\necho evil\n")
		require.NoError(t, os.Chmod(b.path("evil"), 0o755))
		t.Setenv("SHELL", b.path("evil"))
		assert.Equal(t, "Command output:\nok\n", b.ok(name, run("echo ok")).Output)
	})
	t.Run("environment is an allowlist", func(t *testing.T) {
		t.Setenv("MY_SECRET_TOKEN", "geheim")
		assert.NotContains(t, newBench(t).ok(name, run("env")).Output, "geheim")
	})
	t.Run("error command not found", func(t *testing.T) {
		b := newBench(t)
		g := b.fails("command_not_found", "Error: Command 'invalid_cmd' not found", name, run("invalid_cmd --flag"))
		assert.JSONEq(t, `{"exit_code":127,"stdout_lines":0,"stderr_lines":1}`, g.meta())
		b.fails("command_not_found", "Error: Command 'invalid_cmd' not found\nOutput:\nbefore", name,
			run("echo before; invalid_cmd"))
		b.fails("command_not_found", "Error: Command './missing.sh' not found", name, run("./missing.sh"))
		b.fails("command_failed", "Error: Command failed with exit code 127:", name, run("exit 127"))
	})
	t.Run("error command not found in every shell there is", func(t *testing.T) {
		// TestNamedMissing has the messages of shells that are not installed.
		for _, shell := range []string{"sh", "bash", "dash", "zsh", "ksh", "fish"} {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Logf("%s is not installed", shell)
				continue
			}
			b := newBenchWith(t, cliagent.Deps{Shell: path}, workspace.Options{})
			b.fails("command_not_found", "Error: Command 'invalid_cmd' not found", name, run("invalid_cmd"))
		}
	})
	t.Run("error non-zero exit", func(t *testing.T) {
		b := newBench(t)
		g := b.fails("command_failed", "Error: Command failed with exit code 1:\nbroken", name,
			run("echo broken >&2; exit 1"))
		assert.JSONEq(t, `{"exit_code":1,"stdout_lines":0,"stderr_lines":1}`, g.meta())
		b.fails("command_failed", "Error: Command failed with exit code 3:\nerr\nOutput:\nout", name,
			run("echo out; echo err >&2; exit 3"))
		b.fails("command_failed", "Error: Command failed with exit code 2:", name, run("exit 2"))
		b.fails("command_failed", "Error: Command failed with exit code 137:", name, run("kill -KILL $$"))
	})
	t.Run("error timeout", func(t *testing.T) {
		b := newBench(t)
		var g got
		var want string
		testproc.LongEnough(time.Second, func(limit time.Duration) bool {
			started, seconds := time.Now(), limit.Seconds()
			sleep := string(testproc.Sleep(t))
			g = b.call(name, args{"command": "echo until then; echo bad >&2; " + sleep + " & " + sleep,
				"timeout_seconds": seconds})
			require.False(t, g.Success)
			assert.Equal(t, "timeout", g.Error.Code)
			assert.Less(t, time.Since(started), limit+50*time.Second)
			want = fmt.Sprintf("Error: Command timed out after %g seconds\nbad\nOutput:\nuntil then", seconds)
			return g.result.Text() == want
		})
		assert.Equal(t, want, g.result.Text())
		assert.JSONEq(t, `{"exit_code":124,"stdout_lines":1,"stderr_lines":1}`, g.meta())
		b.fails("timeout", "Error: Command timed out after 1 seconds", name,
			args{"command": string(testproc.Sleep(t)), "timeout_seconds": 1})
	})
	t.Run("timeout ends the whole group", func(t *testing.T) {
		b := newBench(t)
		testproc.LongEnough(time.Second, func(limit time.Duration) bool {
			b.call(name, args{"command": "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done' & wait",
				"timeout_seconds": limit.Seconds()})
			_, err := os.Stat(filepath.Join(b.root, "pid"))
			return err == nil
		})
		pid := strings.TrimSpace(b.read("pid"))
		require.Eventually(t, func() bool {
			return exec.Command("kill", "-0", pid).Run() != nil
		}, time.Minute, 10*time.Millisecond)
	})
	t.Run("default timeout 30", func(t *testing.T) {
		values := defaults(t, name)
		require.NotNil(t, values)
		assert.Equal(t, json.Number("30"), values["timeout_seconds"])
	})
	t.Run("timeout_seconds must be between 1 and 300", func(t *testing.T) {
		b := newBench(t)
		timeout := func(n any) args { return args{"command": "true", "timeout_seconds": n} }
		b.invalid("timeout_seconds: must be at least 1", name, timeout(0))
		b.invalid("timeout_seconds: must be at most 300", name, timeout(301))
		b.ok(name, timeout(1))
		b.ok(name, timeout(300))
		assert.Greater(t, b.tools[name].Definition().Timeout, 300*time.Second)
	})
	t.Run("command must not be empty", func(t *testing.T) {
		b := newBench(t)
		b.invalid("command: must not be empty", name, run(""))
		b.invalid("'command' must not be empty", name, run(" \n\t"))
		b.invalid("NUL", name, run("echo a\x00b"))
	})
	t.Run("huge output is cut and kept whole", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{OutputCap: 1000}, workspace.Options{})
		b.dir = filepath.Join(b.root, ".agent", "runs", "s")
		g := b.ok(name, run("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done"))
		file := filepath.Join(b.dir, "logs", "tool_step_0001_stdout.txt")
		assert.Contains(t, g.Output, "left out; the whole output is in "+file)
		assert.Contains(t, g.Output, "line 0\n")
		assert.Contains(t, g.Output, "line 1999\n")
		assert.Contains(t, g.meta(), `"stdout_lines":2000`)
		assert.True(t, g.result.Truncated)
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, 2000, strings.Count(string(whole), "\n"))
		assert.Equal(t, []tool.Artifact{{Name: "stdout", Path: file, Bytes: int64(len(whole))}}, g.result.Artifacts)
	})
	t.Run("cancelled", func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		testproc.WhenExists(t, b.path("started"), cancel)
		g := b.callContext(ctx, name, run("echo before; touch started; "+string(testproc.Sleep(t))))
		assert.Equal(t, "cancelled", g.Error.Code)
		assert.Equal(t, "Error: Command was cancelled\nOutput:\nbefore", g.result.Text())
	})
	t.Run("the process can be confined", func(t *testing.T) {
		b := newBenchWith(t, cliagent.Deps{Prepare: func(cmd *exec.Cmd) (map[string]any, error) {
			cmd.Env = append(cmd.Env, "CONFINED=yes")
			return map[string]any{"sandbox": "full"}, nil
		}}, workspace.Options{})
		g := b.ok(name, run("echo $CONFINED"))
		assert.Equal(t, "Command output:\nyes\n", g.Output)
		assert.Equal(t, map[string]any{"sandbox": "full"}, g.result.Metadata)
		b = newBenchWith(t, cliagent.Deps{Prepare: func(*exec.Cmd) (map[string]any, error) {
			return nil, tool.Errorf(tool.Unavailable, "no sandbox works here").Suggest("See doctor.")
		}}, workspace.Options{})
		b.fails("unavailable", "Error: No sandbox works here", name, run("touch x"))
		assert.NoFileExists(t, b.path("x"))
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("command: is required", name, args{})
		b.invalid("command: must be a string", name, args{"command": []string{"ls"}})
		b.invalid("timeout_seconds: must be an integer", name, args{"command": "ls", "timeout_seconds": "30"})
		b.invalid("cwd: is not a known parameter", name, args{"command": "ls", "cwd": "/"})
	})
	t.Run("plan shows the command", func(t *testing.T) {
		b := newBench(t)
		plan, err := b.tools[name].(tool.Planner).Plan(t.Context(),
			&tool.Call{Params: json.RawMessage(`{"command":"touch x"}`)})
		require.NoError(t, err)
		assert.Equal(t, &tool.Plan{Preview: "$ touch x\n"}, plan)
		assert.NoFileExists(t, b.path("x"))
		_, err = b.tools[name].(tool.Planner).Plan(t.Context(), &tool.Call{Params: json.RawMessage(`{"command":" "}`)})
		assert.EqualValues(t, "invalid_parameter", tool.CodeOf(err))
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, name, tool.Dangerous, `{"command":"string","timeout_seconds":"integer"}`, "command")
	})
}

type brokenState struct{ *plugintest.Host }

func (brokenState) State(tool.Scope) tool.State { return failingStore{} }

type failingStore struct{ tool.State }

func (failingStore) Set(context.Context, string, []byte) error { return errors.New("disk full") }
func (failingStore) Get(context.Context, string) ([]byte, bool, error) {
	return []byte("no json"), true, nil
}

func TestTerminalLastCommand(t *testing.T) {
	const name = "terminal_last_command"
	run := func(b *bench, command string) { b.call("run_in_terminal", args{"command": command}) }
	t.Run("success", func(t *testing.T) {
		b := newBench(t)
		before := time.Now().Add(-time.Second)
		run(b, "echo hello")
		g := b.ok(name, args{})
		assert.Equal(t, "Last command: echo hello\nOutput: hello", g.Output)
		assert.Equal(t, "echo hello", g.Metadata["command"])
		assert.EqualValues(t, 0, g.Metadata["exit_code"])
		at, err := time.Parse("2006-01-02T15:04:05Z", g.Metadata["executed_at"].(string))
		require.NoError(t, err)
		assert.WithinRange(t, at, before, time.Now())
		assert.Len(t, g.Metadata, 3)
	})
	t.Run("the last one counts", func(t *testing.T) {
		b := newBench(t)
		run(b, "echo one")
		run(b, "echo two")
		assert.Equal(t, "Last command: echo two\nOutput: two", b.ok(name, args{}).Output)
	})
	t.Run("repeated calls give the same", func(t *testing.T) {
		b := newBench(t)
		run(b, "date +%N")
		assert.Equal(t, b.ok(name, args{}).Output, b.ok(name, args{}).Output)
	})
	t.Run("failed command", func(t *testing.T) {
		b := newBench(t)
		run(b, "echo out; echo err >&2; exit 3")
		g := b.ok(name, args{})
		assert.Equal(t, "Last command: echo out; echo err >&2; exit 3\nOutput: out\nError output:\nerr", g.Output)
		assert.EqualValues(t, 3, g.Metadata["exit_code"])
	})
	t.Run("command not found", func(t *testing.T) {
		b := newBench(t)
		run(b, "invalid_cmd")
		assert.EqualValues(t, 127, b.ok(name, args{}).Metadata["exit_code"])
	})
	t.Run("timed out command", func(t *testing.T) {
		b := newBench(t)
		line := "echo a; " + string(testproc.Sleep(t))
		want := "Last command: " + line + "\nOutput: a"
		var g got
		testproc.LongEnough(time.Second, func(limit time.Duration) bool {
			b.call("run_in_terminal", args{"command": line, "timeout_seconds": limit.Seconds()})
			g = b.ok(name, args{})
			return g.Output == want
		})
		assert.Equal(t, want, g.Output)
		assert.EqualValues(t, 124, g.Metadata["exit_code"])
	})
	t.Run("no output, several lines, unicode", func(t *testing.T) {
		b := newBench(t)
		run(b, "true")
		assert.Equal(t, "Last command: true\nOutput: ", b.ok(name, args{}).Output)
		run(b, "printf '世\\n界\\n'")
		assert.Equal(t, "Last command: printf '世\\n界\\n'\nOutput: 世\n界", b.ok(name, args{}).Output)
	})
	t.Run("a refused call is no command", func(t *testing.T) {
		b := newBench(t)
		run(b, " ")
		b.fails("no_previous_command", "Error: No previous command in this session", name, args{})
	})
	t.Run("sessions are apart", func(t *testing.T) {
		b := newBench(t)
		run(b, "echo one")
		b.host = new(plugintest.Host)
		b.fails("no_previous_command", "Error: No previous command in this session", name, args{})
	})
	t.Run("error no command history", func(t *testing.T) {
		g := newBench(t).fails("no_previous_command", "Error: No previous command in this session", name, args{})
		assert.Equal(t, "Run a command with run_in_terminal first.", g.Error.Suggestion)
	})
	t.Run("without state", func(t *testing.T) {
		b := newBench(t)
		b.host = nil
		assert.Equal(t, "Command output:\nx\n", b.ok("run_in_terminal", args{"command": "echo x"}).Output)
		assert.Equal(t, "unavailable", b.call(name, args{}).Error.Code)
		host := new(plugintest.Host)
		b.host = brokenState{host}
		b.ok("run_in_terminal", args{"command": "echo x"})
		assert.Contains(t, strings.Join(host.Logs(), "\n"), "disk full")
		assert.Equal(t, "internal", b.call(name, args{}).Error.Code)
	})
	t.Run("parameters none", func(t *testing.T) {
		newBench(t).invalid("n: is not a known parameter", name, args{"n": 1})
	})
	t.Run("definition", func(t *testing.T) { checkDefinition(t, name, tool.ReadOnly, `{}`) })
}
