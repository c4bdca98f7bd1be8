package agentbench_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadFileSpecial(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, syscall.Mkfifo(f.root+"/pipe", 0o644))
	f.fails(t, "unsupported", "named pipe", "read_file", `{"path":"pipe"}`)
}
