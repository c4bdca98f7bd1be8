package taskfile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

const behindNames = `version: "3"
vars:
  REV: { sh: "touch every-ran; git rev-parse HEAD" }
tasks:
  build:
    desc: Build
    aliases: [b]
    deps: [gen]
    dir: sub
    env: { LD_PRELOAD: /tmp/evil.so }
    vars: { NAME: { sh: "touch var-ran" } }
    preconditions: ["touch precondition-ran"]
    status: ["touch status-ran"]
    cmds:
      - |
        touch built
        touch {{.CLI_ARGS}}
      - task: other
        vars: { X: "1" }
      - defer: touch deferred
  gen: { internal: true, cmds: ["touch generated"] }
  other: { cmds: [{ cmd: "touch other-{{.X}}", for: [a, b] }, { task: build }] }
  unrelated: { cmds: ["touch unrelated"] }
`

// The plan of a command shows what is behind its name, and nothing of it runs before approval.
func TestThePlanShowsWhatACommandRuns(t *testing.T) {
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml", behindNames)
	for name, params := range map[string]any{
		"run_command": map[string]string{"command": "b", "args": "x 'y z'"},
		"task":        map[string]string{"args": "build -- x 'y z'"},
	} {
		plan, err := p.tools[name].(tool.Planner).Plan(t.Context(),
			&tool.Call{Tool: name, Params: tool.MustMarshal(params), Workspace: p.dir})
		require.NoError(t, err)
		assert.Contains(t, plan.Preview, "x 'y z'\n")
		for _, want := range []string{
			"command build (.agent/Taskfile.yml:5):\n  dir: sub\n",
			"  variable REV from: $ touch every-ran; git rev-parse HEAD\n", "  environment LD_PRELOAD = /tmp/evil.so\n",
			"  variable NAME from: $ touch var-ran\n", "  first: command gen\n", "  status: touch status-ran\n",
			"  precondition: touch precondition-ran\n",
			"  $ touch built\n    touch {{.CLI_ARGS}}\n", "  then: command other\n", "  at the end: $ touch deferred\n",
			"command gen (.agent/Taskfile.yml:", "  $ touch generated\n", "  $ touch other-{{.X}}\n",
			`  for each of: {"From":"","List":["a","b"]`,
		} {
			assert.Contains(t, plan.Preview, want, name)
		}
		assert.NotContains(t, plan.Preview, "unrelated")
	}
	for _, file := range []string{"every-ran", "sub", "var-ran", "precondition-ran", "status-ran", "built",
		"generated"} {
		assert.False(t, p.exists(file), file)
	}
	_, err := p.tools["run_command"].(tool.Planner).Plan(t.Context(),
		&tool.Call{Params: tool.MustMarshal(map[string]string{"command": "nothing"})})
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
}
