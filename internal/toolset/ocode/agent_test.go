package ocode_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
)

// team has a program for reviewers and one for all other agents.
func team(t *testing.T) *bench {
	posix(t)
	b := newBenchWith(t, ocode.Deps{Agents: subagent.Agents{
		{Command: []string{"sh", "-c",
			`echo "I was told:"; cat; test -f fail && exit 3; test -f wait && ` + string(testproc.Sleep(t)) + `; exit 0`}},
		{Role: "reviewer", Command: []string{"sh", "-c", `echo "review of $0"`}, Prompt: subagent.Argument},
	}})
	t.Cleanup(func() {
		tasks := background.Open(b.root+"-tasks", background.Options{})
		_, err := tasks.EndAll(context.WithoutCancel(t.Context()), (*background.Task).Ours, "the test ended")
		assert.NoError(t, err)
	})
	return b
}

func (b *bench) ended(id string) given {
	b.t.Helper()
	var g given
	require.Eventually(b.t, func() bool {
		g = b.call("agent", args{"action": "status", "agent_id": id})
		return g.Metadata["state"] != "running"
	}, time.Minute, 20*time.Millisecond)
	return g
}

func TestAgent(t *testing.T) {
	t.Run("action create", func(t *testing.T) {
		b := team(t)
		g := b.ok("agent", args{"action": "create", "agent_type": "reviewer"})
		assert.Equal(t, "Created agent reviewer-1", g.Output)
		assert.Equal(t, "reviewer-1", g.Metadata["agent_id"])
		assert.Equal(t, "reviewer", g.Metadata["agent_type"])
		assert.Equal(t, "idle", g.Metadata["state"])
		assert.Equal(t, "reviewer-2",
			b.ok("agent", args{"action": "create", "agent_type": "reviewer"}).Metadata["agent_id"])
	})
	for _, kind := range []string{"reviewer", "coder", "tester", "analyzer", "general"} {
		t.Run("agent_type "+kind, func(t *testing.T) {
			g := team(t).ok("agent", args{"action": "create", "agent_type": kind})
			assert.Equal(t, kind, g.Metadata["agent_type"])
		})
	}
	t.Run("agent_type left out is general", func(t *testing.T) {
		assert.Equal(t, "general-1", team(t).ok("agent", args{"action": "create"}).Metadata["agent_id"])
	})
	t.Run("action delegate to an agent of its own program", func(t *testing.T) {
		b := team(t)
		b.ok("agent", args{"action": "create", "agent_type": "reviewer"})
		g := b.ok("agent", args{"action": "delegate", "agent_id": "reviewer-1", "task": "server.go; $(touch no)"})
		assert.NotEmpty(t, g.Metadata["task_id"])
		done := b.ended("reviewer-1")
		assert.Equal(t, "Agent reviewer-1 is completed. It has said:\nreview of server.go; $(touch no)\n", done.Output)
		assert.EqualValues(t, 0, done.Metadata["exit_code"])
		assert.NoFileExists(t, b.path("no"))
	})
	t.Run("action delegate makes an agent", func(t *testing.T) {
		b := team(t)
		g := b.ok("agent", args{"action": "delegate", "agent_type": "tester", "task": "Test it."})
		assert.Equal(t, "tester-1", g.Metadata["agent_id"])
		assert.Contains(t, b.ended("tester-1").Output, "I was told:\nYou are the tester.\n\nTest it.")
		b.ok("agent", args{"action": "delegate", "task": "Do it."})
		assert.Contains(t, b.ended("general-1").Output, "I was told:\nDo it.")
	})
	t.Run("action delegate again and again", func(t *testing.T) {
		b := team(t)
		for _, task := range []string{"one", "two"} {
			b.ok("agent", args{"action": "delegate", "agent_id": b.general(task == "one"), "task": task})
			assert.Contains(t, b.ended("general-1").Output, "\n"+task)
		}
	})
	t.Run("action delegate to one at work", func(t *testing.T) {
		b := team(t)
		b.write("wait", "")
		b.ok("agent", args{"action": "delegate", "task": "wait"})
		b.fails("Agent general-1 is still at work", "agent",
			args{"action": "delegate", "agent_id": "general-1", "task": "more"})
		b.fails("Agent general-1 is a general, not a coder", "agent",
			args{"action": "delegate", "agent_id": "general-1", "agent_type": "coder", "task": "more"})
	})
	t.Run("action status of one that fails", func(t *testing.T) {
		b := team(t)
		b.write("fail", "")
		b.ok("agent", args{"action": "delegate", "task": "x"})
		g := b.ended("general-1")
		assert.Equal(t, "failed", g.Metadata["state"])
		assert.EqualValues(t, 3, g.Metadata["exit_code"])
		assert.Contains(t, g.Error, "Warning: agent general-1 has not finished its task: ")
	})
	t.Run("action status while it works", func(t *testing.T) {
		b := team(t)
		b.write("wait", "")
		b.ok("agent", args{"action": "delegate", "task": "hello"})
		require.Eventually(t, func() bool {
			g := b.ok("agent", args{"action": "status", "agent_id": "general-1"})
			return g.Metadata["state"] == "running" && strings.Contains(g.Output, "hello")
		}, time.Minute, 20*time.Millisecond)
	})
	t.Run("action terminate", func(t *testing.T) {
		b := team(t)
		b.write("wait", "")
		b.ok("agent", args{"action": "delegate", "task": "x"})
		g := b.ok("agent", args{"action": "terminate", "agent_id": "general-1"})
		assert.Equal(t, "Terminated agent general-1", g.Output)
		assert.Equal(t, "terminated", g.Metadata["state"])
		tasks, err := background.Open(b.root+"-tasks", background.Options{}).List()
		require.NoError(t, err)
		require.Len(t, tasks, 1)
		assert.Equal(t, background.Killed, tasks[0].State, "the process is gone")
		assert.Equal(t, "Agent general-1 was terminated already",
			b.ok("agent", args{"action": "terminate", "agent_id": "general-1"}).Output)
		b.fails("Agent general-1 was terminated", "agent",
			args{"action": "delegate", "agent_id": "general-1", "task": "x"})
	})
	t.Run("action list", func(t *testing.T) {
		b := team(t)
		assert.Equal(t, "No agents", b.ok("agent", args{"action": "list"}).Output)
		b.ok("agent", args{"action": "create", "agent_type": "coder"})
		b.ok("agent", args{"action": "delegate", "agent_type": "reviewer", "task": "look\nclosely"})
		b.ended("reviewer-1")
		g := b.ok("agent", args{"action": "list"})
		assert.Equal(t, "coder-1 (coder): idle\nreviewer-1 (reviewer): completed, look [... 1 more line]", g.Output)
		assert.Len(t, g.Metadata["agents"], 2)
		assert.Len(t, g.Metadata["agent_types"], 5)
	})
	t.Run("task", func(t *testing.T) {
		team(t).fails("Task is required for action delegate", "agent", args{"action": "delegate", "task": " "})
	})
	t.Run("agent_id", func(t *testing.T) {
		b := team(t)
		for _, action := range []string{"status", "terminate"} {
			b.fails("Agent_id is required for action "+action, "agent", args{"action": action})
			b.fails("Agent not found: x-1", "agent", args{"action": action, "agent_id": "x-1"})
		}
	})
	t.Run("action delegate to a program that cannot be started", func(t *testing.T) {
		b := newBenchWith(t, ocode.Deps{Agents: subagent.Agents{{Command: []string{"no-such-program"}}}})
		b.failsWith("", "agent", args{"action": "delegate", "task": "x"})
		assert.Equal(t, "No agents", b.ok("agent", args{"action": "list"}).Output, "nobody was told about the new one")
		b.ok("agent", args{"action": "create"})
		b.failsWith("", "agent", args{"action": "delegate", "agent_id": "general-2", "task": "x"})
		assert.Contains(t, b.ok("agent", args{"action": "list"}).Output, "general-2 (general): idle")
	})
	t.Run("none configured", func(t *testing.T) {
		g := newBench(t).fails("No agent is configured for type coder", "agent",
			args{"action": "create", "agent_type": "coder"})
		assert.Contains(t, g.Metadata["suggestion"], `agent "coder" { command`)
	})
	t.Run("v1 task_description", func(t *testing.T) {
		b := team(t)
		b.ok("agent", args{"action": "delegate", "agent_type": "reviewer", "task_description": "x"})
		assert.Contains(t, b.ended("reviewer-1").Output, "review of x")
	})
}

// general returns the ID of the general agent, a new one if fresh.
func (b *bench) general(fresh bool) string {
	if fresh {
		b.ok("agent", args{"action": "create"})
	}
	return "general-1"
}
