package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// confinedProject is a project in which every kind of child process can try something, with a home, a
// directory and a server outside.
type confinedProject struct {
	root, home, outside, prober, address string
}

// newConfinedProject makes one with those sandbox settings, and with grants in each block that has a
// process. The prober must be granted for reading: an ordinary user can only put it in a home
// directory, where it is hidden.
func newConfinedProject(t *testing.T, settings, grants string) confinedProject {
	t.Helper()
	base := testneed.VisibleDir(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	p := confinedProject{
		root: filepath.Join(base, "project"), home: filepath.Join(base, "home"),
		outside: filepath.Join(base, "outside"), address: listener.Addr().String(),
	}
	p.prober = filepath.Join(base, "prober")
	program, err := os.ReadFile(prober(t))
	require.NoError(t, err)
	testfile.Program(t, p.prober, string(program))
	require.NoError(t, os.Mkdir(p.root, 0o755))
	require.NoError(t, os.Mkdir(p.outside, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(p.home, ".ssh"), 0o700))
	grants = strings.ReplaceAll(grants, "OUTSIDE", p.outside)
	plant(t, base, map[string]string{
		"home/.ssh/id": "a key",
		"outside/note": "a note",
		"project/agent.hcl": fmt.Sprintf(`
			sandbox {
			  read = [%q]
			  %s
			}
			tool "attempt" {
			  description = "Try. Returns: what came of it."
			  risk        = "dangerous"
			  param "act"  { type = string }
			  param "what" { type = string }
			  command { argv = [%q, param.act, param.what] }
			  %s
			}
			plugin "prober" {
			  source = %q
			  %s
			}
			taskfile {
%s
}`, p.prober, settings, p.prober, grants, p.prober, grants, grants),
		"project/.agent/Taskfile.yml": "version: '3'\nsilent: true\ntasks:\n  attempt:\n    cmds:\n      - " +
			p.prober + " {{.CLI_ARGS}}\n",
	})
	return p
}

func prober(t *testing.T) string {
	t.Helper()
	path := filepath.Join(binaries, "prober")
	if _, err := os.Stat(path); err != nil {
		out, err := exec.Command("go", "build", "-o", path, "./testdata/prober").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return path
}

// attempt has a kind of child process try something, and returns its report and the level in the
// result.
func (p confinedProject) attempt(t *testing.T, kind, act, what string) (came, level string) {
	t.Helper()
	params := map[string]string{"act": act, "what": what}
	args := []string{"call", "--json", "--yes"}
	switch line := act + " " + what; kind {
	case "command tool":
		args = append(args, "attempt")
	case "plugin":
		args = append(args, "try")
	case "Taskfile":
		args, params = append(args, "run_command"), map[string]string{"command": "attempt", "args": line}
	case "run_in_terminal":
		args, params = append(args, "--toolset", "cliagent", kind), map[string]string{"command": p.prober + " " + line}
	case "run":
		args, params = append(args, "--toolset", "agentbench", kind),
			map[string]string{"command": p.prober + " " + line}
	}
	cmd := program(t, p.root, append(args, "--params", string(mustJSON(t, params)))...)
	cmd.Env = append(environment(p.home), "TOOLHOST_TRUST=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	var result struct{ Metadata map[string]any }
	_ = json.Unmarshal(out, &result)
	level, _ = result.Metadata["sandbox"].(string)
	out = append(out, stderr.Bytes()...)
	if kind == "run" { // its result names files
		logs, err := filepath.Glob(filepath.Join(p.root, ".agent/runs/*/logs/*"))
		require.NoError(t, err)
		for _, name := range logs {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			out = append(out, data...)
			require.NoError(t, os.Remove(name))
		}
	}
	return string(out), level
}

func mustJSON(t *testing.T, v any) []byte {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// TestEveryChildIsConfinedByDefault has each kind of child process try what a confined one cannot do,
// and then the same with the sandbox off, where it can.
func TestEveryChildIsConfinedByDefault(t *testing.T) {
	testneed.NotShort(t, "starts every kind of process at each level of the sandbox")
	strongest := sandbox.Detect(t.Context()).Strongest
	if strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	confined, off := newConfinedProject(t, "", ""), newConfinedProject(t, `level = "off"`, "")
	for _, kind := range []string{"command tool", "plugin", "Taskfile", "run_in_terminal", "run"} {
		t.Run(kind, func(t *testing.T) {
			for _, p := range []confinedProject{confined, off} {
				want, wantLevel := "refused: ", string(strongest)
				if p == off {
					want, wantLevel = "did it: ", "off"
				}
				for act, what := range map[string]string{
					"write": filepath.Join(p.outside, "new"),
					"read":  filepath.Join(p.home, ".ssh", "id"),
					"dial":  p.address,
				} {
					came, level := p.attempt(t, kind, act, what)
					assert.Contains(t, came, want, "%s %s", act, what)
					if kind == "command tool" || kind == "Taskfile" { // the others' results follow contracts
						assert.Equal(t, wantLevel, level, came)
					}
				}
				came, _ := p.attempt(t, kind, "write", filepath.Join(p.root, "inside"))
				assert.Contains(t, came, "did it: ")
			}
			assert.NoFileExists(t, filepath.Join(confined.outside, "new"))
			require.NoError(t, os.Remove(filepath.Join(off.outside, "new")))
		})
	}
}

// TestGrants grants tools, plugins and the Taskfile in their blocks what the sandbox block refuses.
func TestGrants(t *testing.T) {
	testneed.NotShort(t, "starts every kind of process at each level of the sandbox")
	if sandbox.Detect(t.Context()).Strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	granted := newConfinedProject(t, `network = "deny"`, "network = \"allow\"\nwrite = [\"OUTSIDE\"]\n")
	for _, kind := range []string{"command tool", "plugin", "Taskfile"} {
		t.Run(kind, func(t *testing.T) {
			came, _ := granted.attempt(t, kind, "dial", granted.address)
			assert.Contains(t, came, "did it: ")
			came, _ = granted.attempt(t, kind, "write", filepath.Join(granted.outside, "new"))
			assert.Contains(t, came, "did it: ")
			came, _ = granted.attempt(t, kind, "read", filepath.Join(granted.home, ".ssh", "id"))
			assert.Contains(t, came, "refused: ", "what is not granted")
		})
	}
	came, _ := granted.attempt(t, "run", "dial", granted.address)
	assert.Contains(t, came, "refused: ", "a grant is for the block that holds it alone")
}

// TestAnUnapprovedFileGrantsNothing has an unapproved agent.hcl turn the sandbox off.
func TestAnUnapprovedFileGrantsNothing(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	if sandbox.Detect(t.Context()).Strongest == "" {
		testneed.Missing(t, "no sandbox works on this machine")
	}
	p := newConfinedProject(t, `level = "off"`, "")
	file := filepath.Join(p.outside, "new")
	for trusted, want := range map[string]string{"": "is not approved", "1": "did it: 1"} {
		cmd := program(t, p.root, "call", "--json", "--yes", "--toolset", "cliagent", "run_in_terminal",
			"command=echo x >"+file+" && echo did it: $((2-1)) || echo refused: $((2-1))")
		cmd.Env = append(environment(p.home), "TOOLHOST_TRUST="+trusted)
		out, _ := cmd.CombinedOutput()
		assert.Contains(t, string(out), want)
		if trusted == "" {
			assert.NoFileExists(t, file)
		} else {
			require.NoError(t, os.Remove(file))
		}
	}
}

// TestWhatACommandMayNotChangeInTheWorkspace has a command write where git would later run it,
// unconfined, and to toolhost's own record.
func TestWhatACommandMayNotChangeInTheWorkspace(t *testing.T) {
	testneed.NotShort(t, "starts every kind of process at each level of the sandbox")
	testneed.Program(t, "git")
	needsFull(t)
	confined, off := newConfinedProject(t, "", ""), newConfinedProject(t, `level = "off"`, "")
	for _, p := range []confinedProject{confined, off} {
		git := exec.Command("git", "init", "-q", p.root)
		git.Env = environment(p.home)
		out, err := git.CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.MkdirAll(filepath.Join(p.root, ".git", "hooks"), 0o755))
		if p == off {
			came, _ := p.attempt(t, "run_in_terminal", "write", filepath.Join(p.root, ".git", "hooks", "pre-commit"))
			assert.Contains(t, came, "did it: ", "with the sandbox off nothing holds it")
			continue
		}
		for _, name := range []string{"agent.hcl", ".agent/Taskfile.yml", ".git/hooks/pre-commit",
			".git/config"} {
			came, _ := p.attempt(t, "run_in_terminal", "write", filepath.Join(p.root, filepath.FromSlash(name)))
			assert.Contains(t, came, "refused: ", name)
		}
		came, _ := p.attempt(t, "run_in_terminal", "write", filepath.Join(stateOf(t, p.root), "memories.json"))
		assert.Contains(t, came, "refused: ")
	}
	cmd := program(t, confined.root, "call", "--yes", "--toolset", "cliagent", "run_in_terminal",
		"command=git add agent.hcl && git -c user.name=n -c user.email=e commit -qm one && git log --format=%s")
	cmd.Env = append(environment(confined.home), "TOOLHOST_TRUST=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "one", "git itself works")
}
