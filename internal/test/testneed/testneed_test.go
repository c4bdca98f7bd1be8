package testneed_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Each skip says its kind, so that no machine that should have everything skips silently.
func TestNoTestSkipsByItself(t *testing.T) {
	const root = "../../.."
	read := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root ||
				entry.Name() == "testdata" || entry.Name() == ".git" {
				return fs.SkipDir // another module
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		read++
		for _, place := range skips(t, path) {
			assert.Fail(t, "use package testneed, which knows the kinds of skips", place)
		}
		return nil
	}))
	assert.Greater(t, read, 300, "control: the tests are there")
}

// skips returns the calls of Skip and similar functions in a file.
func skips(t *testing.T, path string) (places []string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Contains(text, []byte(".Skip")) {
		return nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		of, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := of.X.(*ast.Ident)
		if ok && on.Name != "testneed" && (of.Sel.Name == "Skip" || of.Sel.Name == "Skipf" || of.Sel.Name == "SkipNow") {
			places = append(places, set.Position(call.Pos()).String())
		}
		return true
	})
	return places
}

func TestSkipsAreFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a_test.go")
	require.NoError(t, os.WriteFile(file, []byte("package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip(\"why\")\n"+
		"\ttestneed.Skip(t, \"why\")\n\t_ = \"t.Skip()\"\n}\n"), 0o600))
	assert.Equal(t, []string{file + ":4:2"}, skips(t, file))
}

func TestSeed(t *testing.T) {
	t.Setenv(testneed.SeedVariable, "")
	t.Setenv("TOOLHOST_TEST_LONG", "")
	assert.EqualValues(t, 1, testneed.Seed(t))
	t.Setenv("TOOLHOST_TEST_LONG", "1")
	assert.NotEqual(t, testneed.Seed(t), testneed.Seed(t))
	t.Setenv(testneed.SeedVariable, "18446744073709551615")
	assert.Equal(t, ^uint64(0), testneed.Seed(t))
}
