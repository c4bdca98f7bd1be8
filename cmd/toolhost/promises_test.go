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

// TestPromisesNameTheirTests keeps docs/SECURITY.md true: every promise names a
// test that holds it, and every test that it names exists.
func TestPromisesNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	require.NoError(t, err)
	tests := testsOfTheRepository(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	for _, name := range named.FindAllStringSubmatch(string(text), -1) {
		assert.True(t, tests[name[1]], "there is no test named %s", name[1])
	}
	promises := regexp.MustCompile(`(?m)^\d+\. `).Split(string(text), -1)[1:]
	assert.Greater(t, len(promises), 30)
	for _, promise := range promises {
		promise, _, _ = strings.Cut(promise, "\n\n")
		assert.Regexp(t, named, promise, "a promise without a test")
	}
}

// walkRepository walks what the repository holds at its root. The root itself is
// not listed: builds and calls leave files there, and go test would run this whole
// package anew after each of them.
func walkRepository(t *testing.T, visit fs.WalkDirFunc) {
	t.Helper()
	for _, name := range []string{".ci", "builtin", "cmd", "config", "docs", "examples", "host", "internal", "plugins",
		"taskfile", "toolhost.go", "toolhost_test.go"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", name), visit))
	}
}

// testsOfTheRepository are the names of all tests and fuzz targets.
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
