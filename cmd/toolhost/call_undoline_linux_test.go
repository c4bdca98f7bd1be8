package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A dangerous call that changed something ends, on a terminal, with the line that undoes it. The line
// works verbatim.
func TestTheLineAfterADangerousCall(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsFull(t)
	dir, state := t.TempDir(), []string{"XDG_STATE_HOME=" + t.TempDir()}
	plant(t, dir, texts{"a.txt": "one", "b.txt": "two",
		"agent.hcl": "sandbox {\n  level = \"full\"\n}\npolicy {\n  dangerous = \"allow\"\n}\n"})
	const line = "To take this back: toolhost undo k7f2\n"
	screen, code := onTerminalAt(t, dir, "never", "", state, "call", "rm", "args=a.txt")
	assert.Zero(t, code, screen)
	assert.Contains(t, screen, line)
	screen, code = onTerminalAt(t, dir, "never", "", state, "call", "read_file", "path=b.txt")
	assert.Zero(t, code, screen)
	assert.NotContains(t, screen, "To take this back")
	screen, code = onTerminalAt(t, dir, "never", "", state, "undo", "k7f2")
	assert.Zero(t, code, screen)
	data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err, screen)
	assert.Equal(t, "one", string(data))

	plant(t, dir, texts{"agent.hcl": "sandbox {\n  level = \"off\"\n}\npolicy {\n  dangerous = \"allow\"\n}\n"})
	screen, code = onTerminalAt(t, dir, "never", "", state, "call", "rm", "args=b.txt")
	assert.Zero(t, code, screen)
	assert.NotContains(t, screen, "To take this back")
	assert.Contains(t, screen, "Not kept for undo: ")
}
