package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// theFleet is a fleet of programs on this machine.
type theFleet struct {
	*place
	hubURL, store string
	workers       []*process
	url           string
}

func (f *theFleet) key(role string) string {
	return filepath.Join(f.store, "keys", role+"."+role+".nk")
}

func (f *theFleet) worker(args ...string) *process {
	f.t.Helper()
	w := f.start(append([]string{"worker", "--hub", f.hubURL, "--key", f.key("worker"), "--pack-after", "10ms",
		"--log-level", "info",
		"--dir", filepath.Join(f.home, fmt.Sprint("worker", len(f.workers)))}, args...)...)
	f.workers = append(f.workers, w)
	return w
}

func (f *theFleet) gateway(args ...string) string {
	f.t.Helper()
	return f.start(append([]string{"serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key",
		f.key("gateway")}, args...)...).find(`serves MCP at (\S+)`)
}

// newFleet starts a hub, workers and a gateway for empty workspaces with the tools of notes.
func newFleet(t *testing.T, workers int) *theFleet {
	t.Helper()
	f := &theFleet{place: newPlace(t)}
	f.write("agent.hcl", notes)
	f.store = filepath.Join(f.home, "hub")
	f.hubURL = f.start("hub", "--listen", "127.0.0.1:0", "--store", f.store).find(`hub is at (\S+),`)
	for range workers {
		f.worker()
	}
	f.url = f.gateway("--config", filepath.Join(f.home, "agent.hcl"))
	for _, w := range f.workers {
		w.find("takes sessions")
	}
	f.knows(workers)
	return f
}

// knows waits until the gateway knows that many workers.
func (f *theFleet) knows(workers int) {
	f.t.Helper()
	knows(f.t, strings.TrimSuffix(f.url, "/mcp"), workers)
}

// holder returns the worker that has a workspace with a file.
func (f *theFleet) holder(file string) *process {
	f.t.Helper()
	for i, w := range f.workers {
		found, _ := filepath.Glob(filepath.Join(f.home, fmt.Sprint("worker", i), "sessions", "*", "workspace", file))
		if len(found) > 0 {
			return w
		}
	}
	return nil
}

func note(text string) map[string]any { return map[string]any{"text": text} }

func named(id string) mcp.Meta { return mcp.Meta{"request_id": id} }

// A named call runs once, and its result is given each time.
func TestStoredResult(t *testing.T) {
	f := newFleet(t, 1)
	s := session(t, f.url)
	first := callTool(t, s, "note", note("one"), named("a"))
	assert.Equal(t, "one", strings.TrimSpace(text(first)))
	assert.Nil(t, first.Meta[fleet.OutcomeMeta])
	again := callTool(t, s, "note", note("one"), named("a"))
	assert.Equal(t, text(first), text(again))
	assert.Equal(t, "stored", again.Meta[fleet.OutcomeMeta])
	other := callTool(t, s, "note", note("two"), named("a"))
	assert.True(t, other.IsError)
	assert.Contains(t, text(other), "other parameters")
	assert.Equal(t, "one\nthree", strings.TrimSpace(text(callTool(t, s, "note", note("three"), named("b")))))
}

// A call whose worker is killed while it runs is reported as lost each time,
// and does not run again. The session goes on with its last pack.
func TestLostCall(t *testing.T) {
	for _, how := range []struct {
		name string
		stop syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"stopped", syscall.SIGSTOP}} {
		t.Run(how.name, func(t *testing.T) {
			f := newFleet(t, 2)
			s := session(t, f.url)
			callTool(t, s, "note", note("kept"), nil)
			w := f.packed("notes.txt")

			ended := make(chan *mcp.CallToolResult, 1)
			go func() {
				result, err := s.CallTool(context.Background(),
					&mcp.CallToolParams{Name: "wait", Arguments: note("lost"),
						Meta: named("w")})
				if !assert.NoError(t, err) {
					result = &mcp.CallToolResult{}
				}
				ended <- result
			}()
			f.waitFor(func() bool { return f.contains("notes.txt", "lost") })
			require.NoError(t, w.cmd.Process.Signal(how.stop))
			result := testproc.Receive(t, ended, "the answer")
			assert.True(t, result.IsError)
			assert.Equal(t, "lost", result.Meta[fleet.OutcomeMeta], text(result))
			assert.Contains(t, text(result), "may have run")

			again := callTool(t, s, "wait", note("lost"), named("w"))
			assert.Equal(t, "lost", again.Meta[fleet.OutcomeMeta], text(again))

			after := text(callTool(t, s, "note", note("after"), nil))
			assert.Contains(t, after, "kept\nafter")
			assert.NotContains(t, after, "lost\n")
			assert.Contains(t, after, "restored from the pack")
			if how.stop == syscall.SIGSTOP {
				require.NoError(t, w.cmd.Process.Signal(syscall.SIGCONT))
				w.find("given to another worker")
				assert.Contains(t, text(callTool(t, s, "note", note("end"), nil)), "kept\nafter\nend")
			}
		})
	}
}

// A worker that must end lets its calls end, and its sessions go on elsewhere with all their state.
func TestDrain(t *testing.T) {
	f := newFleet(t, 2)
	s := session(t, f.url)
	callTool(t, s, "note", note("one"), nil)
	var w *process
	f.waitFor(func() bool { w = f.holder("notes.txt"); return w != nil })
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	for i := range 20 {
		result := callTool(t, s, "note", note(fmt.Sprint("n", i)), nil)
		require.False(t, result.IsError, text(result))
		require.NotContains(t, text(result), "restored")
	}
	lines := strings.Fields(text(callTool(t, s, "note", note("end"), nil)))
	assert.Len(t, lines, 22, "%s", lines)
	testproc.Receive(t, w.ended, "the end of the worker")
}

// Every gateway serves every session, and a session of a revision with sessions
// outlives its worker.
func TestAnotherGateway(t *testing.T) {
	f := newFleet(t, 2)
	second := f.gateway("--config", filepath.Join(f.home, "agent.hcl"))
	one, other := openSession(t, f.url), openSession(t, f.url)
	post(t, f.url, one, noteMessage("one"))
	assert.Contains(t, post(t, second, one, noteMessage("two")), `one\ntwo`)
	assert.NotContains(t, post(t, second, other, noteMessage("three")), "one", "another session's workspace")
	assert.Contains(t, post(t, second, "no-such-session", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
		"no such session")
	f.kill(f.packed("notes.txt"))
	assert.Regexp(t, `one\\ntwo|three`,
		post(t, second, one, noteMessage("four"))+post(t, f.url, other, noteMessage("five")))
}

func (f *theFleet) kill(w *process) { w.kill() }

func (f *theFleet) contains(name, text string) bool {
	found, _ := filepath.Glob(filepath.Join(f.home, "worker*", "sessions", "*", "workspace", name))
	for _, file := range found {
		data, _ := os.ReadFile(file)
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

// packed waits until the workspace with a file is packed, and returns its worker.
func (f *theFleet) packed(file string) (w *process) {
	f.t.Helper()
	f.waitFor(func() bool { w = f.holder(file); return w != nil })
	w.find("a workspace is packed")
	return w
}

func (f *theFleet) waitFor(what func() bool) {
	f.t.Helper()
	testproc.Until(f.t, "what the test waits for", func() (bool, string) { return what(), "" })
}
