package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// BenchmarkCall is what the record adds to a call with a result of 1 KB.
func BenchmarkCall(b *testing.B) {
	r, err := record.New(record.Options{Root: b.TempDir(), State: b.TempDir()})
	require.NoError(b, err)
	defer r.Close()
	result := strings.Repeat("a line of 16 by\n", 64)
	for b.Loop() {
		_, err := r.Step(b.Context(), "s")
		require.NoError(b, err)
		callOf(b, r, "s", "tool_step_0001", result)
	}
}
