package obeyed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/obeyed"
)

// A grant of more than its path seems to be is said.
func TestOpens(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, dir := range []string{"data", "dots", "repo/.git/hooks", "editor/.vscode", ".ssh", ".m2/repository", ".claude/projects"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "dots", ".bashrc"), nil, 0o600))
	for path, want := range map[string]struct{ read, write string }{
		"":                  {"your home directory", "your home directory"},
		"..":                {"your home directory", "your home directory"},
		"../../../../../..": {"your home directory", "your home directory"},
		"data":              {"", ""},
		".m2/repository":    {"", ""},
		"dots":              {"", "it holds .bashrc"},
		"repo/.git":         {"", "git, an editor or an agent obeys it"},
		"repo/.git/hooks":   {"", "git, an editor or an agent obeys it"},
		"repo/.git/objects": {"", ""},
		"editor":            {"", "it holds .vscode"},
		"editor/.vscode":    {"", "git, an editor or an agent obeys it"},
		".claude":           {"", "obeys " + filepath.Join(home, ".claude")},
		".claude/projects":  {"", "obeys " + filepath.Join(home, ".claude")},
		".ssh":              {"", "obeys " + filepath.Join(home, ".ssh")},
		".ssh/known_hosts":  {"", "obeys " + filepath.Join(home, ".ssh")},
	} {
		for write, want := range map[bool]string{false: want.read, true: want.write} {
			said := obeyed.Opens(filepath.Join(home, path), write)
			if want == "" {
				assert.Empty(t, said, "%s %t", path, write)
			} else {
				assert.Contains(t, said, want, "%s %t", path, write)
			}
		}
	}
}
