package obeyed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/obeyed"
)

// A grant that gives away more than its path is explained.
func TestOpens(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, dir := range []string{"data", "dots", "repo/.git/hooks", "editor/.vscode", ".ssh", ".m2/repository", "tools/bin",
		"bare.git/objects", "bare.git/refs/heads"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "bare.git", "HEAD"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "dots", ".bashrc"), nil, 0o600))
	t.Setenv("PATH", "/nowhere/bin:"+filepath.Join(home, "tools", "bin"))
	for path, want := range map[string]struct{ read, write string }{
		"":                    {"your home directory", "your home directory"},
		"..":                  {"your home directory", "your home directory"},
		"../../../../../..":   {"your home directory", "your home directory"},
		"data":                {"", ""},
		"dots":                {"", "it holds .bashrc"},
		"repo":                {"", "a git repository lies there"},
		"repo/.git":           {"", "a git repository lies there"},
		"repo/.git/hooks":     {"", "a git repository lies there"},
		"repo/.git/modules/s": {"", "a git repository lies there"},
		"bare.git":            {"", "a git repository lies there"},
		"bare.git/refs/heads": {"", "a git repository lies there"},
		"editor":              {"", "it holds .vscode"},
		"editor/.vscode":      {"", "an editor or an agent obeys it"},
		".ssh":                {"", "from " + filepath.Join(home, ".ssh")},
		".ssh/known_hosts":    {"", "from " + filepath.Join(home, ".ssh")},
		".m2/repository":      {"", "from " + filepath.Join(home, ".m2")},
		".claude/projects":    {"", "from " + filepath.Join(home, ".claude")},
		".oh-my-zsh":          {"", "from " + filepath.Join(home, ".oh-my-zsh")},
		"tools":               {"", "you run programs from " + filepath.Join(home, "tools/bin")},
		"bin":                 {"", "you run programs from"},
		"go":                  {"", "you run programs from"},
		"go/pkg/mod":          {"", ""},
		"tools/bin/x":         {"", "you run programs from"},
		"/etc/cron.d":         {"", "settings lie in /etc"},
		"/usr/local/share":    {"", "settings lie in /usr"},
	} {
		for write, want := range map[bool]string{false: want.read, true: want.write} {
			at := path
			if !filepath.IsAbs(at) {
				at = filepath.Join(home, path)
			}
			said := obeyed.Opens(at, write)
			if want == "" {
				assert.Empty(t, said, "%s %t", path, write)
			} else {
				assert.Contains(t, said, want, "%s %t", path, write)
			}
		}
	}
}
