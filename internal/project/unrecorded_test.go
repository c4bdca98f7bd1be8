package project

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// If the record cannot be written, here since a file is in its place, calls continue unless agent.hcl
// requires a record; then nothing is changed, and a changed agent.hcl applies from the next call.
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

// A removed or replaced undo store is noticed at the next call.
func TestAnUndoStoreThatIsRemoved(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"removed":  os.RemoveAll,
		"moved":    func(dir string) error { return os.Rename(dir, dir+".old") },
		"replaced": func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
		"a file":   func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			dir := t.TempDir()
			file := filepath.Join(dir, "agent.hcl")
			require.NoError(t, os.WriteFile(file, []byte(`record { required = true }`), 0o600))
			p := openTest(t, file)
			write := func(path string) *host.Outcome {
				return p.Host.Session("s").Call(t.Context(),
					host.Request{Tool: "write_file", Params: json.RawMessage(`{"path":"` + path + `","content":"x"}`)})
			}
			require.Nil(t, write("a").Err)
			require.NoError(t, remove(filepath.Join(p.stateDir, undo.DirName)))
			for range 2 {
				out := write("b")
				require.NotNil(t, out.Err)
				assert.Contains(t, out.Err.Message, "was removed or replaced while it was in use")
				assert.NoFileExists(t, filepath.Join(dir, "b"))
			}
			if name != "a file" {
				require.NoError(t, os.WriteFile(file, nil, 0o600))
				require.NoError(t, p.Reload(t.Context()))
				assert.Nil(t, write("c").Err, "where it is not required, calls go on")
			}
		})
	}
}
