package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// What a command of root may change of other users' files in writable places lets it read nothing outside of
// them that only its owner may read.
func TestFilesOfOthersAreNotRead(t *testing.T) {
	if !testneed.Superuser() {
		testneed.Missing(t, "only root has rights to files of others")
	}
	python := testneed.Program(t, "python3")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		ws, outside := testneed.VisibleDir(t), testneed.VisibleDir(t)
		secret, open := filepath.Join(outside, "secret"), filepath.Join(outside, "open")
		for path, mode := range map[string]os.FileMode{secret: 0o600, open: 0o644, filepath.Join(ws, "own"): 0o600} {
			require.NoError(t, os.WriteFile(path, []byte("of-another"), mode))
			require.NoError(t, os.Chown(path, 12345, 12345))
		}
		const script = `import os, sys
for name, flags in (("read", 0), ("create", os.O_CREAT), ("exclusive", os.O_CREAT | os.O_EXCL), ("cut", os.O_TRUNC), ("both", os.O_RDWR)):
    try:
        print(name, os.read(os.open(sys.argv[1], flags), 100))
    except OSError as e:
        print(name, e.strerror)
`
		read := func(path string) string {
			r := run(t, command(sandbox.Policy{Level: level, Workspace: ws}, python, "-c", script, path))
			require.Zero(t, r.ExitCode, r.Stderr.String())
			return r.Stdout.String()
		}
		assert.NotContains(t, read(secret), "of-another")
		assert.Contains(t, read(open), "read b'of-another'", "control")
		changed := sh(t, sandbox.Policy{Level: level, Workspace: ws}, "echo changed >> own")
		assert.Zero(t, changed.ExitCode, changed.Stderr.String())
		data, err := os.ReadFile(secret)
		require.NoError(t, err)
		assert.Equal(t, "of-another", string(data))
	})
}
