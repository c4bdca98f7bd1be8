package proc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func sh(script string) proc.Command {
	return proc.Command{Argv: []string{"/bin/sh", "-c", script}, Env: proc.Environ(nil)}
}

func run(t *testing.T, c proc.Command) *proc.Result {
	t.Helper()
	r, err := proc.Run(t.Context(), c)
	require.NoError(t, err)
	return r
}

func TestResult(t *testing.T) {
	r := run(t, sh(`printf out; printf err >&2; exit 3`))
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "out", r.Stdout.String())
	assert.Equal(t, "err", r.Stderr.String())
	assert.EqualValues(t, 1, r.Stdout.Lines)
	assert.Positive(t, r.Duration)

	r = run(t, sh(`kill -9 $$`))
	assert.Equal(t, 137, r.ExitCode)
	assert.Equal(t, "killed", r.Signal)
}

func TestStdin(t *testing.T) {
	assert.Empty(t, run(t, sh(`cat`)).Stdout.String(), "it is empty unless given")
	c := sh(`cat`)
	c.Stdin = []byte("given\x00bytes")
	assert.Equal(t, "given\x00bytes", run(t, c).Stdout.String())
}

func TestStdoutIsAFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	c := sh(`printf out; printf err >&2`)
	c.Stdout = file
	r := run(t, c)
	assert.Zero(t, r.Stdout)
	assert.Equal(t, "err", r.Stderr.String())
	written, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, "out", string(written))
}

func TestNULCannotBePassed(t *testing.T) {
	for name, c := range map[string]proc.Command{
		"argument": {Argv: []string{"echo", "a\x00b"}},
		"variable": {Argv: []string{"echo"}, Env: []string{"A=a\x00b"}},
	} {
		_, err := proc.Run(t.Context(), c)
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), name)
		assert.ErrorContains(t, err, "contains a NUL byte", name)
	}
}

func TestTimeoutEndsEverything(t *testing.T) {
	tests := map[string]string{
		"a plain child":             `echo begun; SLEEP`,
		"one that ignores SIGTERM":  `trap '' TERM; echo begun; while :; do SLEEP; done`,
		"a background child":        `SLEEP & echo begun; wait`,
		"one in its own session":    `setsid SLEEP & echo begun; wait`,
		"a double fork on the pipe": `(setsid sh -c 'SLEEP & exit' &); echo begun; SLEEP`,
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			sleep := testproc.Sleep(t)
			var r *proc.Result
			testproc.LongEnough(300*time.Millisecond, func(limit time.Duration) bool {
				c := sh(strings.ReplaceAll(script, "SLEEP", string(sleep)))
				c.Timeout, c.Grace = limit, 200*time.Millisecond
				r = run(t, c)
				return strings.Contains(r.Stdout.String(), "begun")
			})
			assert.True(t, r.TimedOut)
			assert.Contains(t, r.Stdout.String(), "begun", "what was printed until then is kept")
			assert.Less(t, r.Duration, 5*time.Minute)
			sleep.Gone(t)
		})
	}
}

func TestNothingIsLeftAfterANormalEnd(t *testing.T) {
	for name, script := range map[string]string{
		"in the group":  `SLEEP & echo done`,
		"in a session":  `setsid SLEEP & echo done`,
		"without pipes": `setsid SLEEP >/dev/null 2>&1 </dev/null & echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			sleep := testproc.Sleep(t)
			r := run(t, sh(strings.ReplaceAll(script, "SLEEP", string(sleep))))
			assert.Zero(t, r.ExitCode)
			assert.Equal(t, "done\n", r.Stdout.String())
			assert.Less(t, r.Duration, time.Minute, "a grandchild on the pipe does not hold the call")
			sleep.Gone(t)
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := sh(`echo begun; ` + string(testproc.Sleep(t)))
	c.OnLine = func(string, string) { cancel() }
	r, err := proc.Run(ctx, c)
	require.NoError(t, err)
	assert.True(t, r.Cancelled)
	assert.Equal(t, "begun\n", r.Stdout.String())
	r, err = proc.Run(ctx, sh(`echo never`))
	require.NoError(t, err)
	assert.True(t, r.Cancelled)
	assert.Empty(t, r.Stdout.String())
}

func TestOutputCap(t *testing.T) {
	c := sh(`seq 1 100000; echo e >&2`)
	c.Cap, c.SpillDir, c.SpillName = 1000, filepath.Join(t.TempDir(), "logs"), "step"
	r := run(t, c)
	whole, err := exec.Command("seq", "1", "100000").Output()
	require.NoError(t, err)
	o := r.Stdout
	assert.EqualValues(t, len(whole), o.Bytes)
	assert.EqualValues(t, 100000, o.Lines)
	assert.True(t, strings.HasPrefix(string(whole), string(o.Head)))
	assert.True(t, strings.HasSuffix(string(whole), string(o.Tail)))
	assert.EqualValues(t, len(whole), int64(len(o.Head)+len(o.Tail))+o.Omitted)
	assert.LessOrEqual(t, len(o.Head)+len(o.Tail), 1000)
	spilled, err := os.ReadFile(o.Path)
	require.NoError(t, err)
	assert.Equal(t, string(whole), string(spilled))
	assert.Contains(t, o.String(), o.Path)
	assert.Contains(t, o.String(), "bytes (")
	assert.True(t, strings.HasSuffix(string(whole), "\n"+string(o.Tail)), "the tail begins with a whole line")
	assert.True(t, strings.HasSuffix(o.String(),
		fmt.Sprintf("[%d of %d bytes are shown; the whole output is in %s]\n", o.Bytes-o.Omitted, o.Bytes, o.Path)))
	assert.Equal(t, "e\n", r.Stderr.String())
	assert.Empty(t, r.Stderr.Path, "short output needs no file")
}

func TestOutputJustAtTheCap(t *testing.T) {
	for size, truncated := range map[string]bool{"1000": false, "1001": true} {
		c := sh(`head -c ` + size + ` /dev/zero`)
		c.Cap = 1000
		assert.Equal(t, truncated, run(t, c).Stdout.Truncated(), size)
	}
}

func TestOutputIsCutBetweenCharacters(t *testing.T) {
	c := sh(`i=0; while [ $i -lt 500 ]; do printf '€'; i=$((i+1)); done`)
	c.Cap = 101
	o := run(t, c).Stdout
	assert.Zero(t, len(o.Head)%3)
	assert.Zero(t, len(o.Tail)%3)
	assert.EqualValues(t, 1500, int64(len(o.Head)+len(o.Tail))+o.Omitted)
}

func TestSpillThatFailsIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	c := sh(`seq 1 1000`)
	c.Cap, c.SpillDir = 100, filepath.Join(file, "below")
	o := run(t, c).Stdout
	require.Error(t, o.SpillErr)
	assert.Contains(t, o.String(), "could not be kept")
	assert.Contains(t, o.String(), "\n1000\n[", "the end of what was printed")
	assert.True(t, strings.HasSuffix(o.String(),
		"of 3893 bytes are shown; it could not be kept: "+o.SpillErr.Error()+"]\n"), "the last line says so too")
}

func TestFloodTakesBoundedMemory(t *testing.T) {
	testneed.NotShort(t, "writes much output")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := run(t, sh(`yes | head -c 1000000000`)).Stdout
	runtime.ReadMemStats(&after)
	assert.EqualValues(t, 1_000_000_000, o.Bytes)
	assert.EqualValues(t, 500_000_000, o.Lines)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
}

func TestOnLine(t *testing.T) {
	var mu sync.Mutex
	lines := map[string][]string{}
	c := sh(`printf 'a\nb\r\nc'; printf 'x\n' >&2`)
	c.OnLine = func(stream, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines[stream] = append(lines[stream], line)
	}
	run(t, c)
	assert.Equal(t, map[string][]string{"stdout": {"a", "b", "c"}, "stderr": {"x"}}, lines)
}

func TestEnviron(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	t.Setenv("ALLOWED_ONE", "1")
	t.Setenv("LC_ALL", "C")
	env := proc.Environ(map[string]string{"PAGER": "less", "X": "y"}, "ALLOWED_*")
	assert.NotContains(t, strings.Join(env, "\n"), "s3cret")
	for _, want := range []string{"ALLOWED_ONE=1", "LC_ALL=C", "PAGER=less", "X=y", "GIT_TERMINAL_PROMPT=0",
		"NO_COLOR=1"} {
		assert.Contains(t, env, want)
	}
	assert.NotContains(t, env, "PAGER=cat")
	assert.NotContains(t, run(t, sh(`env`)).Stdout.String(), "s3cret")
}

func TestLookPath(t *testing.T) {
	workspace := t.TempDir()
	evil := filepath.Join(workspace, "bin")
	require.NoError(t, os.Mkdir(evil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(evil, "sh"), []byte("#!/bin/false"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(evil, "sh"), filepath.Join(t.TempDir(), "link")))
	t.Setenv("PATH", evil+string(filepath.ListSeparator)+"."+string(filepath.ListSeparator)+os.Getenv("PATH"))

	path, err := proc.LookPath("sh", workspace)
	require.NoError(t, err)
	assert.NotContains(t, path, workspace)

	for name, want := range map[string]tool.Code{
		"no-such-program":          tool.CommandNotFound,
		"bin/sh":                   tool.CommandNotFound,
		filepath.Join(evil, "sh"):  tool.PermissionDenied,
		filepath.Join(evil, "nil"): tool.CommandNotFound,
	} {
		_, err := proc.LookPath(name, workspace)
		require.Error(t, err, name)
		assert.Equal(t, want, tool.CodeOf(err), name)
		assert.NotEmpty(t, tool.AsError(err).Suggestion)
	}
}

// Programs in the directory that toolhost was started in are not on PATH.
func TestLookPathPassesRelativeDirectoriesOver(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "only-here"), []byte("#!/bin/false"), 0o755))
	t.Chdir(dir)
	t.Setenv("PATH", "bin")
	_, err := proc.LookPath("only-here", t.TempDir())
	assert.Equal(t, tool.CommandNotFound, tool.CodeOf(err), "%v", err)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	_, err = proc.LookPath("only-here", t.TempDir())
	assert.NoError(t, err, "the control")
}

func TestProgramsThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("text"), 0o644))
	for path, want := range map[string]tool.Code{
		filepath.Join(dir, "none"): tool.CommandNotFound,
		plain:                      tool.PermissionDenied,
		dir:                        tool.PermissionDenied,
	} {
		_, err := proc.Run(t.Context(), proc.Command{Argv: []string{path}})
		require.Error(t, err, path)
		assert.Equal(t, want, tool.CodeOf(err), path)
	}
}

func TestPrepareCanRefuse(t *testing.T) {
	c := sh(`echo no`)
	c.Prepare = func(*exec.Cmd) error { return tool.Errorf(tool.Unavailable, "no sandbox") }
	_, err := proc.Run(t.Context(), c)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
}

func TestManyRunsLeaveNothing(t *testing.T) {
	run(t, sh(`true`))
	testproc.Unchanged(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				_, err := proc.Run(t.Context(), sh(`echo a`))
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
}

// A process that clears its environment is found by its relatives while the command runs.
func TestCleanEnvironmentDoesNotHide(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux lists processes with their kin")
	sleep := testproc.Sleep(t)
	testproc.LongEnough(200*time.Millisecond, func(limit time.Duration) bool {
		c := sh(`env -i setsid ` + string(sleep) + ` & echo begun; wait`)
		c.Timeout, c.Grace = limit, 100*time.Millisecond
		r := run(t, c)
		assert.True(t, r.TimedOut)
		return strings.Contains(r.Stdout.String(), "begun")
	})
	assert.Empty(t, sleep.Running(t))
}

func TestTerminatedProcessesMayCleanUp(t *testing.T) {
	var r *proc.Result
	testproc.LongEnough(100*time.Millisecond, func(limit time.Duration) bool {
		c := sh(`trap 'echo cleaned; exit 7' TERM; echo begun; while :; do sleep 0.01; done`)
		c.Timeout, c.Grace = limit, time.Minute
		r = run(t, c)
		return strings.Contains(r.Stdout.String(), "begun")
	})
	assert.True(t, r.TimedOut)
	assert.Equal(t, 7, r.ExitCode)
	assert.Equal(t, "begun\ncleaned\n", r.Stdout.String())
}

func TestInterleavedStreamsStayApart(t *testing.T) {
	r := run(t, sh(`i=0; while [ $i -lt 2000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done`))
	assert.EqualValues(t, 2000, r.Stdout.Lines)
	assert.EqualValues(t, 2000, r.Stderr.Lines)
	assert.NotContains(t, r.Stdout.String(), "e")
	assert.NotContains(t, r.Stderr.String(), "o")
}

func TestBinaryOutput(t *testing.T) {
	dir := t.TempDir()
	c := sh(`head -c 30000 /dev/urandom | tee copy`)
	c.Dir = dir
	r := run(t, c)
	want, err := os.ReadFile(filepath.Join(dir, "copy"))
	require.NoError(t, err)
	assert.Equal(t, want, r.Stdout.Head)
	c.Cap = 1001
	o := run(t, c).Stdout
	assert.EqualValues(t, 30000, int64(len(o.Head)+len(o.Tail))+o.Omitted)
}

func TestLongInputToAProgramThatDoesNotRead(t *testing.T) {
	c := sh(`exit 3`)
	c.Stdin = make([]byte, 1<<20)
	assert.Equal(t, 3, run(t, c).ExitCode)
	c = sh(`wc -c`)
	c.Stdin = make([]byte, 1<<20)
	assert.Equal(t, "1048576\n", run(t, c).Stdout.String())
}

func TestSpillLimit(t *testing.T) {
	c := sh(`seq 1 10000`)
	c.Cap, c.SpillDir, c.SpillLimit = 100, t.TempDir(), 1000
	o := run(t, c).Stdout
	info, err := os.Stat(o.Path)
	require.NoError(t, err)
	assert.EqualValues(t, 1000, info.Size())
	assert.EqualValues(t, 0o600, info.Mode().Perm())
	assert.Contains(t, o.String(), "the first 1000 bytes are in "+o.Path)
	assert.Contains(t, o.String(), "\n10000\n[", "the end of what was printed")
	assert.True(t, strings.HasSuffix(o.String(), "the first 1000 bytes are in "+o.Path+"]\n"),
		"the last line says so too")
}

// A command can make links where its output will be kept.
func TestSpillFollowsNoLinkOut(t *testing.T) {
	outside, workspace := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "stdout.txt")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for name, script := range map[string]string{
		"directory": `rm -rf logs; ln -s ` + outside + ` logs; seq 1 1000`,
		"file":      `rm -rf logs; mkdir logs; ln -s ` + victim + ` logs/stdout.txt; seq 1 1000`,
		"hard link": `rm -rf logs; mkdir logs; ln ` + victim + ` logs/stdout.txt; seq 1 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			c := sh(script)
			c.Dir, c.Cap, c.SpillRoot, c.SpillDir = workspace, 100, workspace, filepath.Join(workspace, "logs")
			o := run(t, c).Stdout
			assert.Contains(t, o.String(), "\n1000\n[")
			kept, err := os.ReadFile(victim)
			require.NoError(t, err)
			assert.Equal(t, "precious", string(kept))
		})
	}
}

func TestLimit(t *testing.T) {
	limit := proc.NewLimit(1)
	begun, end := make(chan struct{}), make(chan struct{})
	first := sh(`echo begun; exec ` + string(testproc.Sleep(t)))
	first.Limit = limit
	first.OnLine = func(string, string) { close(begun) }
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(end)
		_, _ = proc.Run(ctx, first)
	}()
	testproc.Receive(t, begun)
	second := sh(`echo second`)
	second.Limit = limit
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err := proc.Run(short, second)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	cancel()
	testproc.Receive(t, end)
	assert.Equal(t, "second\n", run(t, second).Stdout.String())
}

func TestMissingDirectory(t *testing.T) {
	c := sh(`true`)
	c.Dir = filepath.Join(t.TempDir(), "none")
	_, err := proc.Run(t.Context(), c)
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	assert.ErrorContains(t, err, "working directory")
}

func BenchmarkRun(b *testing.B) {
	path, err := proc.LookPath("true", "")
	require.NoError(b, err)
	env := proc.Environ(nil)
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			_, _ = proc.Run(b.Context(), proc.Command{Argv: []string{path}, Env: env})
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(path)
			cmd.Env = env
			_, _ = cmd.Output()
		}
	})
}
