package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/test/testfilter"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// What the host keeps for a command is released at its end, however it ends.
func TestHostKeepsNothingOfACommand(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		policy := sandbox.Policy{Level: level, Workspace: t.TempDir()}.Prepared()
		sleep := testproc.Sleep(t)
		scripts := []string{"true", "touch a && chmod 600 a", "kill -9 $$", string(sleep) + " &"}
		round := func() {
			for _, script := range scripts {
				sh(t, policy, script)
			}
			_, err := proc.Run(t.Context(), command(policy, "/no/such/program"))
			assert.Error(t, err)
			long := command(policy, "/bin/true", strings.Repeat("x", 200_000))
			_, err = proc.Run(t.Context(), long)
			assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
		}
		round()
		testproc.Unchanged(t)
		for range 5 {
			round()
		}
		sleep.Gone(t)
	})
}

// A command that changes files and is watched leaves no descriptor open.
func TestWatchedCommandsKeepNoDescriptor(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		policy := sandbox.Policy{Level: level, Workspace: t.TempDir()}.Prepared()
		run := func() {
			run := command(policy, "/bin/sh", "-c", "echo x >a; rm a")
			_, err := proc.Run(watch.With(t.Context(), everything{}), run)
			require.NoError(t, err)
		}
		run()
		testproc.Unchanged(t)
		for range 50 {
			run()
		}
	})
}

// everything is a watcher of every path.
type everything struct{}

func (everything) Begin() func()                         { return func() {} }
func (everything) Active() bool                          { return true }
func (everything) Wants(string, watch.What) bool         { return true }
func (everything) Before(watch.Place, watch.What)        {}
func (everything) Rename(watch.Place, watch.Place, bool) {}
func (everything) Missed(string)                         {}

// The rulesets kept for the next command are closed in time, without a further command or garbage collection.
func TestKeptRulesetsAreClosed(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	need(t, sandbox.Landlock)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	rulesets := func() (n int) {
		files, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		for _, file := range files {
			if to, _ := os.Readlink(file); to == "anon_inode:[landlock-ruleset]" {
				n++
			}
		}
		return n
	}
	closed := func() bool { return rulesets() == 0 }
	require.Eventually(t, closed, time.Minute, 50*time.Millisecond, "those of other tests")
	policy := sandbox.Policy{Level: sandbox.Landlock, Workspace: t.TempDir()}.Prepared()
	sh(t, policy, "true")
	require.Eventually(t, closed, time.Minute, 50*time.Millisecond)
	assert.Equal(t, "again\n", sh(t, policy, "echo again").Stdout.String())
}

func TestSupervisedAtOnce(t *testing.T) {
	need(t, sandbox.Landlock)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			policy := sandbox.Policy{Level: sandbox.Landlock, Workspace: t.TempDir()}
			r, err := proc.Run(context.Background(), command(policy, "/bin/sh", "-c",
				`touch a; for m in 600 640 644 700; do chmod $m a && stat -c %a a; done; touch -d @1 a; stat -c %Y `+
					`a; chmod 777 /bin/sh || echo refused`))
			assert.NoError(t, err)
			assert.Equal(t, "600\n640\n644\n700\n1\nrefused\n", r.Stdout.String(), r.Stderr.String())
		})
	}
	wg.Wait()
}

// Go's runtime sends signals to threads. One that reaches a supervisor opening a file for a program must not
// give the program another file.
func TestSupervisedAmongSignals(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	need(t, sandbox.Landlock)
	ws := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stop()
	sending.Go(func() {
		for ctx.Err() == nil {
			threads, _ := os.ReadDir("/proc/self/task")
			for _, thread := range threads {
				if id, err := strconv.Atoi(thread.Name()); err == nil {
					_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG)
				}
			}
		}
	})
	r := sh(t, sandbox.Policy{Level: sandbox.Landlock, Workspace: ws},
		`i=0; while [ $i -lt 3000 ]; do echo $i > f && read got < f && [ "$got" = $i ] || { echo "file $i: $got"; `+
			`exit 1; }; i=$((i + 1)); done; echo ok`)
	assert.Equal(t, "ok\n", r.Stdout.String(), r.Stderr.String())
}

// TestInterruptedCalls makes calls during constant signals. No call is made twice on Linux 6.18 or later.
// Before, a few are; without the supervisor's memory of its answers, one in ten.
func TestInterruptedCalls(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	const ofOlder = 5 * makeRounds / 500
	if os.Getenv("SANDBOX_TEST_INTERRUPTED") == "" {
		most := ofOlder
		if kernel(t) >= 6_018 {
			most = 0
		}
		madeAmongSignals(t, most)
		cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptedCalls$", "-test.v")
		cmd.Env = append(os.Environ(), "SANDBOX_TEST_INTERRUPTED=1")
		testfilter.Behind(t, cmd, testfilter.Rule{Call: unix.SYS_SECCOMP, Errno: syscall.EINVAL, Arg: 1,
			Bits: unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV}) // as before Linux 6.0
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	_, gaps := sandbox.Detect(t.Context()).Promised(sandbox.Auto)
	assert.Contains(t, strings.Join(gaps, " "), "made twice")
	madeAmongSignals(t, ofOlder)
}

// kernel returns the version of the running kernel, 6_018 for 6.18.
func kernel(t *testing.T) int {
	t.Helper()
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	var major, minor int
	_, err = fmt.Sscanf(string(release), "%d.%d", &major, &minor)
	require.NoError(t, err)
	return 1000*major + minor
}

func madeAmongSignals(t *testing.T, mostTwice int) {
	t.Helper()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		self, err := os.Executable()
		require.NoError(t, err)
		c := command(sandbox.Policy{Level: level, Workspace: t.TempDir()}, self)
		c.Env = append(c.Env, "SANDBOX_TEST_MAKER=1")
		r := run(t, c)
		assert.Zero(t, r.ExitCode, r.Stdout.String()+r.Stderr.String())
		twice, err := strconv.Atoi(strings.TrimSpace(r.Stdout.String()))
		require.NoError(t, err)
		assert.LessOrEqual(t, twice, mostTwice, "calls that were made twice")
	})
}

const makeRounds = 500

// makeAmongSignals makes and removes directories and files during constant signals, and returns the number of
// calls that report that they were made before.
func makeAmongSignals() (twice int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	runtime.LockOSThread()
	thread, ended := unix.Gettid(), make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-signals:
			case <-time.After(200 * time.Microsecond):
				_ = unix.Tgkill(os.Getpid(), thread, unix.SIGUSR1)
			}
		}
	}()
	wrong := func(name string, err, ofSecond error) error {
		switch {
		case errors.Is(err, ofSecond):
			twice++
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for range makeRounds {
		made, openErr := unix.Open("f", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
		if openErr == nil {
			openErr = unix.Close(made)
		}
		if err := errors.Join(wrong("open", openErr, unix.EEXIST), wrong("mkdir", unix.Mkdir("d", 0o700), unix.EEXIST),
			wrong("rename", unix.Rename("d", "e"), unix.ENOENT), wrong("rmdir", unix.Rmdir("e"), unix.ENOENT),
			wrong("unlink", unix.Unlink("f"), unix.ENOENT)); err != nil {
			return twice, err
		}
	}
	return twice, nil
}

func TestKilledLauncher(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		sleep := testproc.Sleep(t)
		c := command(sandbox.Policy{Level: level, Workspace: t.TempDir()}, "/bin/sh", "-c",
			fmt.Sprintf(`echo begun; %[1]s & setsid %[1]s & %[1]s`, sleep))
		launcher := make(chan int, 1)
		c.OnStart = func(pid int) { launcher <- pid }
		c.OnLine = func(string, string) { assert.NoError(t, syscall.Kill(<-launcher, syscall.SIGKILL)) }
		r := run(t, c)
		assert.Equal(t, 137, r.ExitCode)
		assert.Equal(t, "killed", r.Signal)
		sleep.Gone(t)
	})
}

// Processes that outlive the program by a moment end by themselves; others are killed.
func TestWhatIsLeftBehind(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		policy := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		eventuallyGives(t, "done\ndone\ndone\n", func() string {
			r := sh(t, policy, `rm -f f; for i in 1 2 3; do `+
				`(exec env -i setsid sh -c 'sleep 0.1; echo done >> f') >&- 2>&- & done; exit 4`)
			assert.Equal(t, 4, r.ExitCode)
			return sh(t, policy, "cat f").Stdout.String()
		})

		sleep := testproc.Sleep(t)
		many := fmt.Sprintf(`for i in $(seq 20); do (exec env -i setsid sh -c '%[1]s & %[1]s') >&- 2>&- & done; exit 5`,
			sleep)
		assert.Equal(t, 5, sh(t, policy, many).ExitCode)
		sleep.Gone(t)
	})
}

// Process lists show a launcher's command.
func TestLauncherShowsItsCommand(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		c := command(sandbox.Policy{Level: level, Workspace: t.TempDir()}, "/bin/sh", "-c", "echo begun; read line",
			"shown")
		p, err := proc.Open(t.Context(), c)
		require.NoError(t, err)
		defer p.Stop()
		_, err = bufio.NewReader(p.Stdout).ReadString('\n')
		require.NoError(t, err)
		dir := "/proc/" + strconv.Itoa(p.PID())
		line, err := os.ReadFile(dir + "/cmdline")
		require.NoError(t, err)
		assert.Equal(t, "toolhost-launch\x00/bin/sh\x00-c\x00echo begun; read line\x00shown\x00", string(line))
		name, err := os.ReadFile(dir + "/comm")
		require.NoError(t, err)
		assert.Equal(t, "toolhost-launch\n", string(name))
	})
}

// BenchmarkWrites opens a file 10,000 times to write it, watched.
func BenchmarkWrites(b *testing.B) {
	const script = "i=0; while [ $i -lt 10000 ]; do echo x >f; i=$((i+1)); done"
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Full} {
		b.Run(string(level), func(b *testing.B) {
			p := sandbox.Policy{Level: level, Workspace: b.TempDir()}
			before := cpuTime(b)
			for b.Loop() {
				c := command(p, "/bin/sh", "-c", script)
				_, err := proc.Run(watch.With(b.Context(), everything{}), c)
				require.NoError(b, err)
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

func cpuTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		require.NoError(b, syscall.Getrusage(who, &used))
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}
