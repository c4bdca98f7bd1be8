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
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// inner is what a host that runs in a sandbox itself says of it.
type inner struct {
	Report   sandbox.Report
	Levels   map[sandbox.Level]string // what Apply gave: the level, or a code
	Metadata map[string]any
	// Wrote tells what became of files and their modes where a command that the
	// inner host confines to a part of the workspace tried to change them.
	Wrote map[string]bool
}

// TestHostInASandbox has a host confine commands that is confined itself.
func TestHostInASandbox(t *testing.T) {
	for outer, want := range map[sandbox.Level]struct {
		full, landlock, auto string
	}{
		sandbox.Full:     {"unavailable", "landlock", "landlock"},
		sandbox.Landlock: {"unavailable", "unavailable", "unavailable"},
	} {
		t.Run(string(outer), func(t *testing.T) {
			need(t, outer)
			got := runInner(t, outer, t.TempDir())
			assert.Equal(t, outer, got.Report.Around)
			assert.Equal(t, map[sandbox.Level]string{
				sandbox.Full: want.full, sandbox.Landlock: want.landlock, sandbox.Auto: want.auto, sandbox.Off: "off",
			}, got.Levels)
			assert.Contains(t, got.Report.Full.Reason, "in a sandbox of toolhost's level "+string(outer)+" already")
			assert.Equal(t, outer == sandbox.Full, got.Report.Landlock.Works, got.Report.Landlock.Reason)
			off, _ := got.Report.Promised(sandbox.Off)
			assert.Contains(t, off, "a sandbox of toolhost's level "+string(outer))
			if !got.Report.Landlock.Works {
				assert.Contains(t, got.Report.Landlock.Reason, "one supervisor")
				return
			}
			assert.Equal(t, map[string]any{"sandbox": "landlock", "sandbox_around": "full",
				"sandbox_weaker": got.Report.Full.Weaker()}, got.Metadata)
			assert.Equal(t, map[string]bool{
				"inside": true, "inside mode": true, "outside": false, "outside mode": false,
				"outside mode by a link": false, "farther": false,
			}, got.Wrote)
		})
	}
}

// What a process can forge, its environment and files, makes a host in a
// sandbox believe nothing.
func TestHostInASandboxThatIsLiedTo(t *testing.T) {
	need(t, sandbox.Full)
	got := runInner(t, sandbox.Full, t.TempDir(), "TOOLHOST_CALL=x", "container=x")
	assert.Equal(t, sandbox.Full, got.Report.Around)
	assert.Equal(t, "unavailable", got.Levels[sandbox.Full])
	assert.Equal(t, "landlock", got.Levels[sandbox.Auto])
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
	require.NoError(t, os.MkdirAll(filepath.Join(workspace, "part"), 0o755))
	c := command(sandbox.Policy{Level: outer, Workspace: workspace, Unwatched: true}, host, "-test.run=^TestInnerHost$", "-test.v")
	c.Env = append(append(c.Env, "INNER_HOST=1"), env...)
	r := run(t, c)
	require.Zero(t, r.ExitCode, r.Stdout.String()+r.Stderr.String())
	data, err := os.ReadFile(filepath.Join(workspace, "inner.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &got))
	return got
}

// TestInnerHost is no test by itself: runInner runs it, confined.
func TestInnerHost(t *testing.T) {
	testneed.Child(t, "INNER_HOST", "TestHostInASandbox")
	dir, err := os.Getwd()
	require.NoError(t, err)
	said := inner{Levels: make(map[sandbox.Level]string)}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock, sandbox.Auto, sandbox.Off} {
		got, err := sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{Level: level})
		said.Levels[level] = string(got)
		if err != nil {
			said.Levels[level] = string(tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		}
	}
	if said.Report = sandbox.Detect(t.Context()); said.Report.Landlock.Works {
		said.tryToWrite(t, dir)
	}
	data, err := json.Marshal(said)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("inner.json", data, 0o600))
}

func (s *inner) tryToWrite(t *testing.T, dir string) {
	p := sandbox.Policy{Workspace: filepath.Join(dir, "part")}
	for _, name := range []string{"part/file", "outside"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	require.NoError(t, os.Symlink("../outside", filepath.Join(dir, "part", "link")))
	mode := func(name string, mode os.FileMode) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info.Mode() == mode
	}
	c := command(p, "/bin/sh", "-c",
		`echo x > file; chmod 600 file; echo x > ../outside; chmod 600 ../outside; chmod 640 link; echo x > /opt/farther`)
	c.Prepare = func(cmd *exec.Cmd) (err error) {
		s.Metadata, err = p.ConfineTelling(cmd)
		return err
	}
	_, err := proc.Run(t.Context(), c)
	require.NoError(t, err)
	size := func(name string) bool {
		data, _ := os.ReadFile(name)
		return len(data) > 0
	}
	s.Wrote = map[string]bool{
		"inside": size(filepath.Join(dir, "part/file")), "inside mode": mode("part/file", 0o600),
		"outside":      size(filepath.Join(dir, "outside")),
		"outside mode": mode("outside", 0o600), "outside mode by a link": mode("outside", 0o640),
		"farther": size("/opt/farther"),
	}
}
