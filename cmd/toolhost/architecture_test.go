package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files and directories named in docs/ARCHITECTURE.md exist.
func TestArchitecturePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	require.NoError(t, err)
	var files []string
	walkRepository(t, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".agent" {
			return fs.SkipDir
		}
		path, _ = filepath.Rel("../..", path)
		files = append(files, "/"+filepath.ToSlash(path))
		return err
	})
	there := func(name string) bool {
		for _, file := range files {
			if file == "/"+name || strings.HasSuffix(name, ".go") && strings.HasSuffix(file, "/"+name) {
				return true
			}
		}
		return false
	}
	named := regexp.MustCompile(
		"`((?:cmd|host|plugins|config|internal|taskfile|builtin|\\.ci)(?:/[\\w./-]+)?|[\\w/]+\\.go)`").FindAllSubmatch(page, -1)
	assert.Greater(t, len(named), 40)
	for _, name := range named {
		assert.True(t, there(string(name[1])), "%s", name[1])
	}
}
