package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const hostile = "root:\x1b[2J\u202esecret\u0085:0\nkey = \u200b\x07 secret\n"

// Quoted source moves no cursor, hides nothing, and keeps its place.
func TestQuotedSourceIsHarmless(t *testing.T) {
	_, diags := config.Parse("agent.hcl", []byte(hostile), config.LoadOptions{})
	var text bytes.Buffer
	require.NoError(t, diags.Write(&text, false))
	assert.Contains(t, text.String(), "secret", "it is the user's own file")
	assert.Contains(t, text.String(), "root:?[2J\ufffdsecret\u00bf:0")
	assert.NotContains(t, text.String(), "\x1b")
	for _, c := range []string{"\u202e", "\u0085", "\u200b", "\x07"} {
		assert.False(t, strings.Contains(text.String(), c), "%q", c)
	}
}

// A link to a file elsewhere shows none of its lines.
func TestLinkedFileIsNotQuoted(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "elsewhere"), []byte(hostile), 0o600))
	testneed.Symlink(t, filepath.Join("..", "elsewhere"), filepath.Join(dir, "agent.hcl"))
	_, diags := config.Load(filepath.Join(dir, "agent.hcl"), config.LoadOptions{})
	require.True(t, diags.HasErrors())
	var text, data bytes.Buffer
	require.NoError(t, diags.Write(&text, false))
	require.NoError(t, diags.WriteJSON(&data))
	assert.NotContains(t, text.String()+data.String(), "secret")
	assert.Contains(t, text.String(), "agent.hcl:1:1")
}
