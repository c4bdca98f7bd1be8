package install

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files and directories are counted together, up to the last one.
func TestFilesAreCounted(t *testing.T) {
	for name, add := range map[string]func(*unpacker) error{
		"a file":                func(u *unpacker) error { return u.add("further", 0o644, strings.NewReader("x")) },
		"a directory":           func(u *unpacker) error { return u.mkdir("further") },
		"a file in a directory": func(u *unpacker) error { return u.add("deep/file", 0o644, strings.NewReader("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			u, err := newUnpacker(t.TempDir(), maxBytes)
			require.NoError(t, err)
			defer u.close()
			u.files = maxFiles - 1
			require.NoError(t, u.add("last", 0o644, strings.NewReader("x")))
			assert.ErrorContains(t, add(u), "more than 50000 files and directories")
		})
	}
}
