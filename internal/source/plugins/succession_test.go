package plugins_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func ownProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.Symlink(self, path))
	return path
}

func replaceScript(t *testing.T, path, text string) {
	t.Helper()
	testfile.Program(t, path+".new", text)
	require.NoError(t, os.Rename(path+".new", path))
}

func (f *fixture) succeed(t *testing.T, change ...func(*plugins.Options)) *fixture {
	t.Helper()
	options := f.options
	for _, c := range change {
		c(&options)
	}
	next := &fixture{Manager: f.Succeed(options), options: options, log: f.log}
	t.Cleanup(func() { assert.NoError(t, next.Close()) })
	return next
}

func TestASuccessorKeepsWhatIsTheSame(t *testing.T) {
	for name, tt := range map[string]struct {
		spec    func(*plugins.Spec)
		options func(*plugins.Options)
		program func(t *testing.T, path string)
		kept    bool
	}{
		"nothing": {kept: true},
		"config":  {spec: func(s *plugins.Spec) { s.Config = []byte(`{"a":1}`) }},
		"environment": {spec: func(s *plugins.Spec) {
			s.Env = map[string]string{"TEST_PLUGIN": "faulty",
				"MORE": "1"}
		}},
		"arguments": {spec: func(s *plugins.Spec) { s.Args = []string{"x"} }},
		"grants":    {spec: func(s *plugins.Spec) { s.Granted = []tool.Permission{tool.FileRead} }},
		"sandbox":   {spec: func(s *plugins.Spec) { s.Confinement = "other" }},
		"checksum":  {spec: func(s *plugins.Spec) { s.SHA256, _ = plugins.Checksum(s.Path) }},
		"workspace": {options: func(o *plugins.Options) { o.Workspace.Allow = []string{"/elsewhere"} }},
		"program": {program: func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			replaceScript(t, path, string(data))
		}},
		"program gone": {program: func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			spec := testPlugin(t, "faulty")
			spec.Path = ownProgram(t)
			replaceScript(t, spec.Path, "#!/bin/sh\nexec '"+mustExecutable(t)+"' \"$@\"\n")
			r, err := do(t.Context(), f.add(t, spec)["do"], "sleep", "1ms")
			require.Equal(t, "slept", text(t, r, err))
			pid := f.status(t, "faulty").PID

			var options []func(*plugins.Options)
			if tt.options != nil {
				options = append(options, tt.options)
			}
			next := f.succeed(t, options...)
			if tt.spec != nil {
				tt.spec(&spec)
			}
			if tt.program != nil {
				tt.program(t, spec.Path)
			}
			require.NoError(t, next.Add(spec))
			assert.Equal(t, tt.kept, next.status(t, "faulty").PID == pid)
			left := f.HandOver(next.Manager)
			assert.Equal(t, tt.kept, len(left) == 0)
			assert.NoError(t, f.Close())
			assert.Equal(t, tt.kept, testproc.Alive(pid), "what is not kept has ended")
			require.NoError(t, next.Close())
			assert.False(t, testproc.Alive(pid))
		})
	}
}

func mustExecutable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// An unused successor changes nothing when closed.
func TestASuccessorThatIsGivenUp(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	tools := f.add(t, spec)
	r, err := do(t.Context(), tools["do"], "sleep", "1ms")
	require.Equal(t, "slept", text(t, r, err))
	pid := f.status(t, "faulty").PID
	for range 3 {
		next := f.succeed(t)
		require.NoError(t, next.Add(spec))
		require.NoError(t, next.TryChanged(t.Context()))
		require.NoError(t, next.Close())
	}
	r, err = do(t.Context(), tools["do"], "sleep", "1ms")
	require.Equal(t, "slept", text(t, r, err))
	assert.Equal(t, pid, f.status(t, "faulty").PID)
}

// A change is tried before the old set is touched if the plugin is in use; a call in progress ends
// unaffected after the change.
func TestAChangeIsTriedFirst(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "configured")
	spec.Config = []byte(`{"units":"metric"}`)
	faulty := testPlugin(t, "faulty")
	echo, busy := f.add(t, spec)["echo"], f.add(t, faulty)["do"]
	_, err := echo.Call(t.Context(), &tool.Call{Tool: "echo", Params: []byte("{}")})
	require.NoError(t, err)
	ended := make(chan string)
	go func() {
		r, err := do(t.Context(), busy, "sleep", "300ms")
		ended <- text(t, r, err)
	}()
	require.Eventually(t, func() bool { return f.status(t, "faulty").Calls == 1 }, time.Minute, time.Millisecond)

	bad := f.succeed(t)
	wrong := spec
	wrong.Config = []byte(`{"token":"bad"}`)
	require.NoError(t, bad.Add(faulty))
	require.NoError(t, bad.Add(wrong))
	assert.ErrorContains(t, bad.TryChanged(t.Context()), "the token is not accepted")
	require.NoError(t, bad.Close())

	good := f.succeed(t)
	spec.Config = []byte(`{"units":"imperial"}`)
	changed := faulty
	changed.Args = []string{"x"}
	require.NoError(t, good.Add(changed))
	require.NoError(t, good.Add(spec))
	require.NoError(t, good.TryChanged(t.Context()))
	assert.ElementsMatch(t, []string{"configured", "faulty"}, f.HandOver(good.Manager))
	f.Remove("configured")
	assert.Equal(t, "slept", testproc.Receive(t, ended))
	old := f.status(t, "faulty").PID
	f.Remove("faulty")
	assert.False(t, testproc.Alive(old))
	r, err := good.tools(t, "configured")["echo"].Call(t.Context(), &tool.Call{Tool: "echo", Params: []byte("{}")})
	assert.Contains(t, text(t, r, err), "imperial")
}
