package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/files/search"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/testneed"
)

// BenchmarkGrep searches 10,000 files with both engines and with rg alone.
func BenchmarkGrep(b *testing.B) {
	rg := testneed.Program(b, "rg")
	root := b.TempDir()
	makeTree(b, root, 10_000)
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(b, err)
	defer ws.Close()
	for _, pattern := range []string{"TODO", "(?i)todo", "TODO|FIXME", `func \w+`, `[a-z]+zq\b`} {
		for _, engine := range []search.Engine{search.Builtin, search.Ripgrep} {
			s := search.New(ws, search.Options{Engine: engine})
			b.Run(pattern+"/"+string(engine), func(b *testing.B) {
				for b.Loop() {
					_, err := s.Grep(b.Context(), search.Query{Pattern: pattern})
					require.NoError(b, err)
				}
			})
		}
		b.Run(pattern+"/rg alone", func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(rg, "--no-config", "-n", "-e", pattern, ".")
				cmd.Dir = root
				_, err := cmd.Output()
				require.NoError(b, err)
			}
		})
	}
}

func makeTree(b *testing.B, root string, files int) {
	r := rand.New(rand.NewPCG(1, 1))
	words := []string{"func", "return", "error", "TODO", "FIXME"}
	for range 3000 {
		word := make([]byte, 2+r.IntN(8))
		for i := range word {
			word[i] = byte('a' + r.IntN(26))
		}
		words = append(words, string(word))
	}
	for i := range files {
		var text strings.Builder
		for range 20 + r.IntN(230) {
			for range r.IntN(11) {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			text.WriteByte('\n')
		}
		dir := filepath.Join(root, fmt.Sprintf("d%d/s%d", i%20, i%200))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text.String()), 0o644))
	}
}
