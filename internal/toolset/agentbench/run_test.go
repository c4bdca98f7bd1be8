package agentbench_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

// output returns what a call of run printed, from its artifacts.
func (f *fixture) output(t *testing.T, e *envelope) (stdout, stderr string) {
	t.Helper()
	require.NotNil(t, e.StdoutPath)
	require.NotNil(t, e.StderrPath)
	dir := ".agent/runs/test/"
	return f.read(t, dir+*e.StdoutPath), f.read(t, dir+*e.StderrPath)
}

func TestRunExample(t *testing.T) {
	f := newFixture(t)
	f.step = 4
	e := f.call(t, "run", `{"command":"echo passed; echo warned >&2","timeout_sec":120}`)
	assert.Equal(t, map[string]any{
		"exit_code": 0.0, "stdout_path": "logs/tool_step_0005_stdout.txt",
		"stderr_path": "logs/tool_step_0005_stderr.txt",
	}, e.Data)
	require.NotNil(t, e.ExitCode)
	assert.Equal(t, 0, *e.ExitCode)
	stdout, stderr := f.output(t, e)
	assert.Equal(t, "passed\n", stdout)
	assert.Equal(t, "warned\n", stderr)
	assert.Equal(t, []tool.Artifact{
		{Name: "stdout", Path: ".agent/runs/test/logs/tool_step_0005_stdout.txt", Bytes: 7},
		{Name: "stderr", Path: ".agent/runs/test/logs/tool_step_0005_stderr.txt", Bytes: 7},
	}, e.result.Artifacts)
}

func TestRunOutputCanBeReadByItsName(t *testing.T) {
	for _, outside := range []bool{false, true} {
		f := newFixture(t)
		if outside {
			f.artifacts = filepath.Join(f.outside(t), "runs", "x")
		}
		e := f.call(t, "run", `{"command":"printf hello"}`)
		assert.Equal(t, "hello", f.succeeds(t, "read_file", map[string]any{"path": *e.StdoutPath})["content"])
		f.fails(t, "file_not_found", "does not exist", "read_file", `{"path":"logs/none.txt"}`)
		f.fails(t, "path_escape", "outside", "read_file", `{"path":"logs/../../none.txt"}`)
	}
}

func TestRunIsAShell(t *testing.T) {
	f := newFixture(t)
	f.write(t, "sub/a b.txt", "x\n")
	for command, want := range map[string]string{
		"echo one && echo two | tr a-z A-Z": "one\nTWO\n",
		"cat sub/*.txt":                     "x\n",
		"echo $((1+2)) $(echo nested)":      "3 nested\n",
		"pwd":                               f.root + "\n",
		"cat":                               "",
		"":                                  "",
		"printf 'ünï\\n'":                   "ünï\n",
		"touch made && ls made":             "made\n",
	} {
		e := f.call(t, "run", map[string]any{"command": command})
		require.Equal(t, "success", e.Status, command)
		stdout, _ := f.output(t, e)
		assert.Equal(t, want, stdout, command)
	}
}

func TestRunEnv(t *testing.T) {
	f := newFixture(t)
	t.Setenv("MY_SECRET", "leaked")
	e := f.call(t, "run", map[string]any{"command": `echo "$A|$B|$MY_SECRET|$HOME"`,
		"env": map[string]string{"A": "x y", "B": "$A", "HOME": "/h"}})
	stdout, _ := f.output(t, e)
	assert.Equal(t, "x y|$A||/h\n", stdout)
	for _, env := range []map[string]string{{"": "x"}, {"A=B": "x"}, {"A\x00": "x"}, {"A": "x\x00"}} {
		f.fails(t, "invalid_argument", "environment variable", "run", map[string]any{"command": "true", "env": env})
	}
	assert.NotEmpty(t, f.violations(t, "run", `{"command":"true","env":{"A":1}}`))
}

func TestRunAbnormalExit(t *testing.T) {
	f := newFixture(t)
	e := f.fails(t, "abnormal_exit", "exited with code 3", "run", `{"command":"echo out; echo err >&2; exit 3"}`)
	require.NotNil(t, e.ExitCode)
	assert.Equal(t, 3, *e.ExitCode)
	stdout, stderr := f.output(t, e)
	assert.Equal(t, "out\n", stdout)
	assert.Equal(t, "err\n", stderr)
	assert.Equal(t, 3.0, e.Error.Details["exit_code"])
	assert.Equal(t, "err\n", e.Error.Details["stderr_tail"])
	assert.Equal(t, "out\n", e.Error.Details["stdout_tail"])
	assert.Equal(t, tool.CommandFailed, e.result.Failed.Code)
	e = f.fails(t, "abnormal_exit", "code 127", "run", `{"command":"./no-such-program"}`)
	assert.Contains(t, e.Error.Details["stderr_tail"], "not found")
	e = f.fails(t, "abnormal_exit", "signal", "run", `{"command":"kill -9 $$"}`)
	assert.Equal(t, 137, *e.ExitCode)
}

func TestRunTimeout(t *testing.T) {
	f := newFixture(t)
	var e *envelope
	testproc.LongEnough(time.Second, func(limit time.Duration) bool {
		started, seconds := time.Now(), limit.Seconds()
		e = f.fails(t, "timeout", fmt.Sprintf("did not end within %gs", seconds), "run",
			map[string]any{"command": "echo before; " + string(testproc.Sleep(t)) + "; echo after", "timeout_sec": seconds})
		assert.Less(t, time.Since(started), limit+50*time.Second)
		assert.Equal(t, seconds, e.Error.Details["timeout_sec"])
		stdout, _ := f.output(t, e)
		return stdout != ""
	})
	require.NotNil(t, e.ExitCode)
	assert.Equal(t, 124, *e.ExitCode)
	stdout, _ := f.output(t, e)
	assert.Equal(t, "before\n", stdout)
	assert.Equal(t, tool.Timeout, e.result.Failed.Code)
	for _, params := range []string{`{"command":"true","timeout_sec":0}`, `{"command":"true","timeout_sec":-1}`} {
		assert.NotEmpty(t, f.violations(t, "run", params))
	}
}

func TestRunDefaultTimeout(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	assert.Equal(t, 60*time.Second, agentbench.DefaultRunTimeout)
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{Unconfined: true, RunTimeout: 300 * time.Millisecond})
	f.fails(t, "timeout", "did not end within 300ms", "run", `{"command":"`+string(testproc.Sleep(t))+`"}`)
	assert.Equal(t, "success", f.call(t, "run", `{"command":"sleep 1","timeout_sec":30}`).Status,
		"timeout_sec overrides it")
}

// The processes ignore signals or leave the group; each would write a file if it survived.
func TestRunTimeoutLeavesNobody(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	sleep := string(testproc.Sleep(t))
	for name, command := range map[string]string{
		"grandchild":      `sh -c 'sh -c "echo $$ >> pids; ` + sleep + `"' & wait`,
		"ignores TERM":    `trap '' TERM; echo $$ >> pids; while :; do sleep 1; done`,
		"background":      `(echo $$ >> pids; ` + sleep + `) & ` + sleep,
		"left the group":  `setsid sh -c 'echo $$ >> pids; ` + sleep + `' & ` + sleep,
		"holds the pipes": `nohup sh -c 'echo $$ >> pids; ` + sleep + `' & ` + sleep,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			testproc.LongEnough(time.Second, func(limit time.Duration) bool {
				f.fails(t, "timeout", "did not end", "run",
					map[string]any{"command": command, "timeout_sec": limit.Seconds()})
				_, err := os.Stat(filepath.Join(f.root, "pids"))
				return err == nil
			})
			for _, text := range strings.Fields(f.read(t, "pids")) {
				pid, err := strconv.Atoi(text)
				require.NoError(t, err)
				assert.Eventually(t, func() bool { return !testproc.Alive(pid) }, time.Minute, 10*time.Millisecond,
					"process %d lives on", pid)
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.ctx = ctx
	testproc.WhenExists(t, filepath.Join(f.root, "started"), cancel)
	e := f.fails(t, "cancelled", "cancelled", "run",
		`{"command":"echo before; touch started; `+string(testproc.Sleep(t))+`"}`)
	stdout, _ := f.output(t, e)
	assert.Equal(t, "before\n", stdout)
}

func TestRunOutputOf1MB(t *testing.T) {
	f := newFixture(t)
	e := f.call(t, "run", `{"command":"i=0; while [ $i -lt 20000 ]; do echo \"line $i `+
		`............................................\"; i=$((i+1)); done; echo end >&2","timeout_sec":60}`)
	require.Equal(t, "success", e.Status)
	stdout, stderr := f.output(t, e)
	assert.Equal(t, "end\n", stderr)
	assert.LessOrEqual(t, len(stdout), 100<<10)
	assert.Greater(t, len(stdout), 99<<10)
	assert.True(t, strings.HasPrefix(stdout, "line 0 "))
	assert.True(t, strings.HasSuffix(stdout, "line 19999 ............................................\n"))
	var left, of int
	_, mark, ok := strings.Cut(stdout, "\n[... ")
	require.True(t, ok)
	_, err := fmt.Sscanf(mark, "%d of %d bytes left out", &left, &of)
	require.NoError(t, err)
	shown, _, _ := strings.Cut(mark, " ...]\n")
	assert.Equal(t, of, left+len(stdout)-len("\n[... "+shown+" ...]\n"), "the count of what is left out is exact")
	assert.Equal(t, true, e.Data["stdout_truncated"])
	assert.NotContains(t, e.Data, "stderr_truncated")
	assert.True(t, e.result.Truncated)
}

func TestRunOutputOfJust100KB(t *testing.T) {
	f := newFixture(t)
	e := f.call(t, "run", `{"command":"head -c 102400 /dev/zero | tr '\\0' x"}`)
	stdout, _ := f.output(t, e)
	assert.Equal(t, strings.Repeat("x", 102400), stdout)
	assert.False(t, e.result.Truncated)
	e = f.call(t, "run", `{"command":"head -c 102401 /dev/zero | tr '\\0' x"}`)
	assert.True(t, e.result.Truncated)
	e = f.call(t, "run", `{"command":"yes ü | head -n 60000 | tr -d '\\n'"}`)
	stdout, _ = f.output(t, e)
	assert.True(t, strings.HasPrefix(stdout, "üü") && strings.HasSuffix(stdout, "üü"))
	assert.NotContains(t, stdout, "\ufffd")
	assert.Equal(t, stdout, strings.ToValidUTF8(stdout, "?"), "no character is cut in two")
}

func TestRunArtifactsThroughPlantedLinks(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.link(t, out+"/secret", ".agent/runs/test/logs/tool_step_0001_stdout.txt")
	e := f.call(t, "run", map[string]any{"command": "echo stolen; rm -rf .agent/runs/test/logs/*; ln -s " + out +
		"/secret .agent/runs/test/logs/tool_step_0001_stdout.txt"})
	require.Equal(t, "success", e.Status)
	stdout, _ := f.output(t, e)
	assert.Equal(t, "stolen\n", stdout)
	e = f.call(t, "run", map[string]any{"command": "rm -rf .agent/runs/test/logs; ln -s " + out +
		" .agent/runs/test/logs; echo stolen"})
	assert.Nil(t, e.StdoutPath)
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	data, err := os.ReadFile(filepath.Join(out, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "secret\n", string(data))
}

func TestRunWithoutArtifactDir(t *testing.T) {
	f := newFixture(t)
	f.artifacts = ""
	e := f.call(t, "run", `{"command":"echo x"}`)
	assert.Equal(t, map[string]any{"exit_code": 0.0, "stdout_path": nil, "stderr_path": nil}, e.Data)
	e = f.fails(t, "abnormal_exit", "code 1", "run", `{"command":"echo why >&2; exit 1"}`)
	assert.Equal(t, "why\n", e.Error.Details["stderr_tail"])
}

func TestRunSandboxError(t *testing.T) {
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{})
	e := f.fails(t, "sandbox_error", "no sandbox", "run", `{"command":"touch ran"}`)
	assert.Nil(t, e.ExitCode)
	assert.NoFileExists(t, filepath.Join(f.root, "ran"), "never a silent run without a sandbox")

	f = newFixtureOf(t, workspace.Options{},
		agentbench.Deps{Unconfined: true, Prepare: func(*exec.Cmd) (map[string]any, error) {
			return nil, tool.Errorf(tool.Unavailable, "no namespaces here").Suggest("Look at doctor.")
		}})
	e = f.fails(t, "sandbox_error", "no namespaces here", "run", `{"command":"touch ran"}`)
	assert.Equal(t, "Look at doctor.", e.Error.Details["suggestion"])
	assert.NoFileExists(t, filepath.Join(f.root, "ran"))

	f = newFixtureOf(t, workspace.Options{},
		agentbench.Deps{Prepare: func(*exec.Cmd) (map[string]any, error) { return nil, errors.New("odd") }})
	f.fails(t, "sandbox_error", "odd", "run", `{"command":"touch ran"}`)
	f = newFixture(t)
	f.fails(t, "sandbox_error", "too long", "run", map[string]any{"command": "echo " + strings.Repeat("x", 3<<20)})
	f.fails(t, "invalid_argument", "NUL", "run", map[string]any{"command": "a\x00b"})
}

func TestRunIsPrepared(t *testing.T) {
	var prepared []string
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{Prepare: func(cmd *exec.Cmd) (map[string]any, error) {
		prepared = append(prepared, cmd.Args...)
		cmd.Env = append(cmd.Env, "LEVEL=test")
		return map[string]any{"sandbox": "test"}, nil
	}})
	e := f.call(t, "run", `{"command":"echo $LEVEL"}`)
	stdout, _ := f.output(t, e)
	assert.Equal(t, "test\n", stdout)
	assert.Equal(t, []string{"/bin/sh", "-c", "echo $LEVEL"}, prepared)
	assert.Equal(t, map[string]any{"sandbox": "test"}, e.result.Metadata)
}

func TestRunCommandLine(t *testing.T) {
	f := newFixture(t)
	argv, err := f.tools["run"].(interface {
		CommandLine(context.Context, *tool.Call) ([]string, error)
	}).CommandLine(t.Context(), f.newCall("run", tool.MustMarshal(map[string]string{"command": "rm -rf x"})))
	require.NoError(t, err)
	assert.Equal(t, []string{"/bin/sh", "-c", "rm -rf x"}, argv)
}
