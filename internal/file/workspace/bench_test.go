package workspace_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

func BenchmarkOpenWorkspace(b *testing.B) {
	dir := realTemp(b)
	for b.Loop() {
		w, err := workspace.Open(dir, workspace.Options{})
		require.NoError(b, err)
		w.Close()
	}
}

func BenchmarkReadFile(b *testing.B) {
	dir := realTemp(b)
	plant(b, dir, "a/b/c/f", string(make([]byte, 1024)))
	w := open(b, dir, workspace.Options{})
	b.Run("workspace", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := w.ReadFile("a/b/c/f", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(filepath.Join(dir, "a/b/c/f")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Stat("a/b/c/f"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWriteFile(b *testing.B) {
	dir := realTemp(b)
	plant(b, dir, "a/b/c/f", "x")
	w := open(b, dir, workspace.Options{})
	for b.Loop() {
		if _, err := w.WriteFile("a/b/c/f", []byte("x"), workspace.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(b, err)
	dir := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	w := open(b, dir, workspace.Options{})
	for name, opts := range map[string]workspace.WalkOptions{"all": {Hidden: true}, "gitignore": {Gitignore: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				require.NoError(b,
					w.Walk(context.Background(), ".", opts, func(workspace.Entry) error { n++; return nil }))
				b.ReportMetric(float64(n), "entries")
			}
		})
	}
	b.Run("filepath", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, filepath.WalkDir(dir, func(string, os.DirEntry, error) error { return nil }))
		}
	})
}
