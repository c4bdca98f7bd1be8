package plugins_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

// fault is a plugin of testdata/faults, and the host's reaction.
type fault struct {
	name string
	// start: it cannot be started.
	start bool
	// code and says are a call's error; "" means a result.
	code tool.Code
	says string
	// survives: the process stays.
	survives bool
}

func faults() []fault {
	return []fault{
		{name: "none", says: "fine", survives: true},
		{name: "start_slow", start: true, code: tool.Unavailable, says: "was not ready after"},
		{name: "start_exit", start: true, code: tool.Unavailable,
			says: "ended before it was ready: exit status 3; its last words:\nno licence"},
		{name: "start_noise", says: "fine", survives: true},
		{name: "wrong_handshake", start: true, code: tool.Unavailable, says: "was not ready after"},
		{name: "wrong_protocol", start: true, code: tool.Unavailable,
			says: "speaks version 0 of the plugin protocol, and this toolhost speaks versions 1 to 2"},
		{name: "newer", start: true, code: tool.Unavailable,
			says: "speaks version 3 of the plugin protocol, and this toolhost speaks versions 1 to 2"},
		{name: "crash", code: tool.Unavailable,
			says: "died during the call: exit status 9; its last words:\nout of luck"},
		{name: "hang", code: tool.Timeout, says: "did not stop, so it was ended"},
		{name: "deaf", code: tool.Timeout, says: "did not stop, so it was ended"},
		{name: "huge_result", code: tool.TooLarge, says: "larger than", survives: true},
		{name: "log_flood", says: "flooded", survives: true},
		{name: "stdout_noise", says: "noisy", survives: true},
		{name: "leak", code: tool.Unavailable, says: "died during the call: exit status 5"},
		{name: "panic", code: tool.Unavailable, says: "panic: at the disco"},
		{name: "bad_result", code: tool.Internal, says: "is not valid JSON", survives: true},
		{name: "service_flood", says: "asked", survives: true},
	}
}

// declare adds the plugin with the fault under a name. leaked marks the processes it leaves.
func (f *fixture) declare(t *testing.T, program, name string, c fault, leaked testproc.Sleeper) {
	t.Helper()
	spec := plugins.Spec{Name: name, Path: program, Args: []string{c.name}, StartTimeout: time.Minute,
		Env: map[string]string{"FAULT_BEGUN": f.begun(name), "FAULT_SLEEP": leaked.Number()}}
	if c.name == "start_slow" || c.name == "wrong_handshake" {
		spec.StartTimeout = 200 * time.Millisecond
	}
	require.NoError(t, f.Add(spec))
}

// begun returns the file that a call creates when it begins, before it times out.
func (f *fixture) begun(name string) string { return filepath.Join(f.options.CacheDir, name+".begun") }

func (f *fixture) provoke(t *testing.T, name string, c fault) (*tool.Result, error) {
	ctx := t.Context()
	tools, err := f.Source(name).Tools(ctx)
	if err != nil {
		return nil, err
	}
	if c.code == tool.Timeout { // for the call, not the start
		if r, err := callNamed(ctx, tools, "ok"); err != nil {
			return r, err
		}
		_ = os.Remove(f.begun(name))
		ctx = testproc.Overdue(t, f.begun(name))
	}
	return callNamed(ctx, tools, "go")
}

func callNamed(ctx context.Context, tools []tool.Tool, name string) (*tool.Result, error) {
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Definition().Name == name })
	return tools[i].Call(ctx, &tool.Call{Tool: name, Params: []byte("{}"), Host: new(plugintest.Host)})
}

func quick(o *plugins.Options) {
	o.CancelGrace, o.MaxBackoff = 100*time.Millisecond, time.Millisecond
}

// Each fault gives its error, which names the plugin and the cause, and harms no other plugin.
func TestEveryFaultHasItsAnswer(t *testing.T) {
	testneed.NotShort(t, "makes random faults for seconds")
	program := buildProgram(t, "faults")
	f, leaked := newFixture(t, quick), testproc.Sleep(t)
	healthy := faults()[0]
	for _, c := range faults() {
		t.Run(c.name, func(t *testing.T) {
			f.declare(t, program, c.name, c, leaked)
			r, err := f.provoke(t, c.name, c)
			if c.code == "" {
				assert.Equal(t, c.says, text(t, r, err))
			} else {
				assert.Equal(t, c.code, tool.CodeOf(err), err)
				assert.ErrorContains(t, err, c.says)
				assert.NotEmpty(t, tool.AsError(err).Suggestion)
				if !c.survives {
					assert.ErrorContains(t, err, "plugin "+c.name)
				}
			}
			s := f.status(t, c.name)
			assert.Equal(t, c.survives, s.State == plugins.Running, s.State)
			assert.Equal(t, !c.survives, s.LastError != nil)
			assert.Equal(t, !c.start && !c.survives, s.Crashes > 0)
			if !c.start { // restarted where it died
				r, err := f.tools(t, c.name)["ok"].Call(t.Context(), &tool.Call{Tool: "ok", Params: []byte("{}")})
				assert.Equal(t, "fine", text(t, r, err))
			}
			r, err = f.provoke(t, "none", healthy)
			assert.Equal(t, "fine", text(t, r, err))
		})
	}
	assert.NotEmpty(t, testproc.Running(t, program))
	require.NoError(t, f.Close())
	assert.Empty(t, testproc.Running(t, program), "no process is left")
	leaked.Gone(t)
}

// After faults in any order the host still answers, and no process, goroutine or file is left.
func TestRandomFaults(t *testing.T) {
	testneed.NotShort(t, "makes random faults for seconds")
	linuxOnly(t)
	rounds, seed := 60, testneed.Seed(t)
	if testneed.Long() {
		rounds = 1000
	}
	program := buildProgram(t, "faults")
	dir, err := os.MkdirTemp("", "th")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	testproc.Unchanged(t)

	leaked := testproc.Sleep(t)
	f := newFixture(t, quick, func(o *plugins.Options) { o.Dir = dir })
	const workers = 6 // most faults wait
	var running sync.WaitGroup
	for w := range workers {
		for _, c := range faults() {
			f.declare(t, program, fmt.Sprint(c.name, w), c, leaked)
		}
		running.Go(func() { f.suffer(t, seed, w, rounds/workers+1) })
	}
	running.Wait()
	require.NoError(t, f.Close())
	assert.Empty(t, testproc.Running(t, program))
	leaked.Gone(t)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// suffer provokes random faults, and checks that the host answers in between.
func (f *fixture) suffer(t *testing.T, seed uint64, worker, rounds int) {
	random, all := rand.New(rand.NewPCG(seed, uint64(worker))), faults()
	for i := range rounds {
		c := all[random.IntN(len(all))]
		r, err := f.provoke(t, fmt.Sprint(c.name, worker), c)
		ok := err == nil && c.code == "" && r.Text() == c.says ||
			err != nil && c.code == tool.CodeOf(err) && strings.Contains(err.Error(), c.says)
		assert.True(t, ok, "seed %d, worker %d, round %d, %s: %v, %v", seed, worker, i, c.name, r, err)
		if i%10 == 9 {
			r, err := f.provoke(t, fmt.Sprint("none", worker), all[0])
			assert.True(t, err == nil && r.Text() == "fine", "seed %d, round %d: %v", seed, i, err)
		}
	}
}
