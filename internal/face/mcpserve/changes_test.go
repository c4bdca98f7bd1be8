package mcpserve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// A result says what its call changed, and how to undo it if the user can.
func TestWhatACallChanged(t *testing.T) {
	const note = "generated files are not kept"
	h := newHost(t, host.Options{
		CallID: func() string { return "k7f2" },
		Effects: func(context.Context) func() ([]string, string, bool) {
			return func() ([]string, string, bool) { return []string{"a.txt", "b.txt"}, note, true }
		},
	}, newTool("change", tool.Dangerous, func(context.Context, *tool.Call) (*tool.Result, error) {
		return tool.Text("done"), nil
	}))
	for undo, want := range map[bool]string{
		true:  "2 paths changed: a.txt, b.txt; undo: toolhost undo k7f2. " + note,
		false: "2 paths changed: a.txt, b.txt. " + note,
	} {
		w := dialWith(t, h, mcpserve.Options{NoUndo: !undo})
		w.initialize("2025-11-25")
		w.send(callMessage(1, "change", "{}"))
		result := w.receive()["result"].(map[string]any)["content"].([]any)
		assert.Equal(t, want, result[len(result)-1].(map[string]any)["text"])
	}
}
