package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func noEnv(string) (string, bool) { return "", false }

// TestBroken compares the messages for broken files with golden files. When one changes, read it as a user
// would: is the place right, and does it say what to do?
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, ".diag") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			_, diags := Parse("agent.hcl", src, LoadOptions{Env: noEnv, Vars: map[string]string{"verbsoe": "true"}})
			assert.True(t, diags.HasErrors())
			var b strings.Builder
			require.NoError(t, diags.Write(&b, false))
			golden(t, file+".diag", b.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
