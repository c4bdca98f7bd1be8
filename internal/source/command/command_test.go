package command_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/command"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func open(t *testing.T) *workspace.Workspace {
	t.Helper()
	ws, err := workspace.Open(t.TempDir(), workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// script is a typed command that runs a shell script.
func script(text string, settings argv.Settings) argv.Spec {
	return argv.Spec{
		Name: "script", Description: "Run a script", Risk: tool.Dangerous,
		Params: []argv.Param{{Name: "arg", Type: argv.TypeString, Default: json.RawMessage(`""`)}},
		Command: &argv.Template{
			Argv:     []argv.Expr{{Literal: "sh"}, {Literal: "-c"}, {Literal: text}, {Literal: "sh"}, {Param: "arg"}},
			Settings: settings,
		},
	}
}

func run(t *testing.T, spec argv.Spec, deps command.Deps, params string) (*tool.Result, error) {
	t.Helper()
	tl, err := command.New(spec, deps)
	require.NoError(t, err)
	return tl.Call(t.Context(),
		&tool.Call{Tool: spec.Name, Step: 7, Params: json.RawMessage(params),
			ArtifactDir: filepath.Join(deps.Workspace.Root(), ".agent/runs/s")})
}

func TestSuccess(t *testing.T) {
	ws := open(t)
	result, err := run(t, script(`printf '%s|' "$1"; pwd`, argv.Settings{}), command.Deps{Workspace: ws},
		`{"arg":"e\u0301 $HOME"}`)
	require.NoError(t, err)
	assert.Equal(t, "e\u0301 $HOME|"+ws.Root()+"\n", result.Text(), "raw bytes, in the workspace root")

	result, err = run(t, script(`echo out; echo warn >&2`, argv.Settings{}), command.Deps{Workspace: ws}, `{}`)
	require.NoError(t, err)
	assert.Equal(t, "out\nstderr:\nwarn\n", result.Text())

	result, err = run(t, script(`exit 1`, argv.Settings{Success: []int{0, 1}}), command.Deps{Workspace: ws}, `{}`)
	require.NoError(t, err)
	assert.Empty(t, result.Text())
}

func TestFailureHasBothStreams(t *testing.T) {
	_, err := run(t, script(`echo out; echo bad >&2; exit 4`, argv.Settings{}), command.Deps{Workspace: open(t)}, `{}`)
	require.Error(t, err)
	e := tool.AsError(err)
	assert.Equal(t, tool.CommandFailed, e.Code)
	assert.Contains(t, e.Message, "exit code 4")
	assert.Contains(t, e.Message, "stderr:\nbad")
	assert.Contains(t, e.Message, "stdout:\nout")
	assert.Equal(t, 4, e.Details["exit_code"])
	assert.NotEmpty(t, e.Suggestion)
}

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct{ own, limit, want time.Duration }{
		{0, 0, command.DefaultTimeout}, {0, time.Second, time.Second}, {time.Minute, time.Second, time.Minute},
	} {
		tl, err := command.New(script("true", argv.Settings{Timeout: tt.own}), command.Deps{Workspace: open(t), Timeout: tt.limit})
		require.NoError(t, err)
		assert.Equal(t, tt.want, tl.Definition().Timeout)
	}
}

func TestTimeoutKeepsWhatWasPrinted(t *testing.T) {
	var e *tool.Error
	testproc.LongEnough(200*time.Millisecond, func(limit time.Duration) bool {
		line := `echo begun; ` + string(testproc.Sleep(t))
		_, err := run(t, script(line, argv.Settings{Timeout: limit}), command.Deps{Workspace: open(t)},
			`{}`)
		e = tool.AsError(err)
		require.NotNil(t, e)
		return strings.Contains(e.Message, "begun")
	})
	assert.Equal(t, tool.Timeout, e.Code)
	assert.Contains(t, e.Message, "begun")
}

func TestCancel(t *testing.T) {
	ws := open(t)
	tl, err := command.New(script(`touch begun; `+string(testproc.Sleep(t)), argv.Settings{}), command.Deps{Workspace: ws})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	testproc.WhenExists(t, filepath.Join(ws.Root(), "begun"), cancel)
	_, err = tl.Call(ctx, &tool.Call{Params: json.RawMessage(`{}`)})
	assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
}

func TestLongOutputIsCutAndKept(t *testing.T) {
	ws := open(t)
	result, err := run(t, script(`seq 1 10000`, argv.Settings{}), command.Deps{Workspace: ws, OutputCap: 100}, `{}`)
	require.NoError(t, err)
	assert.True(t, result.Truncated)
	require.Len(t, result.Artifacts, 1)
	whole, err := os.ReadFile(result.Artifacts[0].Path)
	require.NoError(t, err)
	assert.Equal(t, 10000, strings.Count(string(whole), "\n"))
	assert.Contains(t, result.Text(), result.Artifacts[0].Path)
	first, rest, _ := strings.Cut(result.Text(), "\n")
	assert.Regexp(t, `^\[\d+ of 48894 bytes are shown; the whole output is in .+\]$`, first,
		"the first line says that it is not all")
	assert.True(t, strings.HasPrefix(rest, "1\n2\n"))
	assert.Contains(t, result.Text(), "\n10000\n[", "the end of what was printed")
	assert.True(t, strings.HasSuffix(result.Text(), "the whole output is in "+result.Artifacts[0].Path+"]\n"),
		"the last line says where the rest is")
}

func TestMissingProgram(t *testing.T) {
	spec := argv.Spec{Name: "x", Risk: tool.ReadOnly, Passthrough: &argv.Wrapper{Command: "no-such-program-here"}}
	_, err := run(t, spec, command.Deps{Workspace: open(t)}, `{"args":""}`)
	e := tool.AsError(err)
	require.NotNil(t, e)
	assert.Equal(t, tool.CommandNotFound, e.Code)
	assert.Contains(t, e.Message, "no-such-program-here")
	assert.Contains(t, e.Suggestion, "Install")
}

func TestProgramsInTheWorkspaceAreNotRun(t *testing.T) {
	ws := open(t)
	evil := filepath.Join(ws.Root(), "ls")
	testfile.Program(t, evil, "#!/bin/sh\necho evil\n")
	t.Setenv("PATH", ws.Root()+string(filepath.ListSeparator)+os.Getenv("PATH"))
	spec := argv.Spec{Name: "ls", Risk: tool.ReadOnly, Passthrough: &argv.Wrapper{Command: "ls"}}
	result, err := run(t, spec, command.Deps{Workspace: ws}, `{"args":""}`)
	require.NoError(t, err)
	assert.NotContains(t, result.Text(), "evil")
}

func TestPlan(t *testing.T) {
	spec := argv.Spec{Name: "rm", Risk: tool.Dangerous, Passthrough: &argv.Wrapper{
		Command: "rm", Options: []argv.Option{{Names: []string{"-f"}}},
		Operands: argv.Operands{Type: argv.Remove, Min: 1},
	}}
	ws := open(t)
	file := filepath.Join(ws.Root(), "a b")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	tl, err := command.New(spec, command.Deps{Workspace: ws})
	require.NoError(t, err)
	plan, err := tl.(tool.Planner).Plan(t.Context(), &tool.Call{Params: json.RawMessage(`{"args":"-f './a b'"}`)})
	require.NoError(t, err)
	assert.Equal(t, []string{"a b"}, plan.FilesAffected)
	assert.Regexp(t, `^\$ rm -f -- '\./a b'\nruns /.*/rm\n$`, plan.Preview)
	assert.FileExists(t, file)
}

func TestPrepareConfinesAndIsReported(t *testing.T) {
	deps := command.Deps{Workspace: open(t), Prepare: func(cmd *exec.Cmd, access argv.Access) (map[string]any, error) {
		cmd.Env = append(cmd.Env, "CONFINED=yes")
		return map[string]any{"sandbox": "test"}, nil
	}}
	result, err := run(t, script(`echo $CONFINED`, argv.Settings{}), deps, `{}`)
	require.NoError(t, err)
	assert.Equal(t, "yes\n", result.Text())
	assert.Equal(t, "test", result.Metadata["sandbox"])

	deps.Prepare = func(*exec.Cmd, argv.Access) (map[string]any, error) {
		return nil, tool.Errorf(tool.Unavailable, "no sandbox")
	}
	_, err = run(t, script(`echo ran`, argv.Settings{}), deps, `{}`)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
}

func TestDefinition(t *testing.T) {
	tl, err := command.New(script("true", argv.Settings{}), command.Deps{Workspace: open(t)})
	require.NoError(t, err)
	def := tl.Definition()
	assert.Equal(t, "Run a script. Returns: what the program prints.", def.Description)
	assert.Equal(t, []tool.Permission{tool.ShellExec}, def.Permissions)
	_, err = command.New(argv.Spec{Name: "none"}, command.Deps{})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}
