package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// Where the record cannot be written, here as a file is in its place, calls go on
// unless agent.hcl requires that they are recorded; then nothing is changed, and
// a changed agent.hcl holds from the next call on.
func TestARecordThatCannotBeWritten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.hcl")
	require.NoError(t, os.WriteFile(file, []byte(`record { required = true }`), 0o600))
	p := openTest(t, file)
	require.NotEmpty(t, p.stateDir)
	require.NoError(t, os.MkdirAll(p.stateDir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.stateDir, "record"), nil, 0o600))
	write := func() *host.Outcome {
		return p.Host.Session("s").Call(t.Context(),
			host.Request{Tool: "write_file", Params: json.RawMessage(`{"path":"a","content":"x"}`)})
	}
	out := write()
	require.NotNil(t, out.Err)
	assert.Equal(t, tool.Unavailable, out.Err.Code)
	assert.Contains(t, out.Err.Message, "cannot be recorded")
	assert.NoFileExists(t, filepath.Join(dir, "a"))

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, p.Reload(t.Context()))
	assert.Nil(t, write().Err)
	assert.FileExists(t, filepath.Join(dir, "a"))
}
