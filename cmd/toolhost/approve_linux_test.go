package main

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waiting makes a call that needs approval through a client that cannot ask, and returns the waiting
// call's ID.
func waiting(t *testing.T, s *rpcServer, params string) string {
	t.Helper()
	r := s.call("edit_file", params)
	require.True(t, r.IsError)
	found := regexp.MustCompile("`toolhost approve ([a-z0-9]+)`").FindStringSubmatch(r.text())
	require.NotNil(t, found, r.text())
	return found[1]
}

func homeOf(s *rpcServer) []string {
	return []string{"HOME=" + envOf(s, "HOME"), "XDG_CONFIG_HOME=" + envOf(s, "XDG_CONFIG_HOME"),
		"XDG_CACHE_HOME=" + envOf(s, "XDG_CACHE_HOME")}
}

func TestApprovingInATerminal(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst, "a.txt": "old", "b.txt": "old"})
	s := serve(t, dir)
	edit := `{"path":"a.txt","old_str":"old","new_str":"new"}`
	id := waiting(t, s, edit)
	assert.Equal(t, id, waiting(t, s, edit), "the same call waits once")
	assert.Equal(t, "old", content(t, dir, "a.txt"))

	screen, code := onTerminal(t, dir, "", homeOf(s), "approve")
	assert.Zero(t, code)
	assert.Contains(t, screen, id)
	screen, code = onTerminal(t, dir, "n\nuse sed\n", homeOf(s), "approve", id)
	assert.Equal(t, 3, code, screen)
	r := s.call("edit_file", edit)
	assert.True(t, r.IsError, "a no is no approval")
	assert.Contains(t, r.text(), "did not approve the call of edit_file and says: use sed")

	id = waiting(t, s, edit)
	screen, code = onTerminal(t, dir, "y\n", homeOf(s), "approve", id)
	assert.Zero(t, code, screen)
	for _, part := range []string{"Tool: edit_file", "path: a.txt", "-old", "+new"} {
		assert.Contains(t, screen, part)
	}
	assert.True(t, s.call("edit_file", `{"path":"b.txt","old_str":"old","new_str":"new"}`).IsError,
		"it is for that call alone")
	r = s.call("edit_file", edit)
	assert.False(t, r.IsError, r.text())
	assert.Equal(t, "new", content(t, dir, "a.txt"))
	plant(t, dir, texts{"a.txt": "old"})
	assert.True(t, s.call("edit_file", edit).IsError, "and once")
}

// A client restarted for every prompt has another session each time: the approval is for the call in
// this workspace and toolset.
func TestAnApprovalOutlivesItsConnection(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst + "toolset \"edits\" {\n  tools = [\"edit_file\"]\n}\n", "a.txt": "old"})
	s := serve(t, dir)
	edit := `{"path":"a.txt","old_str":"old","new_str":"new"}`
	id := waiting(t, s, edit)
	s.end()
	screen, code := onTerminal(t, dir, "y\n", homeOf(s), "approve", id)
	assert.Zero(t, code, screen)

	edits := cloned(s)
	edits.Args = append(edits.Args, "--toolset", "edits")
	elsewhere := serveCommand(t, edits)
	elsewhere.hello()
	assert.True(t, elsewhere.call("edit_file", edit).IsError, "in another toolset it is another call")
	next := serveCommand(t, cloned(s))
	next.hello()
	r := next.call("edit_file", edit)
	assert.False(t, r.IsError, r.text())
	plant(t, dir, texts{"a.txt": "old"})
	assert.True(t, next.call("edit_file", edit).IsError, "once")
	_, stderr, code := runIn(t, dir, "approve", id, "--deny")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "no call waits for approval")
}

func TestDenyingWithAReason(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst, "a.txt": "old"})
	s := serve(t, dir)
	edit := `{"path":"a.txt","old_str":"old","new_str":"new"}`
	deny := program(t, dir, "approve", waiting(t, s, edit), "--deny", "--reason", "not on a Friday")
	deny.Env = append(deny.Env, homeOf(s)...)
	out, err := deny.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "Denied.")
	r := s.call("edit_file", edit)
	assert.True(t, r.IsError)
	assert.Contains(t, r.text(), "not on a Friday")
	waiting(t, s, edit)

	_, stderr, code := runIn(t, dir, "approve", "abcdefgh", "--reason", "x")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--reason is for --deny")
	_, stderr, code = runIn(t, dir, "approve", "--deny")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "needs the ID")
}

func TestApprovingAlwaysInATerminal(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst, "a.txt": "old"})
	s := serve(t, dir)
	edit := `{"path":"a.txt","old_str":"old","new_str":"new"}`
	_, code := onTerminal(t, dir, "always\n", homeOf(s), "approve", waiting(t, s, edit))
	assert.Zero(t, code)
	for range 2 {
		plant(t, dir, texts{"a.txt": "old"})
		r := s.call("edit_file", edit)
		assert.False(t, r.IsError, r.text())
	}
}

// "Always" is for exactly this call in this workspace and toolset, even if the client's form says so.
func TestAlwaysIsForThisCallHere(t *testing.T) {
	agent := askFirst + "toolset \"edits\" {\n  tools = [\"edit_file\"]\n}\n"
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		plant(t, d, texts{"agent.hcl": agent, "a.txt": "old", "b.txt": "old"})
	}
	s := serve(t, dir)
	edit := `{"path":"a.txt","old_str":"old","new_str":"new"}`
	_, code := onTerminal(t, dir, "always\n", homeOf(s), "approve", waiting(t, s, edit))
	require.Zero(t, code)
	assert.False(t, s.call("edit_file", edit).IsError, "control: it runs")
	assert.True(t, s.call("edit_file", `{"path":"b.txt","old_str":"old","new_str":"new"}`).IsError, "another call")
	plant(t, dir, texts{"a.txt": "old"})

	edits := cloned(s)
	edits.Args = append(edits.Args, "--toolset", "edits")
	elsewhere := serveCommand(t, edits)
	elsewhere.hello()
	assert.True(t, elsewhere.call("edit_file", edit).IsError, "another toolset")
	there := cloned(s)
	there.Dir = other
	next := serveCommand(t, there)
	next.hello()
	assert.True(t, next.call("edit_file", edit).IsError, "another workspace")
	assert.Equal(t, "old", content(t, dir, "a.txt"))
	assert.Equal(t, "old", content(t, other, "a.txt"))
}

func TestApprovingNeedsATerminal(t *testing.T) {
	_, stderr, code := runIn(t, t.TempDir(), "approve", "abcdefgh")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "needs a terminal")
}

func cloned(s *rpcServer) *exec.Cmd {
	cmd := exec.Command(s.cmd.Path, s.cmd.Args[1:]...)
	cmd.Dir, cmd.Env = s.cmd.Dir, s.cmd.Env
	return cmd
}
