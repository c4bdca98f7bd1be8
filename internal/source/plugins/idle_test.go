package plugins_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestIdlePluginIsEndedAndStartsAgain(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	spec.IdleTimeout = 150 * time.Millisecond
	tools := f.add(t, spec)
	pid := 0

	// A call that takes longer than the idle timeout is not idleness. On a busy machine the process may
	// be idle for that long between two calls.
	eventually(t, "it outlasts a call", func() bool {
		pid = pidOf(t, tools["do"])
		r, err := do(t.Context(), tools["do"], "sleep", "500ms")
		assert.Equal(t, "slept", text(t, r, err))
		return pid == pidOf(t, tools["do"])
	})

	eventually(t, "it ends", func() bool { return f.status(t, "faulty").State == plugins.Idle && !testproc.Alive(pid) })
	starts := f.status(t, "faulty").Starts
	assert.NotEqual(t, pid, pidOf(t, tools["do"]))
	s := f.status(t, "faulty")
	assert.Equal(t, starts+1, s.Starts)
	assert.Zero(t, s.Crashes)
	assert.Nil(t, s.LastError)
}

// Calls arrive while the process is being ended.
func TestIdleEndRacesWithCalls(t *testing.T) {
	testneed.NotShort(t, "starts many plugins")
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	spec.IdleTimeout = time.Millisecond
	tools := f.add(t, spec)
	for i := range 60 {
		pidOf(t, tools["do"])
		time.Sleep(time.Duration(i%12) * 200 * time.Microsecond)
	}
	assert.Zero(t, f.status(t, "faulty").Crashes)
}

func TestToolThatAsksForMoreThanItWasGranted(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "greedy")
	spec.Granted = []tool.Permission{tool.FileRead}
	tools := f.add(t, spec)
	_, err := tools["fetch"].Call(t.Context(), &tool.Call{Tool: "fetch", Params: []byte("{}")})
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err))
	assert.ErrorContains(t, err, "network")
	assert.ErrorContains(t, err, "plugin greedy")
	why := tools["fetch"].(interface{ Unavailable() *tool.Error }).Unavailable()
	require.NotNil(t, why)
	r, err := tools["look"].Call(t.Context(), &tool.Call{Tool: "look", Params: []byte("{}")})
	assert.Equal(t, "looked", text(t, r, err))

	spec.Granted = nil
	all := newFixture(t).add(t, spec)
	r, err = all["fetch"].Call(t.Context(), &tool.Call{Tool: "fetch", Params: []byte("{}")})
	assert.True(t, strings.HasPrefix(text(t, r, err), "fetched"))
}

// A plugin's output is passed on without secrets.
func TestWhatAPluginSays(t *testing.T) {
	program := filepath.Join(t.TempDir(), "plugin")
	testfile.Program(t, program, "#!/bin/sh\necho hello secret >&2\nexit 4\n")
	said := make(chan string, 10)
	f := newFixture(t, func(o *plugins.Options) {
		o.Said = func(plugin, line string) { said <- plugin + ": " + line }
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "secret", "[REDACTED]") }
	})
	require.NoError(t, f.Add(plugins.Spec{Name: "chatty", Path: program}))
	_, err := f.Source("chatty").Tools(t.Context())
	require.ErrorContains(t, err, "exit status 4")
	assert.Equal(t, "chatty: hello [REDACTED]", testproc.Receive(t, said))
}
