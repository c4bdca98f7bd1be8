//go:build unix

package background

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

const patience = time.Minute

// TestMain is also the program of another process: one that starts a task and
// ends, and one that owns a session until it is killed.
func TestMain(m *testing.M) {
	Main()
	root := os.Getenv("BACKGROUND_TEST_ROOT")
	switch os.Getenv("BACKGROUND_TEST_AS") {
	case "starter":
		t, err := openIn(root, Options{}).Start(context.Background(), shell(root, "echo begun; sleep 1000"))
		fmt.Println(t.ID, err)
		os.Exit(0)
	case "owner":
		s := openIn(root, Options{})
		owner, err := s.Own("owned")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		spec := shell(root, "sleep 1000")
		spec.Session = "owned"
		t, err := s.Start(context.Background(), spec)
		fmt.Println(t.ID, err)
		time.Sleep(time.Hour)
		runtime.KeepAlive(owner)
	}
	os.Exit(m.Run())
}

// other runs this program as another process, and gives the first word of what
// it prints.
func other(t *testing.T, as, root string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BACKGROUND_TEST_AS="+as, "BACKGROUND_TEST_ROOT="+root)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	require.Equal(t, "<nil>", rest)
	return cmd, id
}

func shell(root, line string) Spec {
	return Spec{
		Session: "s", Kind: "bash", Title: line, Argv: []string{"/bin/sh", "-c", line}, Dir: root,
		Env: proc.Environ(nil), Grace: 300 * time.Millisecond,
	}
}

// openIn opens the store of the workspace at root, which lies beside it.
func openIn(root string, o Options) *Store {
	o.Root = root
	return Open(root+"-tasks", o)
}

// open makes a store in a workspace of its own, in which no task survives the
// test.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	s := openIn(t.TempDir(), o)
	t.Cleanup(func() {
		tasks, err := s.List()
		require.NoError(t, err)
		for _, task := range tasks {
			_, _, err := s.Kill(context.Background(), task.ID)
			require.NoError(t, err)
		}
	})
	return s
}

func start(t *testing.T, s *Store, spec Spec) *Task {
	t.Helper()
	task, err := s.Start(context.Background(), spec)
	require.NoError(t, err)
	return task
}

func wait(t *testing.T, s *Store, id string) *Task {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	task, err := s.Wait(ctx, id)
	require.NoError(t, err)
	require.True(t, task.Done(), "the task ended")
	return task
}

func output(t *testing.T, s *Store, id string) *Output {
	t.Helper()
	o, err := s.Output(id)
	require.NoError(t, err)
	return o
}

func TestTaskRunsToItsEnd(t *testing.T) {
	s := open(t, Options{})
	spec := shell(s.options.Root, "echo out; echo err >&2; cat; exit 3")
	spec.Prefix, spec.Stdin = "task_", []byte("input")
	task := start(t, s, spec)
	assert.Regexp(t, `^task_[a-z0-9]{10}$`, task.ID)
	ended := wait(t, s, task.ID)
	assert.Equal(t, Completed, ended.State)
	require.NotNil(t, ended.ExitCode)
	assert.Equal(t, 3, *ended.ExitCode)
	assert.NotNil(t, ended.Ended)
	o := output(t, s, task.ID)
	assert.Equal(t, "out\ninput", o.Stdout.String())
	assert.Equal(t, "err\n", o.Stderr.String())
	assert.EqualValues(t, 2, o.Stdout.Lines)
	again, already, err := s.Kill(context.Background(), task.ID)
	require.NoError(t, err)
	assert.True(t, already)
	assert.Equal(t, Completed, again.State)
}

func TestTaskIsReadWhileItRuns(t *testing.T) {
	s := open(t, Options{})
	task := start(t, s, shell(s.options.Root, "echo first; sleep 1000"))
	assert.Equal(t, Running, task.State)
	assert.Nil(t, task.ExitCode)
	require.Eventually(t, func() bool { return output(t, s, task.ID).Stdout.String() == "first\n" }, patience,
		5*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	waited, err := s.Wait(ctx, task.ID)
	require.NoError(t, err)
	assert.Equal(t, Running, waited.State)
}

func TestTaskOutlivesWhoeverStartedIt(t *testing.T) {
	s := open(t, Options{})
	cmd, id := other(t, "starter", s.options.Root)
	require.NoError(t, cmd.Wait())
	require.Eventually(t, func() bool { return output(t, s, id).Stdout.String() == "begun\n" }, patience,
		5*time.Millisecond)
	task, err := s.Get(id)
	require.NoError(t, err)
	assert.Equal(t, Running, task.State)
	killed, already, err := s.Kill(context.Background(), id)
	require.NoError(t, err)
	assert.False(t, already)
	assert.Equal(t, Killed, killed.State)
	assert.Equal(t, "begun\n", output(t, s, id).Stdout.String())
}

func TestUnknownTask(t *testing.T) {
	s := open(t, Options{})
	for _, id := range []string{"nonexistent", "", "..", "../x", "a/b"} {
		_, err := s.Get(id)
		assert.Equal(t, tool.NotFound, tool.CodeOf(err), id)
		_, _, err = s.Kill(context.Background(), id)
		assert.Equal(t, tool.NotFound, tool.CodeOf(err), id)
		_, err = s.Output(id)
		assert.Equal(t, tool.NotFound, tool.CodeOf(err), id)
	}
}

func TestProgramThatDoesNotExist(t *testing.T) {
	s := open(t, Options{})
	spec := shell(s.options.Root, "")
	spec.Argv = []string{"/no/such/program"}
	_, err := s.Start(context.Background(), spec)
	assert.Equal(t, tool.CommandNotFound, tool.CodeOf(err))
	tasks, err := s.List()
	require.NoError(t, err)
	assert.Empty(t, tasks)
}

func TestTimeout(t *testing.T) {
	s := open(t, Options{})
	spec := shell(s.options.Root, "sleep 1000")
	spec.Timeout = 50 * time.Millisecond
	ended := wait(t, s, start(t, s, spec).ID)
	assert.Equal(t, TimedOut, ended.State)
	assert.Contains(t, ended.Reason, "50ms")
}

func TestBoundOnRunningTasksOfASession(t *testing.T) {
	s := open(t, Options{MaxRunning: 2})
	first := start(t, s, shell(s.options.Root, "sleep 1000"))
	start(t, s, shell(s.options.Root, "sleep 1000"))
	_, err := s.Start(context.Background(), shell(s.options.Root, "true"))
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	another := shell(s.options.Root, "true")
	another.Session = "another"
	start(t, s, another)
	_, _, err = s.Kill(context.Background(), first.ID)
	require.NoError(t, err)
	start(t, s, shell(s.options.Root, "true"))
}

func TestOldTasksAreRemoved(t *testing.T) {
	s := open(t, Options{Keep: 2})
	var ids []string
	for range 4 {
		ids = append(ids, start(t, s, shell(s.options.Root, "true")).ID)
		wait(t, s, ids[len(ids)-1])
	}
	tasks, err := s.List()
	require.NoError(t, err)
	require.Len(t, tasks, 3, "those kept, and the one that was started after")
	assert.Equal(t, ids[1], tasks[0].ID)
}

func TestTasksThatHoldMuchAreRemoved(t *testing.T) {
	s := open(t, Options{KeepBytes: 150_000})
	var ids []string
	for range 3 {
		ids = append(ids, start(t, s, shell(s.options.Root, "head -c 100000 /dev/zero")).ID)
		wait(t, s, ids[len(ids)-1])
	}
	start(t, s, shell(s.options.Root, "true"))
	tasks, err := s.List()
	require.NoError(t, err)
	require.Len(t, tasks, 2)
	assert.Equal(t, ids[2], tasks[0].ID)
}

func TestEndOfASession(t *testing.T) {
	s := open(t, Options{})
	owner, err := s.Own("owned")
	require.NoError(t, err)
	_, err = s.Own("owned")
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
	spec := shell(s.options.Root, "sleep 1000")
	spec.Session = "owned"
	theirs, others := start(t, s, spec), start(t, s, shell(s.options.Root, "sleep 1000"))
	ended, err := owner.End(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 1, ended)
	task, err := s.Get(theirs.ID)
	require.NoError(t, err)
	assert.Equal(t, Killed, task.State)
	task, err = s.Get(others.ID)
	require.NoError(t, err)
	assert.Equal(t, Running, task.State)
	_, err = s.Own("owned")
	require.NoError(t, err, "the session may have a new owner")
}

func TestTasksEndWithAnOwnerThatIsKilled(t *testing.T) {
	s := open(t, Options{})
	cmd, id := other(t, "owner", s.options.Root)
	task, err := s.Get(id)
	require.NoError(t, err)
	require.Equal(t, Running, task.State)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	ended := wait(t, s, id)
	assert.Equal(t, Killed, ended.State)
	assert.Equal(t, string(stopSession), ended.Reason)
}

// What a result names is a copy in the workspace, and never more than that.
func TestLongOutputIsCopied(t *testing.T) {
	s := open(t, Options{OutputCap: 100})
	task := start(t, s, shell(s.options.Root, "seq 1000"))
	wait(t, s, task.ID)
	whole, err := os.ReadFile(filepath.Join(s.dir, task.ID, "stdout"+logSuffix))
	require.NoError(t, err)
	first := output(t, s, task.ID).Stdout
	assert.Contains(t, first.String(), "the whole output is in "+filepath.Join(s.options.Root, ".agent"))
	copied, err := os.ReadFile(first.Path)
	require.NoError(t, err)
	assert.Equal(t, whole, copied)
	require.NoError(t, os.WriteFile(first.Path, []byte("forged"), 0o600))
	assert.Equal(t, first, output(t, s, task.ID).Stdout)
	copied, err = os.ReadFile(first.Path)
	require.NoError(t, err)
	assert.Equal(t, whole, copied, "made anew")

	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("keep"), 0o600))
	for name, put := range map[string]func() error{
		"file":      func() error { return os.Symlink(outside, first.Path) },
		"directory": func() error { return os.Symlink(filepath.Dir(outside), filepath.Dir(first.Path)) },
		"cache":     func() error { return os.Symlink(filepath.Dir(outside), filepath.Join(s.options.Root, ".agent")) },
		"pipe":      func() error { return exec.Command("mkfifo", filepath.Join(s.options.Root, ".agent")).Run() },
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(s.options.Root, ".agent")))
		if name == "file" || name == "directory" {
			require.NoError(t, os.MkdirAll(filepath.Dir(first.Path), 0o700))
		}
		if name == "directory" {
			require.NoError(t, os.Remove(filepath.Dir(first.Path)))
		}
		require.NoError(t, put(), name)
		again := output(t, s, task.ID).Stdout
		assert.Equal(t, first.Head, again.Head, name)
		assert.Equal(t, name == "file", again.SpillErr == nil, "%s: %v", name, again.SpillErr)
		kept, err := os.ReadDir(filepath.Dir(outside))
		require.NoError(t, err)
		assert.Len(t, kept, 1, name)
		data, err := os.ReadFile(outside)
		require.NoError(t, err)
		assert.Equal(t, "keep", string(data), name)
	}
}

func TestWhereThereIsNoPlace(t *testing.T) {
	s := Open("", Options{})
	_, err := s.Start(t.Context(), shell(t.TempDir(), "true"))
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.ErrorContains(t, err, "there is no place for background tasks")
	tasks, err := s.List()
	require.NoError(t, err)
	assert.Empty(t, tasks)
	_, err = s.Get("x")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	owner, err := s.Own("s")
	require.NoError(t, err)
	_, err = owner.End(t.Context())
	require.NoError(t, err)
}

func policy(root string, level sandbox.Level) *sandbox.Policy {
	return &sandbox.Policy{Level: level, Workspace: root}
}
