//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/fleet"
	"github.com/toolhost/toolhost/internal/testneed"
)

// What results link to, tasks and background tasks, after their worker, a program, was
// ended by a signal that it cannot catch.
func TestKilledWorkerProgram(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f := &theFleet{place: newPlace(t)}
	f.write("agent.hcl", linked+strings.Split(slow, "policy")[0])
	f.write("fleet.hcl", strings.ReplaceAll(`
workspace "tools" {
  empty  = true
  config = "HOME/agent.hcl"
}
workspace "shell" {
  empty   = true
  config  = "HOME/agent.hcl"
  toolset = "clemini"
}
`, "HOME", f.home))
	f.store = filepath.Join(f.home, "hub")
	f.hubURL = f.start("hub", "--listen", "127.0.0.1:0", "--store", f.store).find(`hub is at (\S+),`)
	url := f.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key", f.key("gateway"),
		"--fleet-config", "fleet.hcl").find(`serves MCP at (\S+)`)
	start := func(name string) *process {
		w := f.start("worker", "--hub", f.hubURL, "--key", f.key("worker"), "--dir", filepath.Join(f.home, name),
			"--task-after", "50ms", "--pack-after", "10ms")
		w.find("takes sessions")
		return w
	}
	first := start("one")
	knows(t, strings.TrimSuffix(url, "/mcp"), 1)
	reader := openSession(t, url+"/tools")
	link := linkIn(t, post(t, url+"/tools", reader, linkedMessage("show", "q"))).URI
	task := callAsTask(t, url+"/tools", "slow", `{"file":"go"}`)
	s := session(t, url+"/shell")
	started := text(callTool(t, s, "bash", map[string]any{"run_in_background": true,
		"command": `printf "be%s\n" fore; while [ ! -e go ]; do sleep 0.05; done; echo after`}, nil))
	var id string
	_, rest, _ := strings.Cut(started, `"task_id":`)
	_, err := fmt.Sscanf(strings.TrimSpace(rest), "%q", &id)
	require.NoError(t, err, started)

	l := fleet.Link{URL: f.hubURL, KeyFile: f.key("gateway"), Inbox: "_INBOX.gateway.test"}
	nc, err := l.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	store, err := fleet.MakeStore(t.Context(), nc, 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(keptTasks(t, store), "before\n") }, waits,
		10*time.Millisecond)
	start("two")
	first.kill()

	answer := post(t, url+"/tools", reader, readMessage(link))
	assert.True(t, strings.Contains(answer, strings.Repeat("q", linkedBytes)), "%.500s", answer)
	after := askTask(t, url+"/tools", task.ID)
	assert.Equal(t, "failed", after.Status)
	assert.Contains(t, after.Error.Message, "lost: the worker that made the call was lost")
	assert.Equal(t, task.ID, callAsTask(t, url+"/tools", "slow", `{"file":"go"}`).ID, "it is not made again")
	shown := text(callTool(t, s, "task_output", map[string]any{"task_id": id, "wait": false}, nil))
	for _, says := range []string{`"status":"lost"`, "before", "the process that watched over the task is gone"} {
		assert.Contains(t, shown, says)
	}
	require.Eventually(t, func() bool { // it does not run on without its worker
		ended, err := filepath.Glob(filepath.Join(f.home, "state", "toolhost", "*", "tasks", id, "status.json"))
		return assert.NoError(t, err) && len(ended) == 1
	}, waits, 10*time.Millisecond)
}
