package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// A served session has one beginning and one end, and both again when served again; the copies do not have the
// beginning.
func TestSessionsBegin(t *testing.T) {
	r := recorder(t)
	for range 2 {
		for range 2 {
			require.NoError(t, r.Begin("s", map[string]string{"toolset": "core"}))
			callOf(t, r, "s", "a", "")
		}
		require.NoError(t, r.End("s"))
	}
	one := []string{"session_started", "tool_call_started", "tool_call_finished", "tool_call_started",
		"tool_call_finished", "session_ended"}
	all := read(t, r, record.Filter{})
	assert.Equal(t, append(append([]string{}, one...), one...), names(all))
	assert.Contains(t, string(all[0].Line), `"toolset":"core"`)
	for _, line := range lines(t, r.ArtifactDir("s")+"/events.jsonl") {
		assert.NotContains(t, line, "session_started")
	}
	assert.Error(t, r.Begin("../s", nil))
}
