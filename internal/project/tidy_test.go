package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/record"
)

// openKept opens the project of an agent.hcl with its own state, and serves a session that changed a
// file.
func openKept(t *testing.T, agentHCL string) *Project {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "agent.hcl")
	require.NoError(t, os.WriteFile(file, []byte(agentHCL), 0o600))
	p := openTest(t, file)
	require.NotEmpty(t, p.stateDir)
	p.OwnSessions()
	out := p.Host.Session("s").Call(t.Context(),
		host.Request{Tool: "write_file", Params: json.RawMessage(`{"path":"a","content":"x"}`)})
	require.Nil(t, out.Err)
	return p
}

// A served session is recorded at its beginning, with the digest of agent.hcl, as are its calls.
func TestTheSessionIsRecorded(t *testing.T) {
	text := `limits { timeout = "1m" }`
	p := openKept(t, text)
	sum := sha256.Sum256([]byte(text))
	digest := `"config":"` + hex.EncodeToString(sum[:]) + `"`
	p.SessionEnded("s")
	var all []string
	for event, err := range p.Recorder.Events(t.Context(), record.Filter{Session: "s"}, false) {
		require.NoError(t, err)
		all = append(all, string(event.Line))
	}
	require.Len(t, all, 4)
	assert.Contains(t, all[0], `"session_started"`)
	assert.Contains(t, all[0], digest)
	assert.Contains(t, all[1], `"tool_call_started"`)
	assert.Contains(t, all[1], digest)
	assert.Contains(t, all[3], `"session_ended"`)
}

// The leftovers of killed sessions are removed when old.
func TestTidyDropsWhatOldSessionsLeft(t *testing.T) {
	p := openKept(t, "")
	old, recent := p.store.Scope("a", tool.SessionScope, "old"), p.store.Scope("a", tool.SessionScope, "recent")
	require.NoError(t, old.Set(t.Context(), "k", json.RawMessage(`1`)))
	require.NoError(t, recent.Set(t.Context(), "k", json.RawMessage(`1`)))
	longAgo := time.Now().Add(-365 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(p.stateDir, "sessions", "old.json"), longAgo, longAgo))
	p.Tidy(t.Context())
	_, there, err := old.Get(t.Context(), "k")
	require.NoError(t, err)
	assert.False(t, there)
	_, there, err = recent.Get(t.Context(), "k")
	require.NoError(t, err)
	assert.True(t, there)
}
