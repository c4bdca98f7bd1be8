package attack

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// buildCache is the directory of what Go has compiled here already.
func buildCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(testneed.Program(t, "go"), "env", "GOCACHE").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// withBuildCache is the environment of a build that takes what it needs from there.
func withBuildCache(dir string) []string {
	return []string{"TMPDIR=/tmp", "GOCACHE=" + dir, "GOFLAGS=" + os.Getenv("GOFLAGS")}
}
