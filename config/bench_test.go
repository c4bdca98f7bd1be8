package config

import (
	"fmt"
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

func BenchmarkParsePlugins(b *testing.B) {
	var src []byte
	for i := range 50 {
		src = fmt.Appendf(src, "plugin \"p%02d\" {\n  source = \"/opt/plugins/p%d\"\n  prefix = \"p%02d_\"\n}\n\n", i,
			i, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := Parse("agent.hcl", src, LoadOptions{Env: noEnv}); diags.HasErrors() {
			b.Fatal(diags.Err())
		}
	}
}
