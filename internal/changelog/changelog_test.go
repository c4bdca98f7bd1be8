package changelog

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = "# Changelog\n\nAll notable changes.\n\n## Unreleased\n\n- next\n\n" +
	"## v0.2.0 - 2026-12-01\n\n### A part\n\n- two\n\n```md\n## v9.9.9 - no heading\n```\n\n## v0.1.0 - 2026-11-22\n\n- one\n\n" +
	"## v0.1.0-rc.1 - 2026-11-20\n"

func TestCut(t *testing.T) {
	n, err := Cut(sample, "v0.2.0")
	require.NoError(t, err)
	assert.Equal(t, "### A part\n\n- two\n\n```md\n## v9.9.9 - no heading\n```\n", n.Text)
	assert.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), n.Date)
	n, err = Cut(sample, "v0.1.0")
	require.NoError(t, err)
	assert.Equal(t, "- one\n", n.Text)
	n, err = Cut(sample, Unreleased)
	require.NoError(t, err)
	assert.Equal(t, "- next\n", n.Text)
	assert.Zero(t, n.Date)
}

func TestCutRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, version, says string }{
		"a version that is not there": {sample, "v0.3.0", `write a heading "## v0.3.0 - `},
		"one without notes":           {sample, "v0.1.0-rc.1", "says nothing of v0.1.0-rc.1"},
		"a heading in another form":   {"## [0.1.0] 2026-11-22\n", "v0.1.0", "line 1"},
		"a version without v":         {"\n## 0.1.0 - 2026-11-22\n", "v0.1.0", "line 2"},
		"a short version":             {"## v0.1 - 2026-11-22\n", "v0.1", "no version"},
		"no date":                     {"## v0.1.0\n", "v0.1.0", "date"},
		"an impossible date":          {"## v0.1.0 - 2026-13-22\n", "v0.1.0", "date"},
		"the wrong order":             {"## v0.1.0 - 2026-11-22\n## v0.2.0 - 2026-11-23\n", "v0.1.0", "line 2"},
		"twice":                       {"## v0.1.0 - 2026-11-22\n## v0.1.0 - 2026-11-22\n", "v0.1.0", "line 2"},
		"unreleased below a version":  {"## v0.1.0 - 2026-11-22\n## Unreleased\n", "v0.1.0", "first"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Cut(tt.text, tt.version)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// The changelog of this repository has the form.
func TestOurs(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	all, err := Parse(string(text))
	require.NoError(t, err)
	assert.NotEmpty(t, all)
}
