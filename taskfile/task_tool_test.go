package taskfile_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func decode(t *testing.T, result *tool.Result) (r run) {
	t.Helper()
	require.NoError(t, json.Unmarshal(result.Structured, &r))
	return r
}

func (p *project) task(args string) *tool.Result {
	p.t.Helper()
	result, err := p.call(p.t.Context(), "task", map[string]any{"args": args})
	require.NoError(p.t, err, args)
	return result
}

// Examples of contract 004: args "" runs the default task, "build" that one.
func TestTaskExamples(t *testing.T) {
	p := newProject(t, "plain")
	assert.Contains(t, p.task("").Text(), "default\n")
	assert.Contains(t, p.task("build").Text(), "built static dynamic dotenv\n")
}

func TestTaskTool(t *testing.T) {
	p := newProject(t, "plain")
	for args, want := range map[string]string{
		"-s zebra":                   "zebra\n",
		"zebra -s":                   "zebra\n",
		"-s zebra default":           "zebra\ndefault\n",
		"args -- a 'b c' CLI_ARGS=x": "<a>\n<b c>\n<CLI_ARGS=x>\n3\n",
		"args -- --list":             "<--list>\n1\n",
		"-s requiring NAME=a.b/c":    "name a.b/c\n",
		"-s b":                       "built static dynamic dotenv\n",
	} {
		result := p.task(args)
		assert.Nil(t, result.Failed, args)
		assert.Contains(t, result.Text(), want, args)
	}
	assert.Contains(t, p.task("--dry zebra").Text(), "echo zebra")
	assert.Contains(t, p.task("--summary zebra").Text(), "Before the others")
	testneed.NotShort(t, "builds task itself")
	stdout, _, _ := p.real("--list")
	assert.Equal(t, stdout, p.task("--list").Text())
}

func TestTaskToolFailure(t *testing.T) {
	p := newProject(t, "plain")
	result := p.task("fail")
	require.NotNil(t, result.Failed)
	assert.Equal(t, tool.CommandFailed, result.Failed.Code)
	assert.Equal(t, 42, decode(t, result).ExitCode)
	assert.Contains(t, result.Text(), "out\n")
	e := p.fails("task", map[string]any{"args": "zebr"})
	assert.Equal(t, tool.NotFound, e.Code)
	assert.Contains(t, e.Suggestion, "'zebra'")
	assert.Equal(t, tool.NotFound, p.fails("task", map[string]any{"args": "zebra hidden"}).Code)
}

func TestTaskToolRefuses(t *testing.T) {
	p := newProject(t, "plain")
	for _, args := range []string{
		"--taskfile /etc/passwd zebra", "-t x", "-t=x", "--dir / zebra", "-d/", "--global", "-g", "--init", "-i",
		"--watch zebra", "-w",
		"--yes asking", "-y", "--download", "--insecure", "--report fd:3", "--exact zebra", "--describe", "-lw",
		"--interval 1s",
		"--output group", "--version", "--help", "-",
		"args CLI_ARGS=x", "args cli_args=x", "CLI_FORCE=true zebra", "=x", "A-B=c",
		"args 'X=; touch pwned'", "args 'X=$(touch pwned)'", "args 'X=a b'", "args \"X='\"", "args 'X={{fail}}'",
		"args 'X=ü'",
		"zebra; touch pwned", "zebra | cat", "$X",
	} {
		e := p.fails("task", map[string]any{"args": args})
		assert.Equal(t, tool.InvalidArgument, e.Code, args)
	}
	assert.False(t, p.exists("pwned"))
}

func TestDefinitions(t *testing.T) {
	p := newProject(t, "")
	for name, risk := range map[string]tool.Risk{"list_commands": tool.ReadOnly, "run_command": tool.Dangerous,
		"task": tool.Dangerous} {
		d := p.tools[name].Definition()
		assert.Equal(t, risk, d.Risk)
		assert.Contains(t, d.Description, "Returns:")
		for _, schema := range []json.RawMessage{d.Parameters, d.Returns} {
			assert.True(t, len(schema) == 0 || json.Valid(schema), name)
		}
	}
}
