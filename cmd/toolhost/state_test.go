package main

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// stateHome is where the tests' programs keep workspaces' state, shared so that they find each other's.
func stateHome() string { return filepath.Join(binaries, "state") }

// stateOf returns the state directory of the workspace at dir.
func stateOf(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(real))
	found, err := filepath.Glob(filepath.Join(stateHome(), "toolhost", "*-"+hex.EncodeToString(sum[:10])))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}
