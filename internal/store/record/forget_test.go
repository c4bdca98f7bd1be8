package record_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// A forgotten value is in no segment, summary or content of the record, the rest stays, and an open recorder
// continues.
func TestForget(t *testing.T) {
	const leaked = `hun"ter2-leaked`
	now := time.Now()
	root := t.TempDir()
	set := func(o *record.Options) {
		o.Root, o.Copy, o.Now = root, true, func() time.Time { return now }
	}
	r, other := recorder(t, set), recorder(t, set)
	large := strings.Repeat("0123456789 ", 1000)
	callOf(t, r, "s", "one", "the password is "+leaked)
	callOf(t, other, "o", "two", large+leaked)
	callOf(t, r, "s", "three", large)
	now = now.Add(25 * time.Hour) // the next segment
	callOf(t, r, "s", "four", leaked)
	_, err := r.Calls(t.Context(), record.Filter{Tool: "read_file"}) // writes the summaries
	require.NoError(t, err)
	require.NotEmpty(t, holding(t, filepath.Join(stateOf(root), "record"), `ter2-leaked`))

	f, err := r.Forget(leaked)
	require.NoError(t, err)
	assert.Equal(t, 3, f.Entries)
	assert.Zero(t, f.Damaged)
	assert.Empty(t, holding(t, filepath.Join(stateOf(root), "record"), `ter2-leaked`))
	callOf(t, other, "o", "five", "")
	callOf(t, r, "s", "six", "")
	for id, want := range map[string]string{"one": "the password is [redacted]", "two": large + "[redacted]", "three": large,
		"four": "[redacted]", "five": "", "six": ""} {
		d, err := r.Show(t.Context(), record.Filter{Request: id})
		require.NoError(t, err, id)
		assert.Empty(t, d.Problems, id)
		if want != "" {
			assert.Contains(t, string(d.Result), want, id)
		}
	}
	again, err := r.Forget(leaked)
	require.NoError(t, err)
	assert.Zero(t, again.Entries)
}

// holding returns the files below dir that contain a text, unpacked. A summary that is being written has a
// temporary name for a moment.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		require.NoError(t, err)
		if strings.HasSuffix(path, ".gz") {
			unpacked, err := gzip.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			data, err = io.ReadAll(unpacked)
			require.NoError(t, err)
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
