package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readmeBlocks(t *testing.T, language string) []string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return fenced(string(data), language)
}

// TestREADMECommands runs the README's first commands.
func TestREADMECommands(t *testing.T) {
	ran := 0
	for _, block := range readmeBlocks(t, "sh") {
		if !strings.Contains(block, "toolhost call write_file") {
			continue
		}
		ran++
		dir := t.TempDir()
		cmd := exec.Command("sh", "-euc", block)
		cmd.Dir = dir
		cmd.Env = append(environment(t.TempDir()), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Contains(t, string(out), "Nothing was changed.")
		data, err := os.ReadFile(filepath.Join(dir, "demo", "a.txt"))
		require.NoError(t, err)
		assert.Equal(t, "ho", string(data))
	}
	assert.Equal(t, 1, ran, "the README shows how to begin")
}

// TestREADMEAgentHCL pastes the README's agent.hcl into a project that has nothing it names.
func TestREADMEAgentHCL(t *testing.T) {
	checked := 0
	for _, block := range readmeBlocks(t, "hcl") {
		if !strings.Contains(block, "workspace {") {
			continue
		}
		checked++
		dir := filepath.Join(t.TempDir(), "project")
		plant(t, dir, texts{"agent.hcl": block, "numbers.txt": "2\n1\n"})
		stdout, stderr, code := runIn(t, dir, "validate")
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "is valid")
		assert.Contains(t, stderr, "shared-lib does not exist")
		stdout, stderr, code = runIn(t, dir, "list")
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "count_todos")
		stdout, stderr, code = runIn(t, dir, "call", "sort", "args=-n numbers.txt")
		assert.Zero(t, code, stderr)
		assert.Equal(t, "1\n2\n", stdout)
		_, stderr, code = runIn(t, dir, "call", "sort", "args=-o out.txt numbers.txt")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "-o")
		assert.NoFileExists(t, filepath.Join(dir, "out.txt"))
	}
	assert.Positive(t, checked, "the README shows an agent.hcl")
}
