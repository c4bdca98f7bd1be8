package undo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// BenchmarkWrite compares an atomic write with and without keeping the old content, which differs each time.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{1 << 10, 32 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB/plain", size>>10), func(b *testing.B) {
			ws, err := workspace.Open(b.TempDir(), workspace.Options{})
			require.NoError(b, err)
			defer ws.Close()
			benchmarkWrite(b, ws, size)
		})
		b.Run(fmt.Sprintf("%dKiB/undo", size>>10), func(b *testing.B) {
			f := newFixture(b, undo.Options{})
			benchmarkWrite(b, f.as("call"), size)
		})
	}
}

func benchmarkWrite(b *testing.B, ws *workspace.Workspace, size int) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, size)
	for b.Loop() {
		for i := range data {
			data[i] = "the quick brown fox jumps over a lazy dog\n"[random.IntN(42)]
		}
		_, err := ws.WriteFile("f", data, workspace.WriteOptions{})
		require.NoError(b, err)
	}
}

// BenchmarkRecord is what keeping the old content alone costs.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			f := newFixture(b, undo.Options{})
			r := f.store.Recorder("s", "c", 1)
			data := make([]byte, size)
			random := rand.NewChaCha8([32]byte{})
			for b.Loop() {
				_, _ = random.Read(data)
				require.NoError(b, r.BeforeChange(b.Context(), workspace.Before{
					Kind: workspace.Replace, Path: "f", Mode: 0o644, Data: data, Size: int64(size),
					NewHash: workspace.Hash(data),
				}))
			}
		})
	}
}
