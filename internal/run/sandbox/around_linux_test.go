package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// inner is what a host inside a sandbox reports.
type inner struct {
	Report sandbox.Report
	Levels map[sandbox.Level]string // the level from Apply, or a code
	Next   string                   // the proposed remedy at level auto
}

// TestHostInASandbox confines commands of a confined host: it cannot, since the kernel takes only one
// supervisor.
func TestHostInASandbox(t *testing.T) {
	eachLevel(t, func(t *testing.T, outer sandbox.Level) {
		got := runInner(t, outer, t.TempDir())
		assert.Equal(t, outer, got.Report.Around)
		assert.Equal(t, map[sandbox.Level]string{sandbox.Full: "unavailable", sandbox.Landlock: "unavailable",
			sandbox.Auto: "unavailable", sandbox.Off: "off"}, got.Levels)
		assert.Contains(t, got.Report.Full.Reason, "in a sandbox of toolhost's level "+string(outer)+" already")
		assert.Contains(t, got.Report.Landlock.Reason, "one supervisor")
		assert.Contains(t, got.Next, "stays confined by that: set TOOLHOST_SANDBOX=off for the toolhost inside")
		off, _ := got.Report.Promised(sandbox.Off)
		assert.Contains(t, off, "a sandbox of toolhost's level "+string(outer))
	})
}

// A host in a sandbox trusts nothing that a process can forge, its environment and files.
func TestHostInASandboxThatIsLiedTo(t *testing.T) {
	need(t, sandbox.Full)
	got := runInner(t, sandbox.Full, t.TempDir(), "TOOLHOST_CALL=x", "container=x")
	assert.Equal(t, sandbox.Full, got.Report.Around)
	assert.Equal(t, "unavailable", got.Levels[sandbox.Auto])
}

func TestNoSandboxAround(t *testing.T) {
	if report := sandbox.Detect(t.Context()); report.Around == "" {
		off, _ := report.Promised(sandbox.Off)
		assert.Contains(t, off, "whatever the user can")
		metadata, err := sandbox.Policy{Level: sandbox.Off}.ConfineTelling(exec.Command("/bin/true"))
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"sandbox": "off"}, metadata)
	}
}

// runInner runs this test binary as a host confined at a level.
func runInner(t *testing.T, outer sandbox.Level, workspace string, env ...string) (got inner) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	host := filepath.Join(workspace, "host")
	testfile.Program(t, host, string(self))
	c := command(sandbox.Policy{Level: outer, Workspace: workspace}, host, "-test.run=^TestInnerHost$", "-test.v")
	c.Env = append(append(c.Env, "INNER_HOST=1"), env...)
	r := run(t, c)
	require.Zero(t, r.ExitCode, r.Stdout.String()+r.Stderr.String())
	data, err := os.ReadFile(filepath.Join(workspace, "inner.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &got))
	return got
}

// TestInnerHost is run by runInner, confined.
func TestInnerHost(t *testing.T) {
	testneed.Child(t, "INNER_HOST", "TestHostInASandbox")
	said := inner{Levels: make(map[sandbox.Level]string)}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock, sandbox.Auto, sandbox.Off} {
		got, err := sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{Level: level})
		said.Levels[level] = string(got)
		if err != nil {
			said.Levels[level] = string(tool.CodeOf(err))
			said.Next = tool.AsError(err).Suggestion
		}
	}
	said.Report = sandbox.Detect(t.Context())
	data, err := json.Marshal(said)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("inner.json", data, 0o600))
}
