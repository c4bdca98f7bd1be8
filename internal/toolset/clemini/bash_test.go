package clemini_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
	"github.com/toolhost/toolhost/plugins/sdk"
)

func bashCases() []provingCase {
	return []provingCase{
		{"bash example 1; bash example 2; bash parameter command; bash parameter description; bash result stdout; " +
			"bash result stderr; bash result exit_code", func(t *testing.T) {
			b := newBench(t)
			b.gives(`{"stdout":"a\nb\n","stderr":"c\n","exit_code":0}`, "bash",
				args{"command": "printf 'a\\nb\\n'; echo c >&2", "description": "Print something"})
			b.gives(`{"stdout":"","stderr":"","exit_code":0}`, "bash", args{"command": "cat"}) // standard input is empty
			b.gives(`{"stdout":"b3\n","stderr":"","exit_code":0}`, "bash",
				args{"command": "x=(b1 b2 b3); echo ${x[2]}"})
		}},
		{"bash example 3; bash parameter working_directory; bash default working_directory", func(t *testing.T) {
			b := newBench(t, "frontend/package.json", "{}")
			b.gives(`{"stdout":"`+b.root+`\n","stderr":"","exit_code":0}`, "bash", args{"command": "pwd -P"})
			b.gives(`{"stdout":"package.json\n","stderr":"","exit_code":0}`, "bash",
				args{"command": "ls", "working_directory": "frontend"})
			b.gives(`{"stdout":"package.json\n","stderr":"","exit_code":0}`, "bash",
				args{"command": "ls", "working_directory": b.path("frontend")})
			b.fails("NOT_FOUND", "Directory not found: none", "bash",
				args{"command": "ls", "working_directory": "none"})
		}},
		{"bash example 4; bash parameter run_in_background; bash default run_in_background; bash result task_id; " +
			"bash result status", func(t *testing.T) {
			b := newBench(t)
			got := b.ok("bash", args{"command": "echo built", "run_in_background": true})
			assert.Len(t, got, 2)
			assert.Equal(t, "running", got["status"])
			done := b.ok("task_output", args{"task_id": got["task_id"], "wait": true})
			assert.Equal(t, "built\n", done["stdout"])
			assert.NotContains(t, b.ok("bash", args{"command": "true"}), "task_id")
		}},
		{"bash example 5; bash example 6; bash parameter confirmed; bash default confirmed; code NEEDS_CONFIRMATION",
			func(t *testing.T) {
				b := newBench(t, "target/x", "", "other/x", "")
				got := b.fails("NEEDS_CONFIRMATION", "Command requires confirmation. Re-run with confirmed=true",
					"bash",
					args{"command": "rm -rf target/"})
				assert.Equal(t, true, got["needs_confirmation"])
				assert.DirExists(t, b.path("target"))
				b.gives(`{"stdout":"","stderr":"","exit_code":0}`, "bash",
					args{"command": "rm -rf target/", "confirmed": true})
				assert.NoDirExists(t, b.path("target"))
				b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "rm -rf other/", "confirmed": true})
				assert.DirExists(t, b.path("other"), "a command that was not refused before cannot be confirmed")
			}},
		{"bash example 7; code BLOCKED", func(t *testing.T) {
			b := newBench(t)
			for range 2 {
				got := b.fails("BLOCKED", "Command blocked: recursive delete on root", "bash",
					args{"command": "rm -rf /", "confirmed": true})
				assert.NotContains(t, got, "needs_confirmation")
			}
		}},
		{"bash example 8", func(t *testing.T) {
			newBench(t).gives(`{"stdout":"","stderr":"error[E0308]: mismatched types\n","exit_code":101}`, "bash",
				args{"command": "echo 'error[E0308]: mismatched types' >&2; exit 101"})
		}},
		{"bash parameter timeout_seconds; bash default timeout_seconds; code TIMEOUT", func(t *testing.T) {
			b := newBench(t)
			var about map[string]any
			testproc.LongEnough(time.Second, func(limit time.Duration) bool {
				started, seconds := time.Now(), int(limit.Seconds())
				got := b.fails("TIMEOUT", fmt.Sprintf("Command timed out after %d seconds", seconds), "bash",
					args{"command": "echo before; echo oops >&2; " + string(testproc.Sleep(t)) + "; echo after",
						"timeout_seconds": seconds})
				assert.Less(t, time.Since(started), limit+patience)
				about = got["context"].(map[string]any)
				return about["stdout"] == "before\n" && about["stderr"] == "oops\n"
			})
			assert.Equal(t, "before\n", about["stdout"])
			assert.Equal(t, "oops\n", about["stderr"])
			b.fails("INVALID_ARGUMENT", "", "bash", args{"command": "true", "timeout_seconds": 0})
		}},
	}
}

func TestBashIsConfined(t *testing.T) {
	if full := sandbox.Detect(t.Context()).Full; !full.Works {
		testneed.Missing(t, "sandbox level full does not work here: "+full.Reason)
	}
	b := newBench(t)
	outside := filepath.Join(testneed.VisibleDir(t), "file")
	got := b.ok("bash", args{"command": "echo x > " + outside + "; echo $?; echo x > inside && echo wrote"})
	assert.Contains(t, got["stdout"], "1\nwrote\n")
	assert.NoFileExists(t, outside)
	_, result := b.call("bash", args{"command": "true"})
	assert.Equal(t, "full", result.Metadata["sandbox"])
}

func TestBashAsksWhereItCan(t *testing.T) {
	b := newBench(t, "x", "", "y", "")
	b.asking = true
	command := args{"command": "rm x", "description": "Remove x"}
	_, err := b.try("bash", command)
	var question *tool.InputRequired
	require.True(t, errors.As(err, &question))
	assert.Contains(t, question.Form.Message, "$ rm x")
	assert.Contains(t, question.Form.Message, "deletes files")
	assert.FileExists(t, b.path("x"))

	b.host.Answers = map[string]sdk.Answer{question.Key: {Action: "decline"}}
	b.fails("BLOCKED", "Command blocked: the user did not agree to it", "bash", command)
	b.asking = false
	b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "rm x", "confirmed": true})
	assert.FileExists(t, b.path("x"), "what the user has declined the caller cannot confirm")

	b.asking = true
	b.host.Answers[question.Key] = sdk.Answer{Action: "accept"}
	b.ok("bash", command)
	assert.NoFileExists(t, b.path("x"))
	b.ok("bash", args{"command": "rm y", "run_in_background": true})
	require.Eventually(t, func() bool { _, err := os.Stat(b.path("y")); return err != nil }, patience,
		5*time.Millisecond)
}

// A confirmation is only for the command and directory that were refused.
func TestConfirmationIsForOneCommand(t *testing.T) {
	b := newBench(t, "a", "", "d/a", "")
	b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "rm a"})
	b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "rm a ", "confirmed": true})
	b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "rm a", "confirmed": true, "working_directory": "d"})
	assert.FileExists(t, b.path("d/a"))
	b.ok("bash", args{"command": "rm a", "confirmed": true})
}

func TestScriptsAreLookedInto(t *testing.T) {
	b := newBench(t, "clean.sh", "#!/bin/sh\nrm -rf build\n", "d/all.sh", "sh ../clean.sh\n", "build/x", "", "fine.sh",
		"#!/bin/sh\necho fine\n")
	for _, command := range []string{"sh clean.sh", "bash ./clean.sh", "source clean.sh", "cd d && sh all.sh"} {
		b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": command})
	}
	b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": "sh all.sh", "working_directory": "d"})
	b.ok("bash", args{"command": "sh fine.sh"})
	assert.DirExists(t, b.path("build"))
}

func TestBashProgress(t *testing.T) {
	b := newBench(t)
	b.asking = true
	b.ok("bash", args{"command": "echo one; echo two"})
	messages := []string{}
	for _, p := range b.host.ProgressReports() {
		messages = append(messages, p.Message)
	}
	assert.Equal(t, []string{"one", "two"}, messages)
}

// A report for each line would block the command.
func TestBashProgressOfManyLines(t *testing.T) {
	b := newBench(t)
	b.asking = true
	b.ok("bash", args{"command": "seq 1 20000"})
	reports := b.host.ProgressReports()
	require.GreaterOrEqual(t, len(reports), 20)
	assert.Less(t, len(reports), 2000)
	for i, p := range reports {
		assert.Equal(t, strconv.Itoa(int(p.Done)), p.Message)
		assert.True(t, i >= 20 || int(p.Done) == i+1)
	}
}

func TestBashLongOutput(t *testing.T) {
	b := newBenchOf(t, clemini.Deps{OutputCap: 1000})
	object, result := b.call("bash", args{"command": "seq 1 100000"})
	stdout := object["stdout"].(string)
	assert.True(t, strings.HasPrefix(stdout, "1\n2\n"))
	assert.Contains(t, stdout, "\n100000\n[", "the end of what was printed")
	assert.Regexp(t, `bytes are shown; the whole output is in .+\]\n$`, stdout, "the last line says where the rest is")
	assert.Contains(t, stdout, "left out; the whole output is in ")
	assert.True(t, result.Truncated)
	require.Len(t, result.Artifacts, 1)
	assert.Less(t, len(strings.ReplaceAll(stdout, result.Artifacts[0].Path, "")), 1300)
	whole, err := os.ReadFile(result.Artifacts[0].Path)
	require.NoError(t, err)
	assert.Equal(t, 588895, len(whole))
}

func TestBashCommandLineForPolicies(t *testing.T) {
	b := newBench(t)
	line, err := b.tools["bash"].(tool.Commander).CommandLine(t.Context(),
		&tool.Call{Params: tool.MustMarshal(args{"command": "git push"})})
	require.NoError(t, err)
	assert.Equal(t, []string{"bash", "-c", "git push"}, line)
	plan, err := b.tools["bash"].(tool.Planner).Plan(t.Context(),
		&tool.Call{Params: tool.MustMarshal(args{"command": "git push"})})
	require.NoError(t, err)
	assert.Equal(t, "$ git push\n", plan.Preview)
}
