package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Files that come with a clone, or were left by a command in it, are not trusted.

// Replacing the .git file of a linked worktree chooses what git runs there for the user.
func TestRepositoryOfALinkedWorktree(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const evil = `rm -f .git; mkdir .git && printf '[core]\n\tfsmonitor = touch owned\n' > .git/config; mv .git away; true`
	x := attack{group: "repository", name: "replace the .git of a linked worktree", tool: "run_in_terminal",
		params: command(t, evil)}
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		a := newArenaFor(t, s, map[string]string{".git": "gitdir: /elsewhere\n", "agent.hcl": s.block()})
		a.whole[".git"] = []string{"gitdir: /elsewhere\n"}
		a.arm()
		if s.level != sandbox.Off {
			onCommandLine(t, a, nil, "cliagent", x)
			continue
		}
		r := a.cli(nil, "cliagent", x.tool, x.params)
		control(t, x.group, x.name, checkWhole, a.inspect(r.said...))
	}
}

// An unapproved agent.hcl reads nothing of the user's environment: clients and models would learn it
// from a tool's name, or by trying which file is protected.
func TestRepositoryTellsOfTheEnvironment(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const piece = `"r_${lower(substr(%s, 8, 20))}"`
	named := func(value string) string {
		return "toolset \"x\" {\n  tools = [\"read_file\"]\n  rename = { read_file = " + fmt.Sprintf(piece, value) +
			" }\n}\n"
	}
	for name, hcl := range map[string]string{
		"a tool's name": named(`env("PLANTED")`),
		"a variable": "variable \"v\" { default = \"" + strings.Repeat("-", 40) +
			"\" }\nplugin \"p\" { source = \"./p\" }\n" + named("var.v"),
		"a protected file": "workspace { protect = [" + fmt.Sprintf(piece, `env("PLANTED")`) + "] }\n",
		"what makes sense if set": named(`env("PLANTED")`) +
			"limits { output = env(\"PLANTED\") == \"\" ? \"x\" : \"1KiB\" }\n",
	} {
		for _, trusted := range []string{"0", "1"} {
			a := newArena(t, map[string]string{"agent.hcl": hcl})
			a.arm()
			guess := "r_" + strings.ToLower(a.secret[8:28])
			env := []string{"TOOLHOST_TRUST=" + trusted, "TOOLHOST_VAR_v=" + a.secret}
			list, _ := a.program(env, "list", "--toolset", "x").CombinedOutput()
			tool, params := "write_file", `{"path":"`+guess+`","content":"x"}`
			if trusted == "0" { // no writing tools are offered
				tool, params = "read_file", `{"path":"agent.hcl"}`
			}
			call := a.cli(env, "", tool, params)
			found := append(call.faults, a.inspect(append(call.said, string(list))...)...)
			if strings.Contains(string(list), guess) || call.failed {
				found = append(found, violation{checkSecret, name})
			}
			if trusted == "1" {
				control(t, "repository", "environment by "+name, checkSecret, found)
				continue
			}
			tally.note(tally.cases, "repository", "environment by "+name)
			assert.Empty(t, found, name)
		}
	}
}

// A pipe instead of one of toolhost's files blocks neither a call nor the signal that ends it.
func TestRepositoryOfPipes(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, name := range []string{
		"runs/cli/events.jsonl", "runs/cli/events.1.jsonl", "runs/cli/steps", "runs/cli/lock",
		"runs/cli/diffs/step_0001.patch",
		"runs/cli/logs/tool_step_0001_stdout.txt", "undo/lock", "undo/pruned", "undo/journal/s-cli.jsonl",
		"memories.json", "sessions/cli.json", "tasks/abc/task.json", ".gitignore", "Taskfile.yml",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"big.txt": strings.Repeat("long line\n", 20000)})
			pipe := filepath.Join(a.ws, ".agent", filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(pipe), 0o755))
			require.NoError(t, syscall.Mkfifo(pipe, 0o666))
			a.arm()
			for _, x := range []attack{
				{tool: "head", params: `{"args":"-c 200000 big.txt"}`},
				{tool: "edit_file", params: `{"path":"ok.txt","old_str":"fine","new_str":"better"}`},
				{tool: "todoread", params: `{}`},
				{tool: "list_commands", params: `{}`},
			} {
				x.group, x.name = "repository", "pipe "+name+" "+x.tool
				onCommandLine(t, a, nil, "", x)
			}
		})
	}
	a := newArena(t, nil)
	a.arm()
	require.NoError(t, syscall.Mkfifo(filepath.Join(a.ws, "events.jsonl"), 0o666))
	naive := exec.Command("sh", "-c", "echo event >> events.jsonl # "+a.mark)
	naive.Dir = a.ws
	require.NoError(t, naive.Start())
	control(t, "repository", "a pipe and a naive writer", checkProcess, a.left(a.named))
	require.NoError(t, naive.Process.Kill())
	_ = naive.Wait()
}

// Old runs are removed at a call's end. If their directory is a link, they are the user's own files.
func TestRepositoryLendsItsFilesAsOldRuns(t *testing.T) {
	t.Parallel()
	arena := func() *arena {
		a := newArena(t, map[string]string{"src/main.go": "work\n"})
		old := time.Now().Add(-1000 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(a.ws, "src", "main.go"), old, old))
		a.whole["src/main.go"] = []string{"work\n"}
		a.link("..", ".agent/runs")
		a.arm()
		return a
	}
	a := arena()
	x := attack{group: "repository", tool: "edit_file", params: `{"path":"ok.txt","old_str":"fine","new_str":"better"}`,
		want: []string{""}}
	x.name = "the workspace as old runs"
	onCommandLine(t, a, nil, "", x)
	assert.NoDirExists(t, filepath.Join(a.ws, "cli"), "nor is a record kept there")

	naive := arena() // by unchanged handles: links within the workspace are followed
	root, err := os.OpenRoot(naive.ws)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.RemoveAll(".agent/runs/src"))
	control(t, "repository", x.name, checkWhole, naive.inspect())
}
