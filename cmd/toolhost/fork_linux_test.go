package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

// forkable is a workspace of which forks can be made, and toolhost in it.
func forkable(t *testing.T, files texts) (dir string, toolhost func(args ...string) *exec.Cmd) {
	t.Helper()
	needsViews(t)
	dir, env := t.TempDir(), environment(t.TempDir())
	plant(t, dir, files)
	toolhost = func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(binaries, "toolhost"), args...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	out, err := toolhost("fork", "try").CombinedOutput()
	if err == nil {
		out, err = toolhost("--workspace", dir, "list", "--fork", "try").CombinedOutput()
	}
	if err != nil && strings.Contains(string(out), "there are no forks of the workspace here") {
		testneed.Missing(t, string(out))
	}
	require.NoError(t, err, string(out))
	said(t, toolhost("fork", "drop", "try"))
	return dir, toolhost
}

// said is what a command prints that succeeds.
func said(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd.Args, out)
	return string(out)
}

const forkTools = `tool "replace" {
  description = "Replaces a line."
  param "line" { type = string }
  param "with" { type = string }
  command { argv = ["sed", "-i", "s/^${param.line}$/${param.with}/", "a.txt"] }
}
`

// Three clients work in three forks at once and see nothing of each other. Merged
// one after the other, the workspace holds what git merge-file makes of them.
func TestThreeForks(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	git := testneed.Program(t, "git")
	var base strings.Builder
	for i := range 40 {
		base.WriteString("line " + string(rune('A'+i%26)) + strings.Repeat("x", i/26) + "\n")
	}
	dir, toolhost := forkable(t, texts{"agent.hcl": forkTools, "a.txt": base.String()})
	names := []string{"one", "two", "three"}
	changes := map[string][][2]string{
		"one":   {{"line C", "first"}, {"line H", "changed by one"}},
		"two":   {{"line T", "second"}},
		"three": {{"line C", "third"}, {"line Ix", "changed by three"}},
	}
	versions := make(map[string]string)
	sessions := make(map[string]*mcp.ClientSession)
	for _, name := range names {
		said(t, toolhost("fork", name))
		client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
		session, err := client.Connect(t.Context(), pipes(toolhost("serve", "--fork", name)), nil)
		require.NoError(t, err)
		sessions[name] = session
		text := base.String()
		for _, c := range changes[name] {
			text = strings.Replace(text, c[0]+"\n", c[1]+"\n", 1)
		}
		versions[name] = text
	}
	call := func(name, tool string, args map[string]any) string {
		r, err := sessions[name].CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if !assert.NoError(t, err) || !assert.False(t, r.IsError, "%v", r.Content) {
			return ""
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	var working sync.WaitGroup
	for _, name := range names {
		working.Go(func() {
			list := changes[name]
			call(name, "replace", map[string]any{"line": list[0][0], "with": list[0][1]})
			for _, c := range list[1:] {
				call(name, "edit_file", map[string]any{"path": "a.txt", "old_str": c[0] + "\n", "new_str": c[1] + "\n"})
			}
			call(name, "write_file", map[string]any{"path": name + ".txt", "content": name})
		})
	}
	working.Wait()
	for _, name := range names {
		seen := call(name, "read_file", map[string]any{"path": "a.txt"})
		for _, other := range names {
			for _, c := range changes[other] {
				assert.Equal(t, other == name, strings.Contains(seen, c[1]), "%s in %s", c[1], name)
			}
		}
	}
	assert.Equal(t, base.String(), content(t, dir, "a.txt"), "before any merge")
	out, err := toolhost("fork", "merge", "one").CombinedOutput()
	assert.Error(t, err, "a session works in it")
	assert.Contains(t, string(out), "in use")
	// What it holds is seen all the same.
	assert.Contains(t, said(t, toolhost("diff", "--fork", "one")), "new file: one.txt")
	assert.Contains(t, said(t, toolhost("approve", "--fork", "one")), "No call waits")

	want := base.String()
	for _, name := range names {
		require.NoError(t, sessions[name].Close())
		merged, code := mergedByGit(t, git, want, base.String(), versions[name], name)
		want = merged
		out, err := toolhost("fork", "merge", name).CombinedOutput()
		assert.Equal(t, code > 0, err != nil, string(out))
		assert.Equal(t, name == "three", code > 0, "a conflict in the third")
		assert.Equal(t, want, content(t, dir, "a.txt"), "%s: %s", name, out)
		assert.Equal(t, name, content(t, dir, name+".txt"))
	}
	assert.Contains(t, want, "<<<<<<< workspace\nfirst\n=======\nthird\n>>>>>>> fork three\n")
	assert.Contains(t, said(t, toolhost("fork", "merge", "three")), "nothing to merge", "a conflict is handed over once")

	said(t, toolhost("undo"))
	assert.NotContains(t, content(t, dir, "a.txt"), "third", "the third merge was one call")
	assert.Contains(t, content(t, dir, "a.txt"), "second")
}

// mergedByGit is what git merge-file makes of three versions.
func mergedByGit(t *testing.T, git, ours, base, theirs, name string) (text string, conflicts int) {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, texts{"ours": ours, "base": base, "theirs": theirs})
	cmd := exec.Command(git, "merge-file", "-p", "-q", "-L", "workspace", "-L", "base", "-L", "fork "+name, "ours", "base",
		"theirs")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		require.Positive(t, cmd.ProcessState.ExitCode(), "%v", err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A session in a fork ends with the program that started it, also when that is
// killed: the fork is free then.
func TestAForkEndsWithItsParent(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir, toolhost := forkable(t, texts{"agent.hcl": forkTools})
	said(t, toolhost("fork", "one"))
	cmd := toolhost("serve", "--fork", "one")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	require.NoError(t, cmd.Start())
	inUse := func() bool {
		var list []struct {
			InUse bool `json:"in_use"`
		}
		out, err := toolhost("fork", "list", "--json").Output()
		return err == nil && json.Unmarshal(out, &list) == nil && len(list) == 1 && list[0].InUse
	}
	require.Eventually(t, inUse, deadline, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return !inUse() }, deadline, 20*time.Millisecond)
	assert.FileExists(t, filepath.Join(dir, "agent.hcl"))
	said(t, toolhost("fork", "drop", "one"))
}

// What a fork has changed it keeps as it is; of the rest it shows the workspace.
func TestAForkShowsTheWorkspace(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir, toolhost := forkable(t, texts{"agent.hcl": forkTools, "a.txt": "a\n", "b.txt": "b\n"})
	said(t, toolhost("fork", "one"))
	said(t, toolhost("call", "--fork", "one", "replace", "line=a", "with=fork"))
	plant(t, dir, texts{"a.txt": "others\n", "b.txt": "others\n", "c.txt": "others\n"})
	read := func(name string) string {
		return said(t, toolhost("call", "--fork", "one", "read_file", "path="+name))
	}
	assert.Contains(t, read("a.txt"), "fork")
	assert.Contains(t, read("b.txt"), "others")
	assert.Contains(t, read("c.txt"), "others")
	diff := said(t, toolhost("fork", "diff", "one"))
	assert.Contains(t, diff, "-a\n+fork\n")
	assert.NotContains(t, diff, "others")
}

// That the sandbox works is known from the workspace: no call in a fork tries it, or
// has the next call in the workspace do so.
func TestAForkTriesNoSandbox(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	_, toolhost := forkable(t, texts{"agent.hcl": forkTools, "a.txt": "a\n"})
	said(t, toolhost("fork", "one"))
	said(t, toolhost("call", "head", "args=-n 1 a.txt"))
	home := strings.TrimPrefix(toolhost().Env[0], "HOME=")
	known := filepath.Join(home, "cache", "toolhost", "sandbox-full")
	before, err := os.ReadFile(known)
	if os.IsNotExist(err) {
		testneed.Skip(t, "in another sandbox nothing is kept of what works")
	}
	require.NoError(t, err)
	assert.Contains(t, said(t, toolhost("call", "--fork", "one", "head", "args=-n 1 a.txt")), "a")
	after, err := os.ReadFile(known)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

// placeOf is where a fork lies.
func placeOf(t *testing.T, dir, name string) string {
	t.Helper()
	forks, err := filepath.Glob(filepath.Join(stateHome(), "toolhost", "*", "forks", name, "fork.json"))
	require.NoError(t, err)
	for _, file := range forks {
		var info struct {
			Root string `json:"workspace"`
		}
		if json.Unmarshal([]byte(readFile(t, file)), &info) == nil && info.Root == dir {
			return filepath.Dir(file)
		}
	}
	require.Fail(t, "there is no fork "+name)
	return ""
}

// A background task holds the fork after the call that has started it: ps and kill
// reach it there, and nobody else works in the fork or merges it meanwhile.
func TestATaskHoldsItsFork(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir, toolhost := forkable(t, texts{"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n", "a.txt": "a\n"})
	said(t, toolhost("fork", "one"))
	said(t, toolhost("call", "--fork", "one", "--toolset", "clemini", "bash", "command=echo fork >a.txt; sleep 1000",
		"run_in_background=true"))
	var tasks []struct {
		ID string `json:"id"`
	}
	ps := func(args ...string) int {
		require.NoError(t, json.Unmarshal([]byte(said(t, toolhost(append([]string{"ps", "--json"}, args...)...))), &tasks))
		return len(tasks)
	}
	assert.Zero(t, ps(), "in the workspace")
	require.Equal(t, 1, ps("--fork", "one"))
	for _, args := range [][]string{{"fork", "merge", "one"}, {"fork", "drop", "one"},
		{"call", "--fork", "one", "read_file", "path=a.txt"}} {
		out, err := toolhost(args...).CombinedOutput()
		assert.Error(t, err, "%v", args)
		assert.Contains(t, string(out), "in use", "%v", args)
	}
	changed := filepath.Join(placeOf(t, dir, "one"), "upper", "a.txt")
	require.Eventually(t, func() bool { return readFile(t, changed) == "fork\n" }, deadline, 20*time.Millisecond)
	said(t, toolhost("kill", "--fork", "one", tasks[0].ID))
	require.Eventually(t, func() bool { return ps("--fork", "one") == 0 }, deadline, 20*time.Millisecond)
	var out []byte
	require.Eventually(t, func() bool {
		var err error
		out, err = toolhost("fork", "merge", "one").CombinedOutput()
		return err == nil
	}, deadline, 20*time.Millisecond, string(out))
	assert.Equal(t, "fork\n", content(t, dir, "a.txt"))
}

// Whoever says by the environment that this is the fork is not believed: the
// workspace is no overlay.
func TestAForkIsNoMatterOfTheEnvironment(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir, toolhost := forkable(t, texts{"agent.hcl": forkTools, "a.txt": "a\n"})
	said(t, toolhost("fork", "one"))
	place := placeOf(t, dir, "one")
	root, err := os.Open(dir)
	require.NoError(t, err)
	defer root.Close()
	lock, err := os.Open(filepath.Join(place, "lock"))
	require.NoError(t, err)
	defer lock.Close()
	cmd := toolhost("call", "--fork", "one", "replace", "line=a", "with=fork")
	cmd.Env = append(cmd.Env, "TOOLHOST_IN_FORK="+strings.Join([]string{place, dir, "3", "4", ""}, "\x1f"))
	cmd.ExtraFiles = []*os.File{root, lock}
	said(t, cmd)
	assert.Equal(t, "a\n", content(t, dir, "a.txt"))
	assert.Contains(t, said(t, toolhost("fork", "diff", "one")), "+fork")
}

// Where programs could get behind the fork there is none, also when it was made
// before.
func TestAForkNeedsTheSandbox(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir, toolhost := forkable(t, texts{"agent.hcl": forkTools, "a.txt": "a\n"})
	said(t, toolhost("fork", "one"))
	for _, level := range []string{"off", "landlock"} {
		plant(t, dir, texts{"agent.hcl": forkTools + "sandbox {\n  level = \"" + level + "\"\n}\n"})
		for _, args := range [][]string{{"fork", "two"}, {"call", "--fork", "one", "replace", "line=a", "with=b"},
			{"fork", "diff", "one"}, {"fork", "merge", "one"}} {
			out, err := toolhost(args...).CombinedOutput()
			assert.Error(t, err, "%v", args)
			assert.Contains(t, string(out), "the sandbox level is "+level, "%v", args)
		}
	}
}

// The program in a fork has no capability that outlives the mount.
func TestAForkGivesNoCapabilities(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	_, toolhost := forkable(t, texts{"agent.hcl": forkTools})
	said(t, toolhost("fork", "one"))
	cmd := toolhost("serve", "--fork", "one")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = stdin.Close(); _ = cmd.Wait() }()
	var status string
	require.Eventually(t, func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/status")
		for _, file := range all {
			args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // first: it was another program before
			data, _ := os.ReadFile(file)
			if strings.Contains(string(data), fmt.Sprintf("\nPPid:\t%d\n", cmd.Process.Pid)) &&
				strings.HasSuffix(string(args), "toolhost\x00serve\x00--fork\x00one\x00") {
				status = string(data)
			}
		}
		return status != ""
	}, deadline, 20*time.Millisecond)
	assert.Contains(t, status, "\nCapAmb:\t0000000000000000\n")
	if os.Geteuid() != 0 {
		assert.Contains(t, status, "\nCapEff:\t0000000000000000\n")
	}
}
