package plugins_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, what)
}

func pidOf(t *testing.T, tl tool.Tool) int {
	t.Helper()
	r, err := do(t.Context(), tl, "pid", "")
	pid, convErr := strconv.Atoi(text(t, r, err))
	require.NoError(t, convErr)
	return pid
}

func TestPluginsThatDoNotStart(t *testing.T) {
	for kind, want := range map[string]string{
		"exits":     "ended before it was ready: exit status 3; its last words:\ncannot find my data",
		"silent":    "was not ready after 1s",
		"mute":      "was not ready after 1s",
		"panics":    "cannot start: panic: no definition today",
		"future":    "speaks version 99 of the plugin protocol, and this toolhost speaks versions 1 to 2",
		"elsewhere": "listens on a socket outside the directory",
		"tcp":       "listens on tcp, but has to listen on a unix socket",
		"garbage":   "ended before it was ready: exit status 1",
		"crash":     `its last words:` + "\n" + `{"@message":1}`,
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t)
			healthy := f.add(t, plugins.Spec{Name: "faulty", Shipped: true})
			spec := testPlugin(t, kind)
			spec.StartTimeout, spec.Env["TEST_ELSEWHERE"] = time.Minute, t.TempDir()
			if strings.HasPrefix(want, "was not ready") {
				spec.StartTimeout = time.Second
			}
			require.NoError(t, f.Add(spec))
			_, err := f.Source(kind).Tools(t.Context())
			require.Error(t, err)
			assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
			assert.Contains(t, err.Error(), "plugin "+kind)
			assert.Contains(t, err.Error(), want)
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
			s := f.status(t, kind)
			assert.Equal(t, plugins.Failed, s.State)
			assert.Equal(t, err, error(s.LastError))
			pidOf(t, healthy["do"])
		})
	}
}

func TestProgramsThatCannotBeRun(t *testing.T) {
	dir := t.TempDir()
	text := dir + "/text"
	require.NoError(t, os.WriteFile(text, []byte("not a program"), 0o755))
	fifo := dir + "/fifo"
	require.NoError(t, syscall.Mkfifo(fifo, 0o755))
	for _, path := range []string{dir, text, fifo, dir + "/missing"} {
		f := newFixture(t)
		require.NoError(t, f.Add(plugins.Spec{Name: "p", Path: path}))
		_, err := f.Source("p").Tools(t.Context())
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), path)
		assert.ErrorContains(t, err, "plugin p cannot be run", path)
	}
}

func TestNoiseOnStandardOutputDoesNotBreakTheHandshake(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "noisy"))
	pidOf(t, tools["do"])
	assert.Contains(t, f.log.String(), "Welcome to the noisy plugin!")
}

func TestWhatAPluginPrintsIsLogged(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	r, err := do(t.Context(), tools["do"], "print", "hello world")
	assert.Equal(t, "printed", text(t, r, err))
	for _, want := range []string{"to standard output: hello world", "msg=\"hello world\" plugin=faulty stream=stderr",
		"straight to fd 1"} {
		eventually(t, want, func() bool { return strings.Contains(f.log.String(), want) })
	}
	r, err = do(t.Context(), tools["do"], "hclog", "")
	assert.Equal(t, "logged", text(t, r, err))
	eventually(t, "record", func() bool {
		return strings.Contains(f.log.String(), `level=WARN msg="disk is low" plugin=faulty free=7`)
	})
	eventually(t, "odd line", func() bool { return strings.Contains(f.log.String(), `{\"@message\":1}`) })
	pidOf(t, tools["do"])
}

func TestFloodOfOutputIsBounded(t *testing.T) {
	testneed.NotShort(t, "sends messages of many megabytes")
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	began := time.Now()
	r, err := do(t.Context(), tools["do"], "flood", "")
	assert.Equal(t, "flooded", text(t, r, err))
	eventually(t, "lines were left out, as a line in the next second tells", func() bool {
		_, err := do(t.Context(), tools["do"], "print", "dry land") // on the other stream, which may be ahead
		return err == nil && strings.Contains(f.log.String(), "were left out")
	})
	const perSecond, around = 1000, 100 // lines of the plugin, and others
	seconds := 2 + int(time.Since(began)/time.Second)
	assert.Less(t, strings.Count(f.log.String(), "\n"), seconds*perSecond+around)
}

func TestPanicOfAToolIsAnErrorOfTheCall(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	pid := pidOf(t, tools["do"])
	_, err := do(t.Context(), tools["do"], "panic", "")
	assert.Equal(t, tool.Internal, tool.CodeOf(err))
	assert.ErrorContains(t, err, "at the disco")
	assert.Equal(t, pid, pidOf(t, tools["do"]))
}

func TestCrashFailsItsCallsAndTheNextCallRestarts(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	pid := pidOf(t, tools["do"])
	waiting := make(chan error, 1)
	go func() {
		_, err := do(t.Context(), tools["do"], "wait", "")
		waiting <- err
	}()
	eventually(t, "both calls run", func() bool { return f.status(t, "faulty").Calls == 2 })
	_, err := do(t.Context(), tools["do"], "exit", "")
	for _, err := range []error{err, testproc.Receive(t, waiting)} {
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
		assert.ErrorContains(t, err,
			"plugin faulty died during the call: exit status 7; its last words:\nmy last words")
		assert.Equal(t, []string{"my last words"}, tool.AsError(err).Details["stderr"])
	}
	s := f.status(t, "faulty")
	assert.Equal(t, 1, s.Crashes)
	assert.Equal(t, plugins.Failed, s.State)

	assert.NotEqual(t, pid, pidOf(t, tools["do"]))
	s = f.status(t, "faulty")
	assert.Equal(t, plugins.Running, s.State)
	assert.Equal(t, 2, s.Starts)
	assert.Nil(t, s.LastError)
}

func TestDeathBetweenCallsIsSeen(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	for range 3 {
		pid := pidOf(t, tools["do"])
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		eventually(t, "the death is noted", func() bool { return f.status(t, "faulty").State == plugins.Failed })
	}
	pidOf(t, tools["do"])
	assert.Equal(t, 3, f.status(t, "faulty").Crashes)
}

func TestPluginThatKeepsFailingRests(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	deadline := time.Now().Add(2 * time.Minute)
	var err error
	for time.Now().Before(deadline) {
		_, err = do(t.Context(), tools["do"], "exit", "")
		require.Equal(t, tool.Unavailable, tool.CodeOf(err))
		if strings.Contains(err.Error(), "times in a row; retrying in") {
			break
		}
	}
	assert.ErrorContains(t, err, "retrying in")
	assert.NotZero(t, tool.AsError(err).Details["retry_after_ms"])
	s := f.status(t, "faulty")
	assert.False(t, s.RetryAt.IsZero())
	eventually(t, "it is tried again", func() bool {
		_, err := do(t.Context(), tools["do"], "pid", "")
		return err == nil
	})
}

func TestStartIsSharedAndSurvivesACallerWhoLeaves(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, plugins.Spec{Name: "faulty", Shipped: true})
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx := t.Context()
			if i == 0 {
				ctx = gone
				time.AfterFunc(time.Millisecond, cancel)
			}
			_, err := do(ctx, tools["do"], "pid", "")
			assert.True(t, err == nil || i == 0, err)
		})
	}
	all.Wait()
	assert.Equal(t, 1, f.status(t, "faulty").Starts)
}

func TestEndedCallStillHasItsResult(t *testing.T) {
	f := newFixture(t, func(o *plugins.Options) { o.CancelGrace = time.Minute })
	tools := f.add(t, testPlugin(t, "faulty"))
	limited := func(what string) (r *tool.Result, err error) {
		testproc.LongEnough(300*time.Millisecond, func(limit time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			begun := t.TempDir() + "/begun"
			r, err = do(ctx, tools["do"], what, begun)
			_, missing := os.Stat(begun)
			return missing == nil
		})
		return r, err
	}
	r, err := limited("wait")
	assert.Equal(t, "stopped by context deadline exceeded", text(t, r, err))

	_, err = limited("fail")
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	left, leave := context.WithCancel(t.Context())
	defer leave()
	begun := t.TempDir() + "/begun"
	testproc.WhenExists(t, begun, leave)
	_, err = do(left, tools["do"], "fail", begun)
	assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, f.status(t, "faulty").Starts)
}

func TestCallThatIgnoresItsEndTakesThePluginDown(t *testing.T) {
	for _, what := range []string{"hang", "stop"} {
		f := newFixture(t, func(o *plugins.Options) { o.CancelGrace = 300 * time.Millisecond })
		tools := f.add(t, testPlugin(t, "faulty"))
		pid := pidOf(t, tools["do"])
		begun := t.TempDir() + "/begun"
		began := time.Now()
		_, err := do(testproc.Overdue(t, begun), tools["do"], what, begun)
		assert.Equal(t, tool.Timeout, tool.CodeOf(err))
		assert.ErrorContains(t, err, "plugin faulty did not stop, so it was ended")
		assert.Less(t, time.Since(began), time.Minute)
		assert.False(t, testproc.Alive(pid))
		assert.NotEqual(t, pid, pidOf(t, tools["do"]))
	}
}

func TestMessagesUpTo64MiB(t *testing.T) {
	testneed.NotShort(t, "sends messages of many megabytes")
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	const large = 20 << 20 // gRPC's default limit is 4 MiB
	r, err := do(t.Context(), tools["do"], "size", strings.Repeat("x", large))
	assert.Equal(t, strconv.Itoa(large), text(t, r, err))
	r, err = do(t.Context(), tools["do"], "big", strconv.Itoa(large))
	assert.Len(t, text(t, r, err), large)

	_, err = do(t.Context(), tools["do"], "size", strings.Repeat("x", 65<<20))
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
	_, err = do(t.Context(), tools["do"], "big", strconv.Itoa(65<<20))
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
	assert.Equal(t, 1, f.status(t, "faulty").Starts)
}

func TestStaleToolsStayListedWhenThePluginIsBroken(t *testing.T) {
	path := t.TempDir() + "/plugin"
	program, err := os.Executable()
	require.NoError(t, err)
	testfile.Program(t, path, "#!/bin/sh\nexec "+program+"\n")
	spec := plugins.Spec{Name: "p", Path: path, Env: map[string]string{"TEST_PLUGIN": "faulty"}}
	first := newFixture(t)
	first.add(t, spec)

	testfile.Program(t, path, "#!/bin/sh\nexit 9\n")
	second := newFixture(t, func(o *plugins.Options) { o.CacheDir = first.options.CacheDir })
	tools := second.add(t, spec)
	assert.Len(t, tools, 2)
	why := tools["do"].(interface{ Unavailable() *tool.Error }).Unavailable()
	require.NotNil(t, why)
	assert.Contains(t, why.Message, "exit status 9")
	_, err = do(t.Context(), tools["do"], "pid", "")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.ErrorContains(t, err, "exit status 9")
}
