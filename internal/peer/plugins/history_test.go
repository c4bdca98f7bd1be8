//go:build unix

package plugins_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/peer/plugins"
	"github.com/toolhost/toolhost/internal/testneed"
	"github.com/toolhost/toolhost/internal/testproc"
)

func withHistory(dir string) func(*plugins.Options) {
	return func(o *plugins.Options) { o.HistoryDir = dir }
}

func TestHistoryIsSeenByTheNextHost(t *testing.T) {
	testneed.NotShort(t, "builds a plugin")
	dir, workspace := t.TempDir(), t.TempDir()
	same := func(o *plugins.Options) { o.HistoryDir, o.Workspace.Root = dir, workspace }
	first := newFixture(t, same)
	tools := first.add(t, testPlugin(t, "faulty"))
	pidOf(t, tools["do"])
	_, err := do(t.Context(), tools["do"], "error", "")
	require.Error(t, err)
	_, err = do(t.Context(), tools["do"], "exit", "")
	require.Error(t, err)

	second := newFixture(t, same)
	require.NoError(t, second.Add(testPlugin(t, "faulty")))
	eventually(t, "the crash is written at once", func() bool { return second.History("faulty").Crashes == 1 })
	h := second.History("faulty")
	assert.True(t, h.Failing())
	assert.Contains(t, h.LastError.Message, "plugin faulty ended: exit status 7")
	assert.Empty(t, h.Live)
	assert.Positive(t, h.PeakMemory)

	pid := pidOf(t, tools["do"])
	eventually(t, "the new process is seen", func() bool {
		live := second.History("faulty").Live
		return len(live) == 1 && live[0].PID == pid && live[0].Host == os.Getpid() && live[0].Memory > 0
	})
	require.NoError(t, first.Close())
	h = second.History("faulty")
	assert.EqualValues(t, 2, h.Starts)
	assert.EqualValues(t, 4, h.Calls)
	assert.EqualValues(t, 2, h.Errors)
	assert.Empty(t, h.Live)
	assert.False(t, h.Failing(), "a call went well since")
	assert.NotNil(t, h.LastError, "it is remembered all the same")
	assert.Positive(t, h.Average())
	assert.LessOrEqual(t, h.Quantile(0.5), h.Quantile(0.95))
	assert.LessOrEqual(t, h.Quantile(0.95), h.SlowestCall)
}

func TestHistoriesOfSeveralHostsAddUp(t *testing.T) {
	dir, workspace := t.TempDir(), t.TempDir()
	same := func(o *plugins.Options) { o.HistoryDir, o.Workspace.Root = dir, workspace }
	hosts := []*fixture{newFixture(t, same), newFixture(t, same), newFixture(t, same)}
	for _, f := range hosts {
		tools := f.add(t, testPlugin(t, "faulty"))
		for range 5 {
			pidOf(t, tools["do"])
		}
	}
	for _, f := range hosts {
		require.NoError(t, f.Close())
	}
	last := newFixture(t, same)
	require.NoError(t, last.Add(testPlugin(t, "faulty")))
	assert.EqualValues(t, 15, last.History("faulty").Calls)
	assert.EqualValues(t, 3, last.History("faulty").Starts)
	assert.Zero(t, newFixture(t, withHistory(dir)).History("faulty").Calls, "another workspace")
}

func TestBrokenHistoryIsNoHindrance(t *testing.T) {
	dir, workspace := t.TempDir(), t.TempDir()
	same := func(o *plugins.Options) { o.HistoryDir, o.Workspace.Root = dir, workspace }
	first := newFixture(t, same)
	pidOf(t, first.add(t, testPlugin(t, "faulty"))["do"])
	require.NoError(t, first.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.WriteFile(dir+"/"+e.Name(), []byte("{torn"), 0o600))
	}
	second := newFixture(t, same)
	pidOf(t, second.add(t, testPlugin(t, "faulty"))["do"])
	require.NoError(t, second.Close())
	assert.EqualValues(t, 1, second.History("faulty").Calls)

	nowhere := newFixture(t, withHistory("/proc/nowhere"))
	pidOf(t, nowhere.add(t, testPlugin(t, "faulty"))["do"])
	assert.EqualValues(t, 1, nowhere.History("faulty").Calls)
}

func TestIdlePluginIsEndedAndStartsAgain(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	spec.IdleTimeout = 150 * time.Millisecond
	tools := f.add(t, spec)
	pid := 0

	// A call that takes longer than the idle timeout is not idleness. On a busy machine
	// the process may be idle for that long between two calls.
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

// Calls come just when the process is being ended.
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

// What a plugin prints is handed on, without secrets.
func TestWhatAPluginSays(t *testing.T) {
	program := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho hello secret >&2\nexit 4\n"), 0o755))
	said := make(chan string, 10)
	f := newFixture(t, func(o *plugins.Options) {
		o.Said = func(plugin, line string) { said <- plugin + ": " + line }
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "secret", "[REDACTED]") }
	})
	require.NoError(t, f.Add(plugins.Spec{Name: "chatty", Path: program}))
	_, err := f.Source("chatty").Tools(t.Context())
	require.ErrorContains(t, err, "exit status 4")
	assert.Equal(t, "chatty: hello [REDACTED]", <-said)
}

// A plugin that hangs at its start must not make every command wait for it.
func TestFailedStartsOfEarlierHostsCount(t *testing.T) {
	testneed.NotShort(t, "starts many plugins")
	dir, workspace := t.TempDir(), t.TempDir()
	same := func(o *plugins.Options) { o.HistoryDir, o.Workspace.Root = dir, workspace }
	program, starts := filepath.Join(t.TempDir(), "plugin"), filepath.Join(t.TempDir(), "starts")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho x >>\""+starts+"\"\nsleep 60\n"), 0o755))
	spec := plugins.Spec{Name: "slow", Path: program, StartTimeout: 500 * time.Millisecond}
	attempt := func() error {
		f := newFixture(t, same)
		require.NoError(t, f.Add(spec))
		_, err := f.Source("slow").Tools(t.Context())
		require.NoError(t, f.Close())
		return err
	}
	for range 2 {
		require.ErrorContains(t, attempt(), "was not ready after 500ms")
	}
	failures := 2
	started, _ := os.ReadFile(starts)
	err := attempt()
	for ; !strings.Contains(err.Error(), "in a row"); failures++ { // its rest is over before a busy machine comes here
		require.ErrorContains(t, err, "was not ready after 500ms")
		require.Less(t, failures, 20)
		started, _ = os.ReadFile(starts)
		err = attempt()
	}
	assert.ErrorContains(t, err, fmt.Sprintf("failed %d times in a row and rests for another", failures))
	assert.ErrorContains(t, err, "was not ready after 500ms")
	again, _ := os.ReadFile(starts)
	assert.Equal(t, string(started), string(again), "it is not started")

	// Who wants it anew gives it a chance, and so do another configuration and another
	// program.
	spec.Since = time.Now().UTC()
	err = attempt()
	assert.ErrorContains(t, err, "was not ready after 500ms")
	assert.NotContains(t, err.Error(), "in a row")
	spec.Config = []byte(`{"delimiter":";"}`)
	err = attempt()
	assert.ErrorContains(t, err, "was not ready after 500ms")
	assert.NotContains(t, err.Error(), "in a row")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 4\n"), 0o755))
	spec.StartTimeout = time.Minute // a busy machine takes its time to start a shell
	err = attempt()
	assert.ErrorContains(t, err, "exit status 4")
}
