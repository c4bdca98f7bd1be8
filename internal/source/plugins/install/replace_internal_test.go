package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplacements(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"plugin/go.mod": "module example.org/p\nreplace example.org/a => ../a\nreplace example.org/b => ../a\n" +
			"replace example.org/c => ../none\nreplace example.org/d => example.org/e v1.0.0\nreplace example.org/f => " + root + "/f\n",
		"a/go.mod": "module example.org/a\n",
		"f/go.mod": "module example.org/f\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	want := []string{filepath.Join(root, "a"), filepath.Join(root, "f")}
	assert.Equal(t, want, replacements(filepath.Join(root, "plugin")),
		"not ../a for another module, and not what is no module")
	assert.Empty(t, replacements(filepath.Join(root, "none")))
}
