package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAgents(t *testing.T) {
	cfg := full(t)
	require.Len(t, cfg.Agents, 2)
	first, second := cfg.Agents[0], cfg.Agents[1]
	assert.Contains(t, first.Pos, base+"/agent.hcl:")
	first.Pos, second.Pos = "", ""
	assert.Equal(t, Agent{Command: []string{"claude", "-p"}, Prompt: "stdin", Access: Access{Network: true}}, first)
	assert.Equal(t, Agent{
		Role: "reviewer", Description: "Reads changes.", Command: []string{"codex", "exec", PromptWord, "--json"},
		Prompt: "argument",
		Env:    map[string]string{"CODEX_HOME": "/opt/codex"}, Timeout: 20 * time.Minute,
		Access: Access{Network: true, Read: []string{"/opt/codex"}},
	}, second)
}

// The label "default" equals no label.
func TestDefaultAgent(t *testing.T) {
	cfg := parse(t, "agent.hcl", `agent "default" { command = ["worker"] }`, LoadOptions{})
	require.Len(t, cfg.Agents, 1)
	assert.Equal(t, "", cfg.Agents[0].Role)
	assert.Equal(t, []string{"worker"}, cfg.Agents[0].Command)
}
