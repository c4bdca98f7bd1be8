package search_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/files/search"
)

// A program that never stops printing takes the place of ripgrep.
func TestEndlessOutput(t *testing.T) {
	ws := open(t, map[string]string{"a": "x\n"})
	endless := filepath.Join(t.TempDir(), "rg")
	require.NoError(t, os.WriteFile(endless, []byte("#!/bin/sh\nexec yes ./b\n"), 0o755))
	m := grep(t, search.New(ws, search.Options{Ripgrep: endless}), search.Query{Pattern: "x"})
	assert.Equal(t, search.Builtin, m.Engine)
	assert.Equal(t, []search.Match{{Path: "a", Line: 1, Text: "x"}}, m.Lines)
}
