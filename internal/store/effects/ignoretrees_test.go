package effects

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Patterns apply from the top of each tree, the workspace and further ones, each with what git ignores there.
func TestPatternsInAllowedTrees(t *testing.T) {
	root, allowed, plain := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte("dist/\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(allowed, ".gitignore"), []byte("/target\n"), 0o644))
	r := newRules(Trees{Root: root, Allow: []string{allowed, plain}, Ignore: []string{"/gen/", "*.o", "!node_modules"}})
	for path, want := range map[string]string{
		"gen/a":                       "gen",
		"a/gen/b":                     "",
		"a/b.o":                       "a/b.o",
		"a/dist/c":                    "a/dist",
		"target/x":                    "",
		"node_modules/x":              "",
		"__pycache__/x":               "__pycache__",
		allowed + "/gen/a":            allowed + "/gen",
		allowed + "/a/gen/b":          "",
		allowed + "/a/b.o":            allowed + "/a/b.o",
		allowed + "/target/x":         allowed + "/target",
		allowed + "/a/target/x":       "",
		allowed + "/dist/x":           "",
		allowed + "/node_modules/x":   "",
		plain + "/target/x":           "",
		plain + "/gen/a":              plain + "/gen",
		plain + "/deep/__pycache__/x": plain + "/deep/__pycache__",
		plain + "/gen":                "",
		plain + "x/gen/a":             "",
	} {
		assert.Equal(t, want, r.ignore(path), path)
	}
}
