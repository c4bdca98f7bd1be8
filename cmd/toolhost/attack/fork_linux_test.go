package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

// A session in a fork reaches neither another fork, nor what is kept of its own,
// nor the workspace below it, before a person merges it.

const forkedLines = "policy {\n  dangerous = \"allow\"\n}\n" + reviewedLine

func TestForksAreApart(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, forkedLines, map[string]string{"kept.txt": "kept\n", ".git/config": "[core]\n",
		".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/kept": "", ".git/objects/kept": ""})
	a.whole[".git/config"] = []string{"[core]\n"}
	for _, name := range []string{"a", "b"} {
		out, err := a.run(nil, "fork", name)
		require.NoError(t, err, out)
	}
	out, err := a.run(nil, "call", "--fork", "b", "line", a.fill("line=echo of-b-{MARK} >mine.txt"))
	if err != nil && strings.Contains(out, "there are no forks of the workspace here") {
		testneed.Missing(t, out)
	}
	require.NoError(t, err, out)
	a.arm()
	before := a.tree()
	forks, err := filepath.Glob(filepath.Join(a.home, ".local", "state", "toolhost", "*", "forks"))
	require.NoError(t, err)
	require.Len(t, forks, 1)
	bBefore := strings.Join(listing(filepath.Join(forks[0], "b", "upper")), "\n")

	const state = "{HOME}/.local/state/toolhost/*"
	var lines strings.Builder
	for _, s := range []script{
		{"read the other fork", "cat " + state + "/forks/b/upper/mine.txt"},
		{"read the other fork by a search", "grep -r of-b- {HOME} {WS}/.. /proc/*/root{HOME} --include=mine.txt"},
		{"read the other fork by a process's root", "cat /proc/*/root" + state + "/forks/b/upper/mine.txt"},
		{"read the other fork by open directories", "cat /proc/*/fd/*/mine.txt /proc/*/cwd/mine.txt"},
		{"write the other fork", "for f in " + state + "/forks/b/upper; do echo owned >$f/owned; done"},
		{"write what is kept of the own fork", "for f in " + state + "/forks/a; do echo owned >$f/base.jsonl; done"},
		{"write by the mounts", `for f in $(sed 's/.*upperdir=//;s/,.*//' /proc/self/mountinfo); do echo owned >$f/owned; done`},
		{"write the workspace by the mounts", `for f in $(sed 's/.*lowerdir=//;s/,.*//' /proc/self/mountinfo); do echo owned >$f/owned; done`},
		{"write the workspace below", "umount {WS}; umount -l .; echo owned >{WS}/below.txt"},
		{"write the workspace by open directories", "for f in /proc/*/fd/2??; do echo owned >$f/owned; done"},
		{"write the workspace by a process's root", "for f in /proc/[0-9]*/root{WS}; do echo owned >$f/rooted.txt; done"},
		{"write what decides", "echo owned >agent.hcl; rm agent.hcl; mv agent.hcl x; echo owned >.git/config"},
		{"in namespaces of its own", "unshare -Urm sh -c 'umount {WS}; echo owned >{WS}/unshared.txt; cat " + state +
			"/forks/b/upper/mine.txt'"},
		{"in the fork's namespace", "nsenter -t 1 -m -U sh -c 'echo owned >{WS}/entered.txt'"},
	} {
		tally.note(tally.cases, "fork", s.name)
		lines.WriteString("(\n" + s.text + "\n) 2>&1\n")
	}
	lines.WriteString("echo all >tried.txt\n")
	text, err := a.run(nil, "call", "--fork", "a", "line", "line="+a.fill(lines.String()))
	require.NoError(t, err, text)
	assert.NotContains(t, text, a.fill("of-b-{MARK}"), "what fork b holds")
	assert.Equal(t, before, a.tree(), "the workspace")
	assert.Equal(t, bBefore, strings.Join(listing(filepath.Join(forks[0], "b", "upper")), "\n"), "fork b")
	assert.Empty(t, a.inspect(text))

	for _, path := range []string{forks[0] + "/b/upper/mine.txt", forks[0] + "/a/base.jsonl"} {
		tally.note(tally.cases, "fork", "file tools in the state")
		for tool, params := range map[string]map[string]string{"read_file": {"path": path},
			"write_file": {"path": path, "content": "owned"}} {
			data, err := json.Marshal(params)
			require.NoError(t, err)
			out, err := a.run(nil, "call", "--fork", "a", "--yes", tool, "--params", string(data))
			assert.Error(t, err, out)
			assert.NotContains(t, out, a.fill("of-b-{MARK}"))
		}
	}
	index, err := os.ReadFile(filepath.Join(forks[0], "a", "base.jsonl"))
	require.NoError(t, err)
	assert.NotContains(t, string(index), "owned\n")

	out, err = a.run(nil, "fork", "diff", "a")
	require.NoError(t, err, out)
	assert.Contains(t, out, "new file: tried.txt", "all were tried")
	for _, deciding := range []string{"agent.hcl", ".git/config"} {
		assert.NotContains(t, out, deciding)
	}
	tally.note(tally.controls, "fork", "what the fork holds comes by a merge")
	out, err = a.run(nil, "fork", "merge", "a")
	require.NoError(t, err, out)
	assert.FileExists(t, filepath.Join(a.ws, "tried.txt"))
	assert.NoFileExists(t, filepath.Join(a.ws, "mine.txt"))
	tally.note(tally.controls, "fork", "the same read where nothing stops it")
	data, err := os.ReadFile(filepath.Join(forks[0], "b", "upper", "mine.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(data), a.fill("of-b-{MARK}"))
}
