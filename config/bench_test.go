package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkParse reads a file of some 200 lines with every kind of block.
func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("testdata/good/full.hcl")
	require.NoError(b, err)
	opts := LoadOptions{Env: env(map[string]string{"HOME": "/h", "TOKEN": "t0ken"})}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := Parse("agent.hcl", src, opts); diags.HasErrors() {
			b.Fatal(diags.Err())
		}
	}
}

// BenchmarkParseSmall reads a small file without functions.
func BenchmarkParseSmall(b *testing.B) {
	src := []byte(`workspace { root = "." }
		tool "x" {
		  description = "x"
		  passthrough { command = "x" }
		}`)
	opts := LoadOptions{Env: env(map[string]string{"HOME": "/h", "TOKEN": "t0ken"})}
	for b.Loop() {
		Parse("agent.hcl", src, opts)
	}
}
