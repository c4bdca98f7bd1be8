package attack

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func buildCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(testneed.Program(t, "go"), "env", "GOCACHE").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// withBuildCache returns the environment of a build that uses it.
func withBuildCache(dir string) []string {
	return []string{"TMPDIR=/tmp", "GOCACHE=" + dir, "GOFLAGS=" + os.Getenv("GOFLAGS")}
}
