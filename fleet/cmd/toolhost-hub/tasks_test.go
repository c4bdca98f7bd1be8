package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/worker"
)

// slow has a tool that takes long and first prints something.
const slow = `
tool "slow" {
  description = "Wait for the file that is named. Returns: a word before and a word after."
  risk        = "dangerous"
  param "file" {}
  command {
    argv = ["sh", "-c", "echo before; echo x >> began; while [ ! -e \"$1\" ]; do sleep 0.05; done; echo x >> ended; echo after",
      "sh", param.file]
  }
}
policy {
  dangerous = "allow"
}
`

// taskState is what a client gets about a task.
type taskState struct {
	Type   string `json:"resultType"`
	ID     string `json:"taskId"`
	Status string `json:"status"`
}

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

// A session that moves waits for its tasks, which clients can follow meanwhile.
func TestMoveWaitsForTasks(t *testing.T) {
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
	isLost(t, f.url, task)
	assert.Equal(t, 1, f.began())
	assert.Equal(t, 1, f.lines("ended"), "also what the task did after the workspace was packed first")
}

// isLost checks that a task is no longer known, and that its call does not run again.
func isLost(t *testing.T, url string, task *taskState) {
	t.Helper()
	missing := stateless(t, url, "tasks/get", task.ID, fmt.Sprintf(`{"taskId":%q`, task.ID))
	assert.Contains(t, missing, "there is no task of that id")
	again := stateless(t, url, "tools/call", "slow", `{"name":"slow","arguments":{"file":"go"}`, `"request_id":"one",`)
	assert.Contains(t, again, `"toolhost/outcome":"lost"`)
}

// left reports whether a session has left its first worker.
func (f *inside) left(key string) func() bool {
	return func() bool {
		all, err := f.gateway.Sessions(f.t.Context())
		return err == nil && (all[key].Worker == "" || all[key].Epoch > 1)
	}
}

// ranOnce checks that the newest workspace has the effect of a call, and none has it twice.
func (f *inside) ranOnce() {
	f.t.Helper()
	all := 0
	for _, dir := range f.workspaces() {
		file := filepath.Join(dir, "began")
		if strings.Contains(dir, "-2-") { // its pack may still be unpacked
			f.waitFor(func() bool { data, _ := os.ReadFile(file); return len(data) > 0 })
		}
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // one that is being removed
		}
		all++
		if assert.NoError(f.t, err) {
			assert.Equal(f.t, "x\n", string(data))
		}
	}
	assert.Positive(f.t, all)
}

// A task that does not end in time is ended, and does not run again.
func TestTaskThatIsCutOff(t *testing.T) {
	for name, end := range map[string]func(f *inside, w *worker.Worker, key string){
		"a move": func(f *inside, _ *worker.Worker, key string) {
			require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
			f.waitFor(f.left(key))
		},
		"a drain": func(_ *inside, w *worker.Worker, _ string) { w.Close() },
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
			end(f, w, key)
			isLost(t, f.url, task)
			f.ranOnce()
		})
	}
}

const shell = `
workspace "scratch" {
  empty   = true
  config  = "HOME/agent.hcl"
  toolset = "clemini"
}
`

// A session that moves waits for its background tasks, and ends those that run on. The
// next worker does not know them.
func TestBackgroundTasksAtAMove(t *testing.T) {
	for name, tt := range map[string]struct {
		drain time.Duration
		ends  bool // in time
	}{"it ends in time": {waits, true}, "it is ended": {0, false}} {
		t.Run(name, func(t *testing.T) {
			change := func(o *worker.Options) { o.Drain, o.TaskAfter = tt.drain, -1 }
			f := newInside(t, "policy {\n  dangerous = \"allow\"\n}\n", shell)
			f.start1(discard, change)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
			s := session(t, f.url)
			started := callTool(t, s, "bash", map[string]any{"run_in_background": true,
				"command": `echo x >> began; while [ ! -e go ]; do sleep 0.05; done; echo x > ended`}, nil)
			require.False(t, started.IsError, text(started))
			var id string
			_, rest, _ := strings.Cut(text(started), `"task_id":`)
			_, err := fmt.Sscanf(strings.TrimSpace(rest), "%q", &id)
			require.NoError(t, err, text(started))
			f.waitFor(func() bool { return f.began() == 1 })
			f.start1(discard, change)
			f.waitFor(func() bool { return len(f.gateway.Workers()) == 2 })
			key := f.session()
			require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
			if tt.ends {
				f.release("go")
			}
			f.waitFor(f.left(key))
			after := callTool(t, s, "task_output", map[string]any{"task_id": id, "wait": false}, nil)
			assert.Contains(t, text(after), "Task not found")
			f.release("go")
			shown := callTool(t, s, "bash", map[string]any{"command": "ls"}, nil)
			assert.Equal(t, tt.ends, strings.Contains(text(shown), "ended"), text(shown))
			f.ranOnce()
		})
	}
}
