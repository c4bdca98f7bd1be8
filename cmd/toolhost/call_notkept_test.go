package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// The agent, and the list of calls, report a file that a file tool destroyed and that is not kept.
func TestResultsSayWhatAFileToolLoses(t *testing.T) {
	dir, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
	plant(t, dir, texts{"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n", "big": ""})
	require.NoError(t, os.Truncate(filepath.Join(dir, "big"), 36_000_000))
	const said = "Not kept for undo: big (it had 36000000 bytes, and at most 33554432 are kept)."
	cmd := program(t, dir, "serve")
	cmd.Env = append(cmd.Env, state)
	s := serveCommand(t, cmd)
	s.hello()
	r := s.call("delete_file", `{"path":"big"}`)
	assert.False(t, r.IsError, r.text())
	assert.Equal(t, said, r.Content[len(r.Content)-1].Text)
	log := program(t, dir, "log")
	log.Env = append(log.Env, state)
	out, err := log.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), said)
}

// toolhost call reports it in a pipe and beside a contract's JSON too.
func TestCallsSayWhatIsNotKept(t *testing.T) {
	testneed.NotShort(t, "makes many calls")
	for _, args := range [][]string{{"delete_file", "path=big"}, {"delete_file", "path=big", "--json"},
		{"write_file", "--toolset", "clemini", "--json", "file_path=big", "content=x"}} {
		dir := t.TempDir()
		plant(t, dir, texts{"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n", "big": ""})
		require.NoError(t, os.Truncate(filepath.Join(dir, "big"), 36_000_000))
		cmd := program(t, dir, append([]string{"call", "--yes"}, args...)...)
		var said strings.Builder
		cmd.Stderr = &said
		_, err := cmd.Output()
		require.NoError(t, err, said.String())
		assert.Equal(t, "Not kept for undo: big (it had 36000000 bytes, and at most 33554432 are kept).\n", said.String())
	}
}

// Calls are listed even if their changes cannot be read, which is reported once.
func TestLogWithoutUndo(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	run := func(args ...string) (out, said string, err error) {
		cmd := program(t, dir, args...)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		data, err := cmd.Output()
		return string(data), stderr.String(), err
	}
	_, said, err := run("call", "--yes", "write_file", "path=a", "content=x")
	require.NoError(t, err, said)
	found, err := filepath.Glob(filepath.Join(state, "toolhost", "*", "undo"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, os.RemoveAll(found[0]))
	require.NoError(t, os.WriteFile(found[0], nil, 0o600))
	out, said, err := run("log")
	require.NoError(t, err, said)
	assert.Contains(t, out, "write_file content=x path=a")
	assert.Equal(t, 1, strings.Count(said, "what the calls changed cannot be read"), said)
	_, said, err = run("log", "--changed")
	require.Error(t, err)
	assert.Contains(t, said, "cannot read")
}
