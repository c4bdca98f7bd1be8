package session_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/session"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

const patience = time.Minute

// TestMain is also another program, which starts a session and runs until it is killed.
func TestMain(m *testing.M) {
	if root := os.Getenv("SESSION_TEST_ROOT"); root != "" {
		a := arena{root: root, level: sandbox.Level(os.Getenv("SESSION_TEST_LEVEL"))}
		s := session.New(background.Open(root+"-tasks", background.Options{}), session.Options{})
		_, err := s.Start(context.Background(), a.spec(true, "/bin/sh", "-c", os.Getenv("SESSION_TEST_LINE")))
		fmt.Println(err)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

type arena struct {
	t     *testing.T
	root  string
	level sandbox.Level
	all   *session.Sessions
	tasks *background.Store
	store *undo.Store
	ws    *workspace.Workspace
	calls int
}

func newArena(t *testing.T, level sandbox.Level, o session.Options) *arena {
	t.Helper()
	if level != sandbox.Off {
		testneed.NotShort(t, "needs a level of the sandbox")
	}
	report := sandbox.Detect(t.Context())
	if level == sandbox.Full && !report.Full.Works {
		testneed.Missing(t, report.Full.Reason)
	}
	if level == sandbox.Landlock && !report.Landlock.Works {
		testneed.Missing(t, report.Landlock.Reason)
	}
	root, err := filepath.EvalSymlinks(testneed.VisibleDir(t))
	require.NoError(t, err)
	a := &arena{t: t, root: root, level: level, tasks: background.Open(t.TempDir(), background.Options{MaxRunning: 3})}
	a.all = session.New(a.tasks, o)
	a.store, err = undo.Open(t.TempDir(), undo.Options{})
	require.NoError(t, err)
	a.ws, err = workspace.Open(root, workspace.Options{Recorder: a.store.Recorder("", "", 0)})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := a.tasks.EndAll(context.Background(), func(*background.Task) bool { return true }, "the test ends")
		require.NoError(t, err)
		_ = a.ws.Close()
	})
	return a
}

func each(t *testing.T, o session.Options, test func(*arena)) {
	t.Helper()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock, sandbox.Off} {
		t.Run(string(level), func(t *testing.T) { test(newArena(t, level, o)) })
	}
}

func (a *arena) spec(terminal bool, argv ...string) session.Spec {
	policy := sandbox.Policy{Level: a.level, Workspace: a.root}
	return session.Spec{OnTerminal: terminal, Spec: background.Spec{
		Session: "s", Kind: "terminal", Title: strings.Join(argv, " "), Argv: argv, Dir: a.root,
		Env: proc.Environ(map[string]string{"TERM": "dumb"}), Grace: 300 * time.Millisecond, Confine: &policy,
	}}
}

func (a *arena) start(terminal bool, argv ...string) *session.Session {
	a.t.Helper()
	s, err := a.all.Start(a.t.Context(), a.spec(terminal, argv...))
	require.NoError(a.t, err)
	return s
}

func (a *arena) write(s *session.Session, text string) {
	a.t.Helper()
	require.NoError(a.t, s.Write(a.t.Context(), []byte(text)))
}

// until reads up to a text, and returns it all.
func (a *arena) until(s *session.Session, text string) string {
	a.t.Helper()
	o := s.Read(a.t.Context(), patience, text)
	require.True(a.t, o.Found, "%q does not come after %q", text, o.Text)
	return o.Text
}

func (a *arena) ends(s *session.Session) (session.Output, *background.Task) {
	a.t.Helper()
	o := s.Read(a.t.Context(), patience, "\x00never")
	require.True(a.t, o.Ended)
	task, err := s.Task()
	require.NoError(a.t, err)
	return o, task
}

func TestREPLOfPython(t *testing.T) {
	python := testneed.Program(t, "python3")
	each(t, session.Options{}, func(a *arena) {
		s := a.start(true, python, "-q")
		a.until(s, ">>> ")
		a.write(s, "x = 6\n")
		a.until(s, ">>> ")
		a.write(s, "print(x * 7, input.__name__)\n")
		assert.Contains(a.t, a.until(s, ">>> "), "42 input")
		a.write(s, "while True: print(1)\n\n")
		a.until(s, "1\r\n1\r\n") // before that, ctrl-C would cancel the typed input
		a.write(s, "\x03")
		a.until(s, "KeyboardInterrupt")
		a.until(s, ">>> ")
		a.write(s, "raise SystemExit(5)\n")
		_, task := a.ends(s)
		require.NotNil(a.t, task.ExitCode)
		assert.Equal(a.t, 5, *task.ExitCode)
		assert.Error(a.t, s.Write(a.t.Context(), []byte("x")), "it has ended")
	})
}

func TestGitAddInPieces(t *testing.T) {
	git := testneed.Program(t, "git")
	each(t, session.Options{}, func(a *arena) {
		require.NoError(a.t, os.WriteFile(filepath.Join(a.root, "f"), []byte("1\n"), 0o600))
		for _, line := range []string{"init -q", "add f", "commit -qm m"} {
			testgit.Run(a.t, a.root, strings.Fields(line)...)
		}
		require.NoError(a.t, os.WriteFile(filepath.Join(a.root, "f"), []byte("1\n2\n"), 0o600))
		s := a.start(true, git, "add", "-p")
		a.until(s, "]? ")
		a.write(s, "y\n")
		a.ends(s)
		assert.Contains(a.t, testgit.Run(a.t, a.root, "diff", "--cached", "--stat"), "1 insertion")
	})
}

func TestTerminal(t *testing.T) {
	each(t, session.Options{}, func(a *arena) {
		s := a.start(true, "/bin/sh", "-c", `trap 'stty size' WINCH; stty size; tty >/dev/null 2>&1
			[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; while :; do sleep 0.05; done`)
		assert.Equal(a.t, "24 80\r\nterminal\r\n", a.until(s, "terminal\r\n"))
		require.NoError(a.t, s.Resize(proc.Size{Rows: 50, Columns: 132}))
		a.until(s, "50 132\r\n")
		require.NoError(a.t, s.Signal(syscall.SIGINT))
		_, task := a.ends(s)
		require.NotNil(a.t, task.ExitCode)
		assert.Equal(a.t, 130, *task.ExitCode)
	})
}

func TestPasswordIsNotShown(t *testing.T) {
	a := newArena(t, sandbox.Off, session.Options{})
	s := a.start(true, "/bin/sh", "-c", `stty -echo; printf 'password: '; read p; stty echo; echo; echo "${#p} letters"; read x`)
	a.until(s, "password: ")
	assert.True(t, s.Silent())
	a.write(s, "hunter22\n")
	assert.Equal(t, "\r\n8 letters\r\n", a.until(s, "letters\r\n"))
	assert.False(t, s.Silent())
}

func TestPipes(t *testing.T) {
	each(t, session.Options{}, func(a *arena) {
		s := a.start(false, "/bin/sh", "-c", `[ -t 0 ] || echo pipe; cat; echo end >&2`)
		a.until(s, "pipe\n")
		a.write(s, "text\n")
		a.until(s, "text\n")
		s.CloseInput()
		o, task := a.ends(s)
		assert.Equal(a.t, "end\n", o.Text)
		assert.Equal(a.t, background.Completed, task.State)
	})
}

// A character that comes in two parts is returned whole.
func TestCharacterCutInTwo(t *testing.T) {
	a := newArena(t, sandbox.Off, session.Options{})
	s := a.start(false, "/bin/sh", "-c", `printf 'a\303'; read x; printf '\244b\n'; read x`)
	require.Eventually(t, func() bool {
		o := s.Read(t.Context(), 0, "")
		require.True(t, utf8.ValidString(o.Text))
		return o.Text == "a"
	}, patience, time.Millisecond)
	assert.Empty(t, s.Read(t.Context(), 10*time.Millisecond, "").Text)
	a.write(s, "\n")
	assert.Equal(t, "äb\n", a.until(s, "\n"))
}

func TestFlood(t *testing.T) {
	a := newArena(t, sandbox.Off, session.Options{Unread: 1000})
	s := a.start(true, "/bin/sh", "-c", `echo first; yes äöü | head -n 200000; echo last`)
	testproc.Receive(t, ended(s))
	o, _ := a.ends(s)
	assert.Less(t, len(o.Text), 1100)
	assert.Greater(t, o.Omitted, int64(1_000_000))
	assert.True(t, strings.HasPrefix(o.Text, "first\r\n"))
	assert.True(t, strings.HasSuffix(o.Text, "last\r\n"))
	assert.Contains(t, o.Text, fmt.Sprintf("[... %d bytes left out ...]", o.Omitted))
	assert.True(t, utf8.ValidString(o.Text))
}

// ended returns a channel that is closed when a session has ended, without reading from it.
func ended(s *session.Session) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !s.Ended() {
			time.Sleep(time.Millisecond)
		}
	}()
	return done
}

func TestIdleTime(t *testing.T) {
	a := newArena(t, sandbox.Off, session.Options{Idle: 50 * time.Millisecond})
	s := a.start(true, "/bin/sh", "-c", string(testproc.Sleep(t)))
	_, task := a.ends(s)
	assert.Equal(t, background.Killed, task.State)
	assert.Equal(t, "it was idle for 50ms", task.Reason)
}

func TestBoundsAndOwners(t *testing.T) {
	a := newArena(t, sandbox.Off, session.Options{})
	for range 3 {
		a.start(false, "/bin/sleep", "1000")
	}
	_, err := a.all.Start(t.Context(), a.spec(true, "/bin/true"))
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	tasks, err := a.tasks.List()
	require.NoError(t, err)
	require.Len(t, tasks, 3)
	found, err := a.all.Find(tasks[0].ID, "s")
	require.NoError(t, err)
	_, err = a.all.Find(tasks[0].ID, "another")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err), "of another session")
	_, _, err = a.tasks.Kill(t.Context(), tasks[0].ID)
	require.NoError(t, err)
	testproc.Receive(t, ended(found))
	_, err = a.all.Start(t.Context(), a.spec(true, "/no/such/program"))
	assert.Equal(t, tool.CommandNotFound, tool.CodeOf(err))
}

// call runs do as a call whose processes are watched, and returns what it changed.
func (a *arena) call(do func(ctx context.Context)) *effects.Report {
	a.t.Helper()
	a.calls++
	c := effects.New(a.store, undo.Call{Session: "s", ID: fmt.Sprint("c", a.calls)}, effects.Trees{Root: a.root})
	do(effects.With(a.t.Context(), c))
	report := c.End()
	require.NoError(a.t, report.Err)
	return report
}

func (a *arena) read(name string) string {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.root, name))
	if err != nil {
		return "none"
	}
	return string(data)
}

func (a *arena) shell() *session.Shell {
	bash := testneed.Program(a.t, "bash")
	return session.NewShell(a.all, func() background.Spec { return a.spec(false, bash, "--noprofile", "--norc").Spec })
}

func TestShell(t *testing.T) {
	each(t, session.Options{}, func(a *arena) {
		sh := a.shell()
		for _, c := range []struct {
			line, text string
			code       int
		}{
			{"mkdir -p d && cd d && export V='a b' && f() { echo f $1; }", "", 0},
			{`pwd; echo "$V"; f x`, a.root + "/d\na b\nf x\n", 0},
			{"echo out; echo err >&2; false", "out\nerr\n", 1},
			{"cat; read x; echo $?", "1\n", 0},
			{"printf 'no newline'", "no newline", 0},
			{"echo 'it'\\''s'\necho two", "it's\ntwo\n", 0},
			{"exec 7>&1; exec >/dev/null; echo lost", "", 0},
			{"exec >&7; echo back", "back\n", 0},
			{"(exit 9)", "", 9},
		} {
			ran, err := sh.Run(a.t.Context(), c.line, patience)
			require.NoError(a.t, err)
			assert.Equal(a.t, c.text, ran.Text, c.line)
			assert.Equal(a.t, c.code, ran.ExitCode, c.line)
		}
		ran, err := sh.Run(a.t.Context(), "if", patience)
		require.NoError(a.t, err)
		assert.Contains(a.t, ran.Text, "syntax error")
		assert.NotZero(a.t, ran.ExitCode)
		ran, err = sh.Run(a.t.Context(), "exit 3", patience)
		require.NoError(a.t, err)
		assert.True(a.t, ran.Ended)
		ran, err = sh.Run(a.t.Context(), "echo ${V-none}; pwd", patience)
		require.NoError(a.t, err)
		assert.Equal(a.t, "none\n"+a.root+"\n", ran.Text, "another shell")
		ran, err = sh.Run(a.t.Context(), "V=1; echo begun; "+string(testproc.Sleep(a.t)), 300*time.Millisecond)
		require.NoError(a.t, err)
		assert.True(a.t, ran.TimedOut)
		assert.Equal(a.t, "begun\n", ran.Text)
		_, err = sh.Run(a.t.Context(), "V=2", patience)
		require.NoError(a.t, err)
		sh.Restart()
		ran, err = sh.Run(a.t.Context(), "echo ${V-none}", patience)
		require.NoError(a.t, err)
		assert.Equal(a.t, "none\n", ran.Text)
	})
}

// What a session changes belongs to the call that caused it, and is undone with that.
func TestChangesBelongToCalls(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			a := newArena(t, level, session.Options{})
			sh := a.shell()
			run := func(line string) *effects.Report {
				return a.call(func(ctx context.Context) {
					ran, err := sh.Run(ctx, line, patience)
					require.NoError(t, err)
					require.Zero(t, ran.ExitCode, ran.Text)
				})
			}
			assert.Equal(t, []string{"a"}, run("echo 1 >a").Files)
			assert.Equal(t, []string{"a", "b"}, run("echo 2 >a; mkdir b; exec 5>open; echo x >&5").Files[:2])
			assert.Empty(t, run("true").Files)
			assert.Equal(t, []string{"open"}, run("echo y >&5").Files, "a file that is held open")
			run("exec 5>&-")
			assert.Equal(t, "x\ny\n", a.read("open"))
			undone := func(want map[string]string) {
				t.Helper()
				_, err := a.store.Undo(t.Context(), a.ws, undo.Selection{})
				require.NoError(t, err)
				for name, text := range want {
					assert.Equal(t, text, a.read(name))
				}
			}
			undone(map[string]string{"open": "x\n", "a": "2\n"})
			undone(map[string]string{"open": "none", "a": "1\n"})
			undone(map[string]string{"a": "none"})
		})
	}
}

// What a session changes between two calls belongs to the first of them.
func TestChangesBetweenCalls(t *testing.T) {
	a := newArena(t, sandbox.Full, session.Options{})
	sh := a.shell()
	report := a.call(func(ctx context.Context) {
		_, err := sh.Run(ctx, "(until [ -e go ]; do sleep 0.01; done; echo late >late) & ", patience)
		require.NoError(t, err)
	})
	assert.Empty(t, report.Files)
	require.NoError(t, os.WriteFile(filepath.Join(a.root, "go"), nil, 0o600))
	require.Eventually(t, func() bool { return a.read("late") == "late\n" }, patience, 5*time.Millisecond)
	report = a.call(func(ctx context.Context) {
		_, err := sh.Run(ctx, "wait", patience)
		require.NoError(t, err)
	})
	assert.Empty(t, report.Files)
	_, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Session: "s", Call: "c1"})
	require.NoError(t, err)
	assert.Equal(t, "none", a.read("late"))
}

func TestDeathOfTheHost(t *testing.T) {
	testneed.Program(t, "setsid")
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			a := newArena(t, level, session.Options{})
			sleep := testproc.Sleep(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "SESSION_TEST_ROOT="+a.root, "SESSION_TEST_LEVEL="+string(level),
				"SESSION_TEST_LINE="+string(sleep)+" & touch ready; exec "+string(sleep))
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = os.RemoveAll(a.root + "-tasks") })
			said, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "<nil>\n", said)
			require.Eventually(t, func() bool { return a.read("ready") == "" }, patience, 5*time.Millisecond)
			sleep.Started(t)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			sleep.Gone(t)
		})
	}
}

func TestSessionIsOutOfReach(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			a := newArena(t, level, session.Options{})
			outside := testneed.VisibleDir(t)
			sh := a.shell()
			require.NoError(t, os.Symlink(outside, filepath.Join(a.root, "link")))
			for _, line := range []string{
				"echo x >" + outside + "/made", "echo x >link/made", "cd link && echo x >made",
				"ln -s " + outside + " l2; echo x >l2/made", "mkdir " + outside + "/made",
			} {
				ran, err := sh.Run(t.Context(), line, patience)
				require.NoError(t, err)
				assert.NotZero(t, ran.ExitCode, line)
			}
			assert.NoFileExists(t, filepath.Join(outside, "made"))
		})
	}
}
