package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPromisesHaveTests compares docs/SECURITY.md with testdata/promises.txt, which names existing
// tests for every promise.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 80, "it is to be read as a whole")
	list, err := os.ReadFile("testdata/promises.txt")
	require.NoError(t, err)
	tests := testsOfTheRepository(t)
	held := make(map[string]bool)
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		held[words[0]] = len(words) > 1
		for _, name := range words[1:] {
			assert.True(t, tests[name], "there is no test named %s", name)
		}
	}
	promises := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(string(text), -1)
	assert.Len(t, promises, len(held))
	for _, promise := range promises {
		assert.True(t, held[promise[1]], "promise %s without a test", promise[1])
	}
}

// walkRepository walks what the repository holds at its root. The root itself is not listed: builds and
// calls leave files there, and go test would rerun this whole package after each of them.
func walkRepository(t *testing.T, visit fs.WalkDirFunc) {
	t.Helper()
	for _, name := range []string{".ci", "builtin", "cmd", "config", "docs", "examples", "fleet", "host", "internal",
		"plugins", "taskfile", "toolhost.go", "toolhost_test.go"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", name), visit))
	}
}

// testsOfTheRepository returns the names of all tests and fuzz targets.
func testsOfTheRepository(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	walkRepository(t, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, each := range file.Decls {
			if f, ok := each.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
		return nil
	})
	return names
}
