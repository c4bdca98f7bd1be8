package mcpserve_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// failsAt is a recorder that cannot write one kind of event.
type failsAt string

func (failsAt) Step(context.Context, string) (int, error) { return 1, nil }

func (failsAt) ArtifactDir(string) string { return "" }

func (f failsAt) Event(_ context.Context, _, event string, _ any) error {
	if event == string(f) {
		return errors.New("no space left on device")
	}
	return nil
}

// A call that could not be shown after a restart does not become a task; a task whose end is not
// recorded is reported as after a restart.
func TestTaskThatIsNotRecorded(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":` +
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	for _, c := range []struct{ failsAt, want, status string }{
		{"", "task", "completed"},
		{"tool_call_started", "complete", ""},
		{"tool_call_finished", "task", "failed"},
	} {
		for _, required := range []bool{false, true} {
			t.Run(fmt.Sprint(c.failsAt, required), func(t *testing.T) {
				told := make(chan struct{}) // closed once the client knows of a task
				slow := newTool("slow", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
					if c.status != "" {
						<-told
						return tool.Text("done"), nil
					}
					time.Sleep(100 * time.Millisecond) // longer than a call that is no task
					return tool.Text("done"), nil
				})
				slow.def.AsTask = required
				w := dialWith(t, newHost(t, host.Options{Recorder: failsAt(c.failsAt)}, slow),
					mcpserve.Options{TaskAfter: time.Millisecond})
				w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{},` + meta + `}}`)
				result, _ := w.receive()["result"].(map[string]any)
				close(told)
				if c.status == "" {
					assert.NotContains(t, result, "taskId")
					assert.Contains(t, fmt.Sprint(result["content"]), "done")
					return
				}
				assert.Equal(t, c.want, result["resultType"], result)
				var state map[string]any
				testproc.Until(t, "the task has ended", func() (bool, string) {
					w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":%q,%s}}`,
						result["taskId"], meta))
					state, _ = w.receive()["result"].(map[string]any)
					return state["status"] != "working", fmt.Sprint(state)
				})
				assert.Equal(t, c.status, state["status"])
				if c.status == "failed" {
					assert.NotContains(t, state, "result")
					assert.Contains(t, fmt.Sprint(state["error"]), "lost: the call ended, and its end could not be recorded")
				}
			})
		}
	}
}
