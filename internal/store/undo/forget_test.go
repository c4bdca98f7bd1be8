package undo_test

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// A forgotten value is in no content, small or large; what cannot be restored is named and refused, and the
// rest is restored.
func TestForget(t *testing.T) {
	const leaked = "hunter2-leaked"
	f := newFixture(t, undo.Options{})
	large := strings.Repeat("0123456789 ", 10_000)
	for name, text := range map[string]string{"small": "a " + leaked, "large": large + leaked, "other": "kept", "big": large} {
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"small", "large", "other", "big"} {
		_, err := f.as("call-"+name).WriteFile(name, []byte("new"), workspace.WriteOptions{})
		require.NoError(t, err)
	}
	require.Len(t, f.holding(leaked), 2)

	lost, err := f.store.Forget(t.Context(), leaked)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"small", "large"}, lost)
	assert.Empty(t, f.holding(leaked))
	for name, want := range map[string]string{"other": "kept", "big": large} {
		_, err := f.store.Undo(t.Context(), f.ws, undo.Selection{Session: "s", Call: "call-" + name})
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(f.dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(data))
	}
	_, err = f.store.Undo(t.Context(), f.ws, undo.Selection{Session: "s", Call: "call-small"})
	assert.ErrorContains(t, err, "it held a value that toolhost forget took out")

	again, err := f.store.Forget(t.Context(), leaked)
	require.NoError(t, err)
	assert.Empty(t, again)
}

// holding returns the files of the store that contain a text, also as the journal writes contents.
func (f *fixture) holding(text string) (found []string) {
	f.Helper()
	require.NoError(f, filepath.WalkDir(storeOf(f.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		for _, part := range bytes.Split(data, []byte(`"`)) {
			plain, _ := base64.StdEncoding.DecodeString(string(part))
			if bytes.Contains(part, []byte(text)) || bytes.Contains(plain, []byte(text)) {
				found = append(found, path)
				break
			}
		}
		return nil
	}))
	return found
}
