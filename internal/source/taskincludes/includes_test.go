package taskincludes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/taskincludes"
)

func TestSources(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	for _, step := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"no file", func() {}, []string{"Taskfile.yml"}},
		{"a file appears", func() { write("Taskfile.yml", "includes: {a: a.yml}\n") }, []string{"Taskfile.yml", "a.yml"}},
		{"another include", func() { write("Taskfile.yml", "includes: {a: b.yml}\n") }, []string{"Taskfile.yml", "b.yml"}},
		{"an include appears", func() { write("b.yml", "includes: {c: c.yml}\n") }, []string{"Taskfile.yml", "b.yml", "c.yml"}},
		{"one becomes a directory", func() { write("c.yml/Taskfile.yml", "includes: {d: ../d.yml}\n") },
			append([]string{"Taskfile.yml", "b.yml"}, directory("c.yml", "d.yml")...)},
		{"a file goes", func() { require.NoError(t, os.Remove(filepath.Join(root, "b.yml"))) }, []string{"Taskfile.yml", "b.yml"}},
	} {
		step.change()
		assert.Equal(t, step.want, taskincludes.Sources(root, "Taskfile.yml"), step.name)
	}
}

// directory lists a directory's possible Taskfiles, the first with an include.
func directory(dir, include string) (names []string) {
	for i, name := range []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
		"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"} {
		names = append(names, dir+"/"+name)
		if i == 0 {
			names = append(names, include)
		}
	}
	return names
}
