package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

var confined = []sandbox.Level{sandbox.Landlock, sandbox.Full}

// need skips a test where the level does not work.
func need(t testing.TB, level sandbox.Level) {
	t.Helper()
	testneed.NotShort(t, "needs a level of the sandbox")
	report := sandbox.Detect(t.Context())
	verdict := map[sandbox.Level]sandbox.Verdict{sandbox.Full: report.Full, sandbox.Landlock: report.Landlock}[level]
	if !verdict.Works {
		testneed.Missing(t, "sandbox level "+string(level)+" does not work here: "+verdict.Reason)
	}
}

func eachLevel(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	for _, level := range confined {
		t.Run(string(level), func(t *testing.T) {
			need(t, level)
			test(t, level)
		})
	}
}

func command(p sandbox.Policy, argv ...string) proc.Command {
	return proc.Command{
		Argv: argv, Dir: p.Workspace, Env: proc.Environ(nil), Timeout: 5 * time.Minute,
		Prepare: func(cmd *exec.Cmd) error {
			_, err := sandbox.Apply(cmd, p)
			return err
		},
	}
}

func run(t *testing.T, c proc.Command) *proc.Result {
	t.Helper()
	r, err := proc.Run(t.Context(), c)
	require.NoError(t, err)
	return r
}

func sh(t *testing.T, p sandbox.Policy, script string) *proc.Result {
	t.Helper()
	return run(t, command(p, "/bin/sh", "-c", script))
}

func TestTheProgramSeesItselfUnchanged(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		c := command(p, "/bin/sh", "-c", `echo "$0 $PWD $ODD"; cat; echo err >&2; env | grep -c TOOLHOST_; exit 3`,
			"zero")
		c.Env = append(c.Env, "ODD=a\nb")
		c.Stdin = []byte("input\n")
		r := run(t, c)
		assert.Equal(t, 3, r.ExitCode)
		real, err := filepath.EvalSymlinks(p.Workspace)
		require.NoError(t, err)
		// The one variable is the mark of the run.
		assert.Equal(t, "zero "+real+" a\nb\ninput\n1\n", r.Stdout.String())
		assert.Equal(t, "err\n", r.Stderr.String())
	})
}

func TestSignals(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		r := sh(t, p, `kill -9 $$`)
		assert.Equal(t, 137, r.ExitCode)
		assert.Equal(t, "killed", r.Signal)

		testproc.LongEnough(500*time.Millisecond, func(limit time.Duration) bool {
			c := command(p, "/bin/sh", "-c", `trap 'echo cleaned; exit 7' TERM; echo begun; while :; do sleep 0.01; done`)
			c.Timeout, c.Grace = limit, time.Minute
			r = run(t, c)
			return strings.Contains(r.Stdout.String(), "begun")
		})
		assert.True(t, r.TimedOut)
		assert.Equal(t, 7, r.ExitCode, "SIGTERM reaches the program, and it has time")
		assert.Equal(t, "begun\ncleaned\n", r.Stdout.String())

		sleep := testproc.Sleep(t)
		testproc.LongEnough(300*time.Millisecond, func(limit time.Duration) bool {
			c := command(p, "/bin/sh", "-c", fmt.Sprintf(`trap '' TERM; setsid %[1]s & echo begun; %[1]s`, sleep))
			c.Timeout, c.Grace = limit, 200*time.Millisecond
			r = run(t, c)
			return strings.Contains(r.Stdout.String(), "begun")
		})
		assert.True(t, r.TimedOut)
		sleep.Gone(t)
	})
}

func TestOutputOfAProcessLeftBehind(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		eventuallyGives(t, "first\nlate\n", func() string { // it may end by itself
			p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
			return sh(t, p, `(sleep 0.05; echo late) & echo first`).Stdout.String()
		})
		began := time.Now()
		sleep := testproc.Sleep(t)
		sh(t, sandbox.Policy{Level: level, Workspace: t.TempDir()}, `(exec env -i setsid `+string(sleep)+`) & exit 0`)
		assert.Less(t, time.Since(began), time.Minute)
		sleep.Gone(t)
	})
}

// eventuallyGives repeats try, since half a second for a command is short on a busy machine, until it returns
// want.
func eventuallyGives(t *testing.T, want string, try func() string) {
	t.Helper()
	got := try()
	for end := time.Now().Add(time.Minute); got != want && time.Now().Before(end); {
		got = try()
	}
	require.Equal(t, want, got)
}

func TestKilledHostLeavesNothing(t *testing.T) {
	need(t, sandbox.Full)
	sleep := testproc.Sleep(t)
	host := exec.Command("/proc/self/exe", "-test.run=^TestHostToKill$")
	host.Env = append(os.Environ(), "HOST_TO_KILL="+string(sleep), "TMPDIR="+t.TempDir())
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, host.Process.Kill())
	_ = host.Wait()
	sleep.Gone(t)
}

// TestHostToKill is run by TestKilledHostLeavesNothing.
func TestHostToKill(t *testing.T) {
	sleep := testneed.Child(t, "HOST_TO_KILL", "TestKilledHostLeavesNothing")
	c := command(sandbox.Policy{Level: sandbox.Full, Workspace: t.TempDir()},
		"/bin/sh", "-c", fmt.Sprintf(`(exec env -i setsid %[1]s) & %[1]s & echo begun; %[1]s`, sleep))
	c.OnLine = func(string, string) { _, _ = os.Stdout.WriteString("x") }
	run(t, c)
}

func TestNetworkCanBeGranted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	bash := testneed.Program(t, "bash")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		for _, granted := range []bool{false, true} {
			p := sandbox.Policy{Level: level, Workspace: t.TempDir(), Network: granted}
			r := run(t, command(p, bash, "-c", `exec 3<>/dev/tcp/127.0.0.1/`+port))
			assert.Equal(t, granted, r.ExitCode == 0, r.Stderr.String())
		}
	})
}

func TestPathsCanBeGranted(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		more, shown := t.TempDir(), filepath.Join(t.TempDir(), "shown")
		require.NoError(t, os.WriteFile(shown, []byte("shown"), 0o644))
		script := `cat ` + shown + `; echo x > ` + more + `/x; echo y > ` + shown
		r := sh(t, p, script)
		assert.Empty(t, r.Stdout.String(), "the host's /tmp is hidden")
		assert.NoFileExists(t, filepath.Join(more, "x"))
		p.ReadWrite, p.ReadOnly = []string{more}, []string{shown, "/no/such/place"}
		r = sh(t, p, script)
		assert.Equal(t, "shown", r.Stdout.String())
		assert.FileExists(t, filepath.Join(more, "x"))
		kept, err := os.ReadFile(shown)
		require.NoError(t, err)
		assert.Equal(t, "shown", string(kept))
	})
}

// A program that only reads has a place for temporary files.
func TestScratch(t *testing.T) {
	t.Chdir("/") // the home directory, which may contain this repository, is hidden
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		dir, err := os.MkdirTemp("/tmp", "toolhost-test-") // where the process has scratch space
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		p := sandbox.Policy{Level: level, NoCache: true, ReadOnly: []string{dir},
			Scratch: filepath.Join(dir, "deep", "tmp")}
		r := sh(t, p, `echo x > $TMPDIR/x && cat $TMPDIR/x; cd `+dir+` && for f in x deep/x; do echo y > $f; done`)
		assert.Equal(t, "x\n", r.Stdout.String(), r.Stderr.String())
		assert.NoFileExists(t, filepath.Join(dir, "x"))
		assert.NoFileExists(t, filepath.Join(dir, "deep", "x"))
		outside := t.TempDir()
		p.Scratch = filepath.Join(dir, "link", "tmp")
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
		_, err = proc.Run(t.Context(), command(p, "/bin/true"))
		assert.Equal(t, level == sandbox.Landlock, err != nil, err)
		assert.NoDirExists(t, filepath.Join(outside, "tmp"))
	})
}

// The home directory may be the workspace, except for its secrets.
func TestHomeAsWorkspace(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir("/") // with another HOME, the one that may contain this repository is hidden
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(home, "work"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config", "git"), 0o700))
	for _, name := range []string{".ssh/id", ".netrc", ".config/token", ".config/git/config", "work/file"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte("content of "+name), 0o600))
	}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: home}
		r := sh(t, p, `cat .ssh/id .netrc .config/token; cat work/file; echo x >> .ssh/id; echo x > work/new`)
		assert.Equal(t, "content of work/file", r.Stdout.String())
		assert.FileExists(t, filepath.Join(home, "work", "new"))
		kept, err := os.ReadFile(filepath.Join(home, ".ssh", "id"))
		require.NoError(t, err)
		assert.Equal(t, "content of .ssh/id", string(kept))
		p = sandbox.Policy{Level: level, ReadOnly: []string{home}}
		assert.Equal(t, "content of work/file", sh(t, p, `cd `+home+` && cat .ssh/id .netrc work/file`).Stdout.String())
		p = sandbox.Policy{Level: level, Workspace: home}
		assert.Equal(t, "content of .config/git/config", sh(t, p, `cat .config/git/config`).Stdout.String())
	})
}

func TestWhatCannotRun(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755))
	broken := filepath.Join(dir, "broken")
	require.NoError(t, os.WriteFile(broken, []byte("\x7fELF"), 0o755))
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		for path, want := range map[string]tool.Code{
			script: tool.CommandNotFound, broken: tool.PermissionDenied,
			filepath.Join(dir, "none"): tool.CommandNotFound,
		} {
			_, err := proc.Run(t.Context(), command(p, path))
			assert.Equal(t, want, tool.CodeOf(err), path)
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		}
	})
}

// A program that the host names runs even from a hidden place.
func TestProgramInAHiddenPlace(t *testing.T) {
	data, err := os.ReadFile("/bin/echo")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "my-echo")
	testfile.Program(t, program, string(data))
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		assert.Equal(t, "hello\n", run(t, command(p, program, "hello")).Stdout.String())
	})
}

func TestLimits(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir(), Limits: sandbox.Limits{OpenFiles: 77, FileSize: 4096}}
		r := sh(t, p, `ulimit -n; ulimit -c; head -c 100000 /dev/zero > big; stat -c %s big`)
		assert.Equal(t, "77\n0\n4096\n", r.Stdout.String())
	})
	need(t, sandbox.Full)
	p := sandbox.Policy{Level: sandbox.Full, Workspace: t.TempDir(), Limits: sandbox.Limits{Tmp: 1 << 20}}
	r := sh(t, p, `head -c 5000000 /dev/zero > /tmp/big`)
	assert.NotZero(t, r.ExitCode)
	assert.Contains(t, r.Stderr.String(), "No space left")
}

func TestExtraFiles(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		ours, theirs, err := os.Pipe()
		require.NoError(t, err)
		defer ours.Close()
		c := command(sandbox.Policy{Level: level, Workspace: t.TempDir()}, "/bin/sh", "-c",
			`echo three >&3; ls /proc/self/fd | wc -l`)
		c.ExtraFiles = []*os.File{theirs}
		r := run(t, c)
		require.NoError(t, theirs.Close())
		buf := make([]byte, 16)
		n, err := ours.Read(buf)
		require.NoError(t, err)
		assert.Equal(t, "three\n", string(buf[:n]))
		assert.Equal(t, "5\n", r.Stdout.String(), "no descriptor more: 0 to 3 and that of the listing")
	})
}

func TestManyAtOnce(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				r, err := proc.Run(context.Background(), command(p, "/bin/sh", "-c", "echo "+strconv.Itoa(i)))
				assert.NoError(t, err)
				assert.Equal(t, strconv.Itoa(i)+"\n", r.Stdout.String())
			})
		}
		wg.Wait()
	})
}

func TestWithoutProc(t *testing.T) {
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		cmd := exec.Command("/bin/sh", "-c", "echo $HOME")
		cmd.Dir = t.TempDir()
		got, err := sandbox.Apply(cmd, sandbox.Policy{Level: level})
		require.NoError(t, err)
		assert.Equal(t, level, got)
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, os.Getenv("HOME")+"\n", string(out))
		assert.Equal(t, syscall.SIGKILL, cmd.SysProcAttr.Pdeathsig)
	})
}

func TestPoliciesThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		policy sandbox.Policy
		want   tool.Code
	}{
		"unknown level":         {sandbox.Policy{Level: "strong"}, tool.InvalidArgument},
		"relative path":         {sandbox.Policy{Workspace: "work"}, tool.InvalidArgument},
		"everything writable":   {sandbox.Policy{Workspace: "/"}, tool.InvalidArgument},
		"missing path":          {sandbox.Policy{ReadWrite: []string{"/no/such/place"}}, tool.NotFound},
		"cache out of the tree": {sandbox.Policy{Workspace: t.TempDir(), CacheDir: t.TempDir()}, tool.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sandbox.Apply(exec.Command("/bin/true"), test.policy)
			require.Error(t, err)
			assert.Equal(t, test.want, tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		})
	}
}

// The workspace may have a link in the place of the cache.
func TestCacheThroughALinkOut(t *testing.T) {
	workspace, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(workspace, ".agent")))
	_, err := sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{Workspace: workspace})
	require.Error(t, err)
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestAutoIsTheStrongest(t *testing.T) {
	report := sandbox.Detect(t.Context())
	level, err := sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{})
	require.NoError(t, err)
	assert.Equal(t, report.Strongest, level)
	assert.NotEmpty(t, report.Promise)
	level, err = sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{Level: sandbox.Off})
	require.NoError(t, err)
	assert.Equal(t, sandbox.Off, level)
}
