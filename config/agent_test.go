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

// The label "default" is the same as none, which JSON syntax cannot express.
func TestDefaultAgent(t *testing.T) {
	for name, source := range map[string]string{
		"agent.hcl":      `agent "default" { command = ["worker"] }`,
		"agent.hcl.json": `{"agent": {"default": {"command": ["worker"]}}}`,
	} {
		cfg := parse(t, name, source, LoadOptions{})
		require.Len(t, cfg.Agents, 1, name)
		assert.Equal(t, "", cfg.Agents[0].Role, name)
		assert.Equal(t, []string{"worker"}, cfg.Agents[0].Command, name)
		effects := cfg.Effects()
		require.Len(t, effects, 1, name)
		assert.Contains(t, effects[0].String(), "agent runs worker", name)
	}
}
