//go:build unix

package agentfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

func TestForeign(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.hcl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.False(t, foreign(file), "a file of one's own")
	assert.False(t, foreign("/"), "what the system has put there")
	assert.False(t, foreign(filepath.Join(filepath.Dir(file), "missing")))
	for owner, want := range map[int]bool{0: false, 1000: false, 1001: true} {
		assert.Equal(t, want, stranger(owner, 1000), owner)
	}
	if testneed.Superuser() && os.Chown(file, 12345, -1) == nil {
		assert.True(t, foreign(file), "a file of another user")
	}
}
