package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
)

// TestDetectedBlocks holds every byte of what init writes for a project of each
// kind. UPDATE_GOLDEN=1 writes the files anew.
func TestDetectedBlocks(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, files := range map[string]fstest.MapFS{
		"everything": {"Taskfile.yml": file(""), "Makefile": file("all:\nbuild-x:\n"),
			"justfile":  file("default:\n  echo a\n"),
			"mise.toml": file("[tasks]\nlint = 'y'\n"), "go.mod": file("module x\n"), "setup.py": file(""),
			"package.json": file(`{"scripts":{"a\"${x}":"x","test":"y"}}`), "Cargo.toml": file("")},
		"yarn": {"package.json": file(`{"scripts":{"{{.What}} %s":"x"}}`), "yarn.lock": file("")},
	} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "detect", name+".hcl")
			found := config.Detect(files)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(found.Blocks), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), found.Blocks)
		})
	}
}
