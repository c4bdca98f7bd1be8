package background

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

const patience = time.Minute

// TestMain is also another program, which starts a task and runs until it is killed.
func TestMain(m *testing.M) {
	if root := os.Getenv("BACKGROUND_TEST_ROOT"); root != "" {
		spec := shell(root, os.Getenv("BACKGROUND_TEST_LINE"))
		spec.Confine = policy(root, sandbox.Level(os.Getenv("BACKGROUND_TEST_LEVEL")))
		t, err := openIn(root, Options{}).Start(context.Background(), spec)
		fmt.Println(t.ID, err)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// other runs this program as another process that starts a task, and returns the task's id.
func other(t *testing.T, root string, level sandbox.Level, line string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BACKGROUND_TEST_ROOT="+root, "BACKGROUND_TEST_LINE="+line,
		"BACKGROUND_TEST_LEVEL="+string(level))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	printed, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	id, rest, _ := strings.Cut(strings.TrimSpace(printed), " ")
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
func openIn(root string, o Options) *Store { return Open(root+"-tasks", o) }

// open makes a store in a new workspace. No task survives the test.
func open(t *testing.T, o Options) (s *Store, root string) {
	t.Helper()
	root = t.TempDir()
	s = openIn(root, o)
	t.Cleanup(func() {
		tasks, err := s.List()
		require.NoError(t, err)
		for _, task := range tasks {
			_, _, err := s.Kill(context.Background(), task.ID)
			require.NoError(t, err)
		}
	})
	return s, root
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
	s, root := open(t, Options{})
	spec := shell(root, "echo out; echo err >&2; cat; exit 3")
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
	s, root := open(t, Options{})
	task := start(t, s, shell(root, "echo first; "+string(testproc.Sleep(t))))
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

// Another program lists, reads and ends this one's tasks.
func TestATaskOfAnotherProgram(t *testing.T) {
	s, root := open(t, Options{})
	_, id := other(t, root, sandbox.Off, "echo begun; "+string(testproc.Sleep(t)))
	require.Eventually(t, func() bool { return output(t, s, id).Stdout.String() == "begun\n" }, patience,
		5*time.Millisecond)
	tasks, err := s.List()
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	assert.Equal(t, Running, tasks[0].State)
	killed, already, err := s.Kill(context.Background(), id)
	require.NoError(t, err)
	assert.False(t, already)
	assert.Equal(t, Killed, killed.State)
	assert.Equal(t, "killed", killed.Reason)
	assert.Equal(t, "begun\n", output(t, s, id).Stdout.String())
}

func TestUnknownTask(t *testing.T) {
	s, _ := open(t, Options{})
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
	s, root := open(t, Options{})
	spec := shell(root, "")
	spec.Argv = []string{"/no/such/program"}
	_, err := s.Start(context.Background(), spec)
	assert.Equal(t, tool.CommandNotFound, tool.CodeOf(err))
	tasks, err := s.List()
	require.NoError(t, err)
	assert.Empty(t, tasks)
}

func TestTimeout(t *testing.T) {
	s, root := open(t, Options{})
	spec := shell(root, string(testproc.Sleep(t)))
	spec.Timeout = 50 * time.Millisecond
	ended := wait(t, s, start(t, s, spec).ID)
	assert.Equal(t, TimedOut, ended.State)
	assert.Contains(t, ended.Reason, "50ms")
}

func TestBoundOnRunningTasksOfASession(t *testing.T) {
	s, root := open(t, Options{MaxRunning: 2})
	first := start(t, s, shell(root, string(testproc.Sleep(t))))
	start(t, s, shell(root, string(testproc.Sleep(t))))
	_, err := s.Start(context.Background(), shell(root, "true"))
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	another := shell(root, "true")
	another.Session = "another"
	start(t, s, another)
	_, _, err = s.Kill(context.Background(), first.ID)
	require.NoError(t, err)
	start(t, s, shell(root, "true"))
}

func TestOldTasksAreRemoved(t *testing.T) {
	s, root := open(t, Options{Keep: 2})
	var ids []string
	for range 4 {
		ids = append(ids, start(t, s, shell(root, "true")).ID)
		wait(t, s, ids[len(ids)-1])
	}
	tasks, err := s.List()
	require.NoError(t, err)
	require.Len(t, tasks, 3, "those kept, and the one that was started after")
	assert.Equal(t, ids[1], tasks[0].ID)
}

func TestEndOfASession(t *testing.T) {
	s, root := open(t, Options{})
	spec := shell(root, string(testproc.Sleep(t)))
	spec.Session = "ending"
	theirs, others := start(t, s, spec), start(t, s, shell(root, string(testproc.Sleep(t))))
	assert.True(t, theirs.Ours())
	ended, err := s.EndAll(context.Background(), func(t *Task) bool { return t.Session == "ending" }, "its session ended")
	require.NoError(t, err)
	assert.Equal(t, 1, ended)
	task, err := s.Get(theirs.ID)
	require.NoError(t, err)
	assert.Equal(t, Killed, task.State)
	assert.Equal(t, "its session ended", task.Reason)
	task, err = s.Get(others.ID)
	require.NoError(t, err)
	assert.Equal(t, Running, task.State)
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
}

func policy(root string, level sandbox.Level) *sandbox.Policy {
	return &sandbox.Policy{Level: level, Workspace: root}
}
