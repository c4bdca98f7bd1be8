//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/fleet"
	"github.com/toolhost/toolhost/internal/fleet/worker"
	"github.com/toolhost/toolhost/internal/testneed"
)

// slow has a tool that takes long, and says something before.
const slow = `
tool "slow" {
  description = "Wait for the file that is named. Returns: a word before and a word after."
  risk        = "dangerous"
  param "file" {}
  command {
    argv = ["sh", "-c", "echo before; echo x >> began; while [ ! -e \"$1\" ]; do sleep 0.05; done; echo after",
      "sh", param.file]
  }
}
policy {
  dangerous = "allow"
}
`

// taskState is what a client hears of a task.
type taskState struct {
	Type    string `json:"resultType"`
	ID      string `json:"taskId"`
	Status  string `json:"status"`
	Message string `json:"statusMessage"`
	Result  struct {
		IsError bool `json:"isError"`
		Content []struct{ Text string }
	} `json:"result"`
	Error struct{ Message string } `json:"error"`
}

func (s *taskState) text() (all string) {
	for _, c := range s.Result.Content {
		all += c.Text + "\n"
	}
	return all
}

// taskIn is the task in an answer.
func taskIn(t *testing.T, answer string) *taskState {
	t.Helper()
	var message struct{ Result taskState }
	data, _, _ := strings.Cut(answer[max(0, strings.Index(answer, "{")):], "\n")
	require.NoError(t, json.Unmarshal([]byte(data), &message), "%.500s", answer)
	return &message.Result
}

func callAsTask(t *testing.T, url, name, arguments string) *taskState {
	t.Helper()
	task := taskIn(t, stateless(t, url, "tools/call", name,
		fmt.Sprintf(`{"name":%q,"arguments":%s`, name, arguments), `"request_id":"one",`))
	require.Equal(t, "task", task.Type)
	return task
}

func askTask(t *testing.T, url, id string) *taskState {
	t.Helper()
	return taskIn(t, stateless(t, url, "tasks/get", id, fmt.Sprintf(`{"taskId":%q`, id)))
}

// session is the only one that there is.
func (f *inside) session() string {
	f.t.Helper()
	all, err := f.gateway.Sessions(f.t.Context())
	require.NoError(f.t, err)
	require.Len(f.t, all, 1)
	for key := range all {
		return key
	}
	return ""
}

func quick(o *worker.Options) { o.TaskAfter = 50 * time.Millisecond }

// A session that moves waits for its tasks, of which clients hear meanwhile and after.
func TestMoveWaitsForTasks(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	f := newInside(t, slow, "", func(o *worker.Options) { quick(o); o.Drain = waits })
	task := callAsTask(t, f.url, "slow", `{"file":"go"}`)
	f.waitFor(func() bool { return f.began() == 1 })
	again := callAsTask(t, f.url, "slow", `{"file":"go"}`)
	assert.Equal(t, task.ID, again.ID, "the call goes on, and is not made again")
	key := f.session()
	require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
	for range 50 {
		assert.Equal(t, "working", askTask(t, f.url, task.ID).Status)
	}
	f.release("go")
	f.waitFor(f.left(key))
	after := askTask(t, f.url, task.ID)
	assert.Equal(t, "completed", after.Status)
	assert.Equal(t, "before\nafter", strings.TrimSpace(after.text()))
	assert.Equal(t, task.ID, callAsTask(t, f.url, "slow", `{"file":"go"}`).ID)
	assert.Equal(t, 1, f.began())
}

// left reports whether a session has left its first worker.
func (f *inside) left(key string) func() bool {
	return func() bool {
		all, err := f.gateway.Sessions(f.t.Context())
		return assert.NoError(f.t, err) && (all[key].Worker == "" || all[key].Epoch > 1)
	}
}

// ranOnce checks that the newest workspace has the effect of a call, and none has it
// twice.
func (f *inside) ranOnce() {
	f.t.Helper()
	all := 0
	for _, dir := range f.workspaces() {
		data, err := os.ReadFile(filepath.Join(dir, "began"))
		if errors.Is(err, fs.ErrNotExist) && !strings.Contains(dir, "-2-") {
			continue // one that is being removed
		}
		all++
		if assert.NoError(f.t, err) {
			assert.Equal(f.t, "x\n", string(data))
		}
	}
	assert.Positive(f.t, all)
}

// A task that does not end in time is ended, and its client hears why, with what it gave
// until then. It does not run again.
func TestTaskThatIsCutOff(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	for name, tt := range map[string]struct {
		end             func(f *inside, w *worker.Worker, key string)
		status, message string
		text            []string
	}{
		"a move": {func(f *inside, _ *worker.Worker, key string) {
			require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
			f.waitFor(f.left(key))
		}, "completed", "its session moved to another worker", []string{"The call was ended: its session moved", "before"}},
		"a drain": {func(_ *inside, w *worker.Worker, _ string) { w.Close() }, "completed",
			"its session moved to another worker", []string{"The call was ended: its session moved", "before"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newInside(t, slow, "")
			w := f.start1(discard, quick)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
			task := callAsTask(t, f.url, "slow", `{"file":"go"}`)
			f.waitFor(func() bool { return f.began() == 1 })
			key := f.session()
			f.start1(discard, quick)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 2 })
			tt.end(f, w, key)
			for range 2 {
				after := askTask(t, f.url, task.ID)
				assert.Equal(t, tt.status, after.Status)
				assert.Contains(t, after.Message, tt.message)
				assert.Equal(t, tt.status == "completed", after.Result.IsError)
				for _, text := range tt.text {
					assert.Contains(t, after.text(), text)
				}
			}
			assert.Equal(t, task.ID, callAsTask(t, f.url, "slow", `{"file":"go"}`).ID)
			missing := stateless(t, f.url, "tasks/get", strings.Repeat("A", 26),
				`{"taskId":"`+strings.Repeat("A", 26)+`"`)
			assert.Contains(t, missing, "there is no task of that id")
			f.ranOnce()
		})
	}
}

// keptTasks is what the hub keeps of the background tasks of sessions.
func keptTasks(t *testing.T, store *fleet.Store) (all string) {
	t.Helper()
	objects, err := store.Results.Objects.List(t.Context())
	if err != nil {
		require.ErrorIs(t, err, jetstream.ErrNoObjectsFound)
	}
	for _, object := range objects {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		data, err := store.Results.Objects.GetBytes(ctx, object.Name)
		cancel()
		if err != nil {
			continue // a newer one takes its place
		}
		if packed, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			text, err := io.ReadAll(packed)
			require.NoError(t, err)
			all += string(text)
		}
	}
	return all
}

const shell = `
workspace "scratch" {
  empty   = true
  config  = "HOME/agent.hcl"
  toolset = "clemini"
}
`

// The background tasks of a shell, after a move in which they ended, and one in which they
// were ended.
func TestBackgroundTasksAtAMove(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	for name, tt := range map[string]struct {
		drain  time.Duration
		end    func(f *inside, w *worker.Worker, key string)
		status string
		says   []string
	}{
		"it ends in time": {waits, func(f *inside, _ *worker.Worker, key string) {
			require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
			f.release("go")
			f.waitFor(f.left(key))
		}, "completed", []string{"before", "after"}},
		"it is ended": {0, func(f *inside, _ *worker.Worker, key string) {
			require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
			f.waitFor(f.left(key))
		}, "killed", []string{"before", "its session moved to another worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(o *worker.Options) { o.Drain, o.TaskAfter = tt.drain, -1 }
			f := newInside(t, "policy {\n  dangerous = \"allow\"\n}\n", shell)
			w := f.start1(discard, change)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
			s := session(t, f.url)
			started := callTool(t, s, "bash", map[string]any{"run_in_background": true,
				"command": `echo x >> began; printf "be%s\n" fore; while [ ! -e go ]; do sleep 0.05; done; echo after`}, nil)
			require.False(t, started.IsError, text(started))
			var id string
			_, rest, _ := strings.Cut(text(started), `"task_id":`)
			_, err := fmt.Sscanf(strings.TrimSpace(rest), "%q", &id)
			require.NoError(t, err, text(started))
			f.waitFor(func() bool { return f.began() == 1 })
			key := f.session()
			store := f.store()
			f.waitFor(func() bool { return strings.Contains(keptTasks(t, store), "before\n") })
			f.start1(discard, change)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 2 })
			tt.end(f, w, key)
			after := callTool(t, s, "task_output", map[string]any{"task_id": id, "wait": false}, nil)
			assert.Contains(t, text(after), fmt.Sprintf(`"status":%q`, tt.status))
			for _, says := range tt.says {
				assert.Contains(t, text(after), says)
			}
			f.ranOnce()
		})
	}
}
