//go:build unix

package attack

import (
	"bytes"
	"database/sql"
	"encoding/binary"
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
	_ "modernc.org/sqlite"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/testneed"
)

// What comes with a clone of a repository, or was left by a command that ran in
// it, is believed nothing.

// plantSuperJournal makes a state file beside which lies a rollback journal, as
// SQLite's file format has it, which names another file as the super-journal:
// what SQLite removes when it has rolled back.
func (a *arena) plantSuperJournal(victim string) {
	a.t.Helper()
	state := filepath.Join(a.ws, ".agent", "state.db")
	require.NoError(a.t, os.MkdirAll(filepath.Dir(state), 0o755))
	db, err := sql.Open("sqlite", state)
	require.NoError(a.t, err)
	_, err = db.Exec("CREATE TABLE t (a)")
	require.NoError(a.t, err)
	require.NoError(a.t, db.Close())
	data, err := os.ReadFile(state)
	require.NoError(a.t, err)

	const page, sector, nonce = 4096, 512, 12345
	magic := []byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	checksum := uint32(nonce)
	for i := page - 200; i > 0; i -= 200 {
		checksum += uint32(data[i])
	}
	var nameSum uint32
	for _, c := range []byte(victim) {
		nameSum += uint32(c)
	}
	journal := append(bytes.Clone(magic), words(1, nonce, uint32(len(data)/page), sector, page)...)
	journal = append(journal, make([]byte, sector-len(journal))...)
	journal = append(append(append(journal, words(1)...), data[:page]...), words(checksum)...)
	journal = append(append(journal, words(1<<30/page+1)...), victim...)
	journal = append(append(journal, words(uint32(len(victim)), nameSum)...), magic...)
	require.NoError(a.t, os.WriteFile(state+"-journal", journal, 0o644))
}

func TestRepositoryNamesASuperJournal(t *testing.T) {
	t.Parallel()
	for _, call := range []attack{
		{tool: "todoread", params: `{}`},
		{tool: "todowrite", params: `{"todos_json":"[]"}`},
	} {
		a := newArena(t, nil)
		a.plantSuperJournal(filepath.Join(a.out, "dir", "inner.txt"))
		a.arm()
		call.group, call.name = "repository", "super-journal "+call.tool
		onCommandLine(t, a, nil, "", call)
		call.name, call.want = call.name+" again", []string{""}
		onCommandLine(t, a, nil, "", call)
	}
	a := newArena(t, nil)
	a.plantSuperJournal(filepath.Join(a.out, "dir", "inner.txt"))
	a.arm()
	db, err := sql.Open("sqlite", filepath.Join(a.ws, ".agent", "state.db"))
	require.NoError(t, err)
	defer db.Close()
	var tables int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables))
	assert.Equal(t, 1, tables)
	control(t, "repository", "SQLite as it is", checkCanary, a.inspect())
}

// Whoever replaces the .git file of a linked worktree chooses what git runs for
// the user there.
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

// An agent.hcl that nobody approved reads nothing of the user's environment:
// clients and models would learn it from a tool's name, or by trying out which
// file is protected.
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
			write := a.cli(env, "", "write_file", `{"path":"`+guess+`","content":"x"}`)
			found := append(write.faults, a.inspect(append(write.said, string(list))...)...)
			if strings.Contains(string(list), guess) || write.failed {
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

// A pipe where toolhost keeps its own makes nobody wait: neither a call nor
// the signal that would end it.
func TestRepositoryOfPipes(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, name := range []string{
		"runs/cli/events.jsonl", "runs/cli/events.1.jsonl", "runs/cli/steps", "runs/cli/lock",
		"runs/cli/diffs/step_0001.patch",
		"runs/cli/logs/tool_step_0001_stdout.txt", "undo/lock", "undo/pruned", "undo/journal/s-cli.jsonl", "state.db",
		"state.db-wal",
		"state.db-journal", "tasks/abc/task.json", ".gitignore", "Taskfile.yml",
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

// Old runs are removed when a call ends. Where their directory is a link, they
// are the user's own files.
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

	naive := arena() // by handles, as they are: links within the workspace are followed
	root, err := os.OpenRoot(naive.ws)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.RemoveAll(".agent/runs/src"))
	control(t, "repository", x.name, checkWhole, naive.inspect())
}
