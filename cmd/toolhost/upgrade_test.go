package main

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// userOf is a user with one project and one home.
type userOf struct {
	t                       *testing.T
	home, project, toolhost string
	env                     []string
}

func newUser(t *testing.T) *userOf {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := &userOf{t: t, home: home, project: filepath.Join(home, "src", "demo"),
		toolhost: filepath.Join(home, "bin", "toolhost")}
	require.NoError(t, os.MkdirAll(u.project, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Dir(u.toolhost), 0o755))
	u.env = testproc.Environment(home)
	return u
}

// has installs toolhost of that version instead.
func (u *userOf) has(version string) {
	u.t.Helper()
	dir := buildRelease(u.t, version, "toolhost")
	require.NoError(u.t, os.Rename(filepath.Join(dir, "toolhost"), u.toolhost))
}

func (u *userOf) tries(args ...string) (string, error) {
	cmd := exec.Command(u.toolhost, args...)
	cmd.Dir, cmd.Env = u.project, u.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *userOf) does(args ...string) string {
	u.t.Helper()
	out, err := u.tries(args...)
	require.NoError(u.t, err, "%s\n%s", strings.Join(args, " "), out)
	return out
}

// works does, as the user, what leaves data everywhere.
func (u *userOf) works() {
	u.t.Helper()
	plant(u.t, u.project,
		texts{"agent.hcl": "tool \"hi\" {\n  description = \"Say hi\"\n  command {\n    argv = [\"echo\", \"hi\"]\n  }\n}\n",
			"a.txt": "one\n"})
	u.does("trust", "--yes")
	u.does("rules", "add", "no-head", "--tool", "head", "--action", "deny")
	u.does("call", "todowrite",
		`todos_json=[{"id":"task-1","content":"Buy milk","status":"in_progress","priority":"high"}]`)
	u.does("call", "edit_file", "path=a.txt", "old_str=one", "new_str=two")
	u.does("install", "cursor")
}

// kept checks that all of it is there.
func (u *userOf) kept() {
	u.t.Helper()
	assert.Contains(u.t, u.does("call", "hi"), "hi", "the approval of agent.hcl")
	assert.NotContains(u.t, u.does("list"), "not approved")
	out, err := u.tries("call", "head", "args=a.txt")
	assert.Error(u.t, err, "the remembered rule")
	assert.Contains(u.t, out, "denied by rule")
	assert.Contains(u.t, u.does("call", "todoread"), "Buy milk")
	assert.Contains(u.t, u.does("install", "cursor"), "has the server toolhost already, as it should be")
	u.does("undo")
	data, err := os.ReadFile(filepath.Join(u.project, "a.txt"))
	require.NoError(u.t, err)
	assert.Equal(u.t, "one\n", string(data), "the old content")
}

// everything returns the content of all the user's files but caches and what calls leave in the
// project.
func (u *userOf) everything() map[string][32]byte {
	u.t.Helper()
	all := make(map[string][32]byte)
	testproc.Files(u.t, u.home, func(path string, content []byte) {
		if !strings.Contains(path, "/.cache/") && !strings.Contains(path, "/.agent/") {
			all[strings.TrimPrefix(path, u.home)] = sha256.Sum256(content)
		}
	})
	return all
}

func TestAnUpgradeKeepsEverything(t *testing.T) {
	testneed.NotShort(t, "starts other versions of the programs")
	u := newUser(t)
	u.has("v0.1.0")
	u.works()
	u.has("v0.2.0")
	assert.Contains(t, u.does("version"), "toolhost v0.2.0")
	u.kept()
}

func TestADowngradeSaysWhatItCannotRead(t *testing.T) {
	testneed.NotShort(t, "starts other versions of the programs")
	u := newUser(t)
	u.has("v0.1.0")
	u.works()
	states, err := filepath.Glob(filepath.Join(u.home, ".local", "state", "toolhost", "demo-*"))
	require.NoError(t, err)
	require.Len(t, states, 1)

	t.Run("what the user decided", func(t *testing.T) {
		dir := filepath.Join(u.home, ".config", "toolhost")
		format := filepath.Join(dir, "format")
		require.NoError(t, os.WriteFile(format, []byte("2\n"), 0o600))
		before := u.everything()
		for _, args := range [][]string{{"list"}, {"call", "hi"}, {"trust"}, {"rules", "list"},
			{"rules", "add", "x", "--tool", "head", "--action", "allow"},
			{"call", "edit_file", "path=a.txt", "old_str=two", "new_str=x"},
			{"serve"}, {"trust", "--revoke"}} {
			out, err := u.tries(args...)
			assert.Error(t, err, args)
			assert.Contains(t, out, format+" says format 2, and this one reads up to 1", args)
			assert.Contains(t, out, "move "+dir+" away", args)
		}
		out, err := u.tries("doctor")
		assert.Error(t, err)
		assert.Contains(t, out, "newer toolhost")
		assert.Equal(t, before, u.everything(), "nothing was changed")
		require.NoError(t, os.Remove(format))
	})
	t.Run("the state of a workspace", func(t *testing.T) {
		format := filepath.Join(states[0], "format")
		require.NoError(t, os.WriteFile(format, []byte("7\n"), 0o600))
		before := u.everything()
		out, err := u.tries("undo")
		assert.Error(t, err)
		assert.Contains(t, out, format+" says format 7, and this one reads up to 1")
		assert.Contains(t, out, "move "+states[0]+" away")
		assert.NotContains(t, u.does("call", "todoread"), "Buy milk")
		assert.Equal(t, before, u.everything(), "nothing was changed")
		require.NoError(t, os.Remove(format))
	})
	t.Run("a lock file", func(t *testing.T) {
		lock := filepath.Join(u.project, "agent.lock.hcl")
		const newer = "format = 2\nseal \"all\" {\n  of = 7\n}\n"
		plant(t, u.project, texts{"agent.hcl": "plugin \"demo\" {\n  source = \"demo\"\n}\n", "agent.lock.hcl": newer})
		u.does("trust", "--yes")
		for _, args := range [][]string{{"plugin", "list"}, {"plugin", "lock"}} {
			out, err := u.tries(args...)
			assert.Error(t, err, args)
			assert.Contains(t, out, "Written by a newer toolhost", args)
			assert.Contains(t, out, "format 2, and this toolhost reads format 1", args)
		}
		data, err := os.ReadFile(lock)
		require.NoError(t, err)
		assert.Equal(t, newer, string(data))
		require.NoError(t, os.Remove(lock))
		plant(t, u.project,
			texts{"agent.hcl": "tool \"hi\" {\n  description = \"Say hi\"\n  command {\n    argv = [\"echo\", \"hi\"]\n  }\n}\n"})
		u.does("trust", "--yes")
	})
	u.kept() // by the toolhost that can read it
}
