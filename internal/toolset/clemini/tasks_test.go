package clemini_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
)

// agents uses the scripted program of testdata as the agent, outside of the
// workspace, as a real one is.
func agents(t testing.TB, prompt string, more ...func(*subagent.Agent)) subagent.Agents {
	t.Helper()
	script, err := os.ReadFile("testdata/agent.sh")
	require.NoError(t, err)
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	testfile.Program(t, program, string(script))
	a := subagent.Agent{Command: []string{program}, Prompt: prompt, Read: []string{dir},
		Env: map[string]string{"AGENT_NAME": "scripted"}}
	for _, change := range more {
		change(&a)
	}
	return subagent.Agents{a}
}

func taskCases() []provingCase {
	return []provingCase{
		{"kill_shell example 1; kill_shell parameter task_id; kill_shell result task_id; kill_shell result status; " +
			"kill_shell result success", func(t *testing.T) {
			b := newBench(t)
			id := b.ok("bash", args{"command": string(testproc.Sleep(t)), "run_in_background": true})["task_id"].(string)
			b.gives(`{"task_id":"`+id+`","status":"killed","success":true}`, "kill_shell", args{"task_id": id})
			assert.Equal(t, "killed", b.ok("task_output", args{"task_id": id})["status"])
		}},
		{"kill_shell example 2", func(t *testing.T) {
			b := newBench(t)
			id := b.ok("bash", args{"command": "echo out", "run_in_background": true})["task_id"].(string)
			b.ok("task_output", args{"task_id": id, "wait": true})
			for range 2 {
				b.gives(`{"task_id":"`+id+`","status":"already_completed","success":true}`, "kill_shell",
					args{"task_id": id})
			}
			assert.Equal(t, "out\n", b.ok("task_output", args{"task_id": id})["stdout"], "it stays readable")
		}},
		{"kill_shell example 3", func(t *testing.T) {
			b := newBench(t)
			b.fails("NOT_FOUND", "Task not found: nonexistent", "kill_shell", args{"task_id": "nonexistent"})
			b.fails("NOT_FOUND", "Task not found: nonexistent", "task_output",
				args{"task_id": "nonexistent", "wait": true})
			b.fails("NOT_FOUND", "Task not found: ../x", "task_output", args{"task_id": "../x"})
		}},
		{"task example 1; task example 3; task parameter prompt; task default background; task result status; task " +
			"result stdout; task result stderr; task result exit_code", func(t *testing.T) {
			for _, how := range []string{subagent.Stdin, subagent.Argument} {
				b := newBenchOf(t, clemini.Deps{Agents: agents(t, how)}, "TODO.txt", "one\ntwo\n")
				b.gives(`{"status":"success","stdout":"scripted: Analysis complete. Found 2 areas in `+
					`TODO.txt\n","stderr":"","exit_code":0}`,
					"task", args{"prompt": "Analyze the TODO list; \"quoted\" $HOME\nand more"})
				assert.Equal(t, "Analyze the TODO list; \"quoted\" $HOME\nand more", b.read("prompt.txt"),
					"the prompt arrives as it is")
			}
		}},
		{"task example 2; task parameter background; task result task_id; task result prompt", func(t *testing.T) {
			b := newBenchOf(t, clemini.Deps{Agents: agents(t, subagent.Stdin)}, "TODO.txt", "one\n")
			got := b.ok("task", args{"prompt": "Analyze slowly", "background": true})
			id := got["task_id"].(string)
			assert.True(t, strings.HasPrefix(id, "task_"))
			assert.Equal(t, map[string]any{"task_id": id, "status": "running", "prompt": "Analyze slowly"}, got)
			done := b.ok("task_output", args{"task_id": id, "wait": true, "timeout": 60})
			assert.Equal(t, "completed", done["status"])
			assert.Contains(t, done["stdout"], "Analysis complete")
		}},
		{"task example 4", func(t *testing.T) {
			b := newBenchOf(t, clemini.Deps{Agents: agents(t, subagent.Stdin)})
			b.gives(`{"status":"failed","stdout":"","stderr":"Error: API rate limit exceeded\n","exit_code":1}`, "task",
				args{"prompt": "fail"})
		}},
		{"code IO_ERROR", func(t *testing.T) {
			got := newBench(t).fails("IO_ERROR", "No agent is configured to work on tasks", "task", args{"prompt": "x"})
			assert.Contains(t, got["context"].(map[string]any)["hint"], "agent {\n  command = [\"claude\", \"-p\"]\n")
			b := newBenchOf(t, clemini.Deps{Agents: subagent.Agents{{Command: []string{"no-such-agent"}}}})
			b.fails("IO_ERROR", "", "task", args{"prompt": "x"})
		}},
		{"task_output example 1; task_output parameter task_id; task_output default wait; task_output result " +
			"task_id; task_output result status; task_output result stdout; task_output result stderr", func(t *testing.T) {
			b := newBench(t)
			id := b.ok("bash", args{"command": "echo Building...; echo warn >&2; " + string(testproc.Sleep(t)),
				"run_in_background": true})["task_id"].(string)
			want := `{"task_id":"` + id + `","status":"running","stdout":"Building...\n","stderr":"warn\n"}`
			require.Eventually(t, func() bool {
				started := time.Now()
				got, err := json.Marshal(b.ok("task_output", args{"task_id": id}))
				require.NoError(t, err)
				return assert.ObjectsAreEqual(toMap(t, want), toMap(t, string(got))) && time.Since(started) < patience
			}, patience, 5*time.Millisecond)
		}},
		{"task_output example 2; task_output parameter wait; task_output default timeout; task_output result exit_code",
			func(t *testing.T) {
				b := newBench(t)
				id := b.ok("bash", args{"command": "sleep 0.2; echo 'Build successful'; exit 7",
					"run_in_background": true})["task_id"].(string)
				b.gives(`{"task_id":"`+id+
					`","status":"completed","exit_code":7,"stdout":"Build successful\n","stderr":""}`,
					"task_output", args{"task_id": id, "wait": true})
			}},
		{"task_output example 3; task_output parameter timeout", func(t *testing.T) {
			b := newBench(t)
			id := b.ok("bash", args{"command": "echo 'Still building...'; " + string(testproc.Sleep(t)),
				"run_in_background": true})["task_id"].(string)
			started := time.Now()
			got := b.ok("task_output", args{"task_id": id, "wait": true, "timeout": 1})
			assert.Equal(t, "running", got["status"])
			assert.NotContains(t, got, "exit_code")
			assert.GreaterOrEqual(t, time.Since(started), time.Second)
			assert.Less(t, time.Since(started), patience)
		}},
	}
}

func toMap(t testing.TB, text string) (object map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	return object
}

func TestTaskTimeout(t *testing.T) {
	var b *bench
	var printed any
	testproc.LongEnough(300*time.Millisecond, func(limit time.Duration) bool {
		b = newBenchOf(t, clemini.Deps{Agents: agents(t, subagent.Stdin,
			func(a *subagent.Agent) { a.Timeout = limit })})
		got := b.fails("TIMEOUT", "", "task", args{"prompt": "hang"})
		printed = got["context"].(map[string]any)["stdout"]
		return printed == "hanging\n"
	})
	assert.Equal(t, "hanging\n", printed)
	id := b.ok("task", args{"prompt": "hang", "background": true})["task_id"]
	done := b.ok("task_output", args{"task_id": id, "wait": true, "timeout": 200})
	assert.Equal(t, "timed_out", done["status"])
}

// An agent's input after its prompt is empty, and it has only what is granted.
func TestAgentIsConfined(t *testing.T) {
	b := newBenchOf(t, clemini.Deps{Agents: agents(t, subagent.Argument)})
	t.Setenv("SECRET_OF_THE_HOST", "x")
	got := b.ok("task", args{"prompt": "probe " + filepath.Join(testneed.VisibleDir(t), "file")})
	assert.Equal(t, "input: empty\nsecret: none\noutside: closed\n", got["stdout"])
}

// Another instance of the toolset sees the same tasks.
func TestTasksOfAnotherBench(t *testing.T) {
	b := newBench(t)
	line := "echo here; " + string(testproc.Sleep(t))
	id := b.ok("bash", args{"command": line, "run_in_background": true})["task_id"].(string)
	other := b.another()
	require.Eventually(t, func() bool { return other.ok("task_output", args{"task_id": id})["stdout"] == "here\n" },
		patience, 5*time.Millisecond)
	assert.Equal(t, "killed", other.ok("kill_shell", args{"task_id": id})["status"])
	assert.Equal(t, "killed", b.ok("task_output", args{"task_id": id})["status"])
}

// Of more than 1 MB the start and end are kept.
func TestFloodOfABackgroundTask(t *testing.T) {
	b := newBench(t)
	id := b.ok("bash", args{"command": "seq 1 400000", "run_in_background": true})["task_id"]
	object, result := b.call("task_output", args{"task_id": id, "wait": true})
	stdout := object["stdout"].(string)
	assert.Equal(t, "completed", object["status"])
	assert.True(t, result.Truncated)
	assert.InDelta(t, 1<<20, len(stdout), 500)
	assert.True(t, strings.HasPrefix(stdout, "1\n2\n"))
	assert.Contains(t, stdout, "\n399999\n400000\n[", "the end of what was printed")
	assert.Regexp(t, `bytes are shown; it was not kept\]\n$`, stdout, "the last line says how much is missing")
	assert.Contains(t, stdout, "left out; it was not kept ")
}
