package subagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	return path
}

func TestFind(t *testing.T) {
	_, err := Agents{}.Find("")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.Contains(t, tool.AsError(err).Suggestion,
		"\nagent {\n  command = [\"claude\", \"-p\"]\n  network = \"allow\"\n}")
	agents := Agents{{Role: "a"}, {Role: "b"}}
	_, err = agents.Find("")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	_, err = agents.Find("c")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	assert.Contains(t, tool.AsError(err).Suggestion, "a, b")
	found, err := agents.Find("b")
	require.NoError(t, err)
	assert.Equal(t, "b", found.Role)
}

func TestPrompt(t *testing.T) {
	path := program(t)
	const prompt = "Do \"this\"; $HOME {prompt}"
	for _, test := range []struct {
		name    string
		command []string
		how     string
		argv    []string
		stdin   string
	}{
		{"on standard input", []string{path, "-p"}, "", []string{path, "-p"}, prompt},
		{"as the last argument", []string{path, "-p"}, Argument, []string{path, "-p", prompt}, ""},
		{"in a place of its own", []string{path, PromptWord, "--json"}, Argument, []string{path, prompt, "--json"}, ""},
	} {
		a := Agent{Command: test.command, Prompt: test.how}
		for range 2 { // the configured command stays unchanged
			spec, err := a.Spec(prompt, Place{Root: t.TempDir()})
			require.NoError(t, err, test.name)
			assert.Equal(t, test.argv, spec.Argv, test.name)
			assert.Equal(t, test.stdin, string(spec.Stdin), test.name)
		}
	}
}

func TestWhatAnAgentIsGranted(t *testing.T) {
	path, root := program(t), t.TempDir()
	a := Agent{Command: []string{path}, Network: true, Read: []string{"/r"}, Write: []string{"/w"},
		Timeout: time.Minute, Env: map[string]string{"A": "b"}}
	spec, err := a.Spec("x",
		Place{Root: root, Trees: []string{"/tree"},
			Confine: sandbox.Settings{Level: sandbox.Full, Read: []string{"/own"}}})
	require.NoError(t, err)
	assert.Equal(t, sandbox.Policy{
		Level: sandbox.Full, Workspace: root, Network: true, ReadOnly: []string{"/own", "/r"},
		ReadWrite: []string{"/tree", "/w"}, Straight: []string{"/own", "/r", "/w"},
		Held: sandbox.Held{Path: root},
	}, *spec.Confine)
	assert.Equal(t, time.Minute, spec.Timeout)
	assert.Contains(t, spec.Env, "A=b")
	closed := Agent{Command: []string{path}}
	spec, err = closed.Spec("x", Place{Root: root, Confine: sandbox.Settings{Network: true}})
	require.NoError(t, err)
	assert.False(t, spec.Confine.Network, "the block says, and nothing else")
	assert.Equal(t, DefaultTimeout, spec.Timeout)
}

func TestWhatCannotRun(t *testing.T) {
	root := t.TempDir()
	inside := filepath.Join(root, "worker")
	require.NoError(t, os.WriteFile(inside, []byte("#!/bin/sh\n"), 0o755))
	for code, a := range map[tool.Code]Agent{
		tool.CommandNotFound:  {Command: []string{"no-such-agent-program"}},
		tool.PermissionDenied: {Command: []string{inside}},
	} {
		_, err := a.Spec("x", Place{Root: root})
		assert.Equal(t, code, tool.CodeOf(err))
	}
	a := Agent{Command: []string{program(t)}, Prompt: Argument}
	_, err := a.Spec(strings.Repeat("x", maxArgument+1), Place{Root: root})
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
	_, err = a.Spec("a\x00b", Place{Root: root})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}
