package analysis

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// BenchmarkRead analyzes the tree that TOOLHOST_BENCH_TREE names, by default this module's.
func BenchmarkRead(b *testing.B) {
	dir := os.Getenv("TOOLHOST_BENCH_TREE")
	if dir == "" {
		dir = "../../../../.."
	}
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(b, err)
	defer ws.Close()
	for b.Loop() {
		_, err := Read(context.Background(), ws, ".")
		require.NoError(b, err)
	}
}
