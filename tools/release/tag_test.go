package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// .ci/tag reads commits with tags of all kinds.
func TestTags(t *testing.T) {
	script, err := filepath.Abs("../../.ci/tag")
	require.NoError(t, err)
	for _, entry := range os.Environ() { // no repository or setting of the caller counts
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, value)
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, tt := range []struct {
		name, heading string
		tags          []string
		version, says string
	}{
		{"none", "", nil, "v0.0.0-dev\n", ""},
		{"complete", "## v1.2.3 - 2026-11-23", []string{"v1.2.3", "tools/release/v1.2.3"}, "v1.2.3\n", ""},
		{"a candidate", "## v1.2.3-rc.1 - 2026-11-23", []string{"v1.2.3-rc.1", "tools/release/v1.2.3-rc.1"},
			"v1.2.3-rc.1\n", ""},
		{"no version", "", []string{"v1.2"}, "", "is not a version"},
		{"a leading zero", "", []string{"v1.02.3"}, "", "is not a version"},
		{"without its twin", "## v1.2.3 - 2026-11-23", []string{"v1.2.3"}, "", "tag the commit tools/release/v1.2.3"},
		{"the twin alone", "", []string{"tools/release/v1.2.3"}, "", "has no v1.2.3"},
		{"without a heading", "## v1.2.4 - 2026-11-23", []string{"v1.2.3", "tools/release/v1.2.3"}, "", "has no heading"},
		{"of something else", "", []string{"nightly"}, "v0.0.0-dev\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte("# Changes\n\n"+tt.heading+"\n"), 0o644))
			command(t, dir, "git", "init", "-q")
			command(t, dir, "git", "-c", "user.name=n", "-c", "user.email=e@e", "commit", "-q", "--allow-empty", "-m", "one")
			for _, tag := range tt.tags {
				command(t, dir, "git", "tag", tag)
			}
			cmd := exec.CommandContext(t.Context(), needed(t, "bash"), script)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if tt.says == "" {
				require.NoError(t, err, "%s", out)
				assert.Equal(t, tt.version, string(out))
				return
			}
			require.Error(t, err)
			assert.Contains(t, string(out), tt.says)
		})
	}
}
