package trust_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/trust"
)

func TestApprovalIsForAPathAndItsContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "trust")
	s := trust.Open(dir)
	assert.Equal(t, trust.Unknown, s.Status("/p/agent.hcl", "aa"))
	assert.NoDirExists(t, dir, "asking makes nothing")

	require.NoError(t, s.Approve("/p/agent.hcl", "aa"))
	assert.Equal(t, trust.Approved, s.Status("/p/agent.hcl", "aa"))
	assert.Equal(t, trust.Changed, s.Status("/p/agent.hcl", "bb"))
	assert.Equal(t, trust.Changed, s.Status("/p/agent.hcl", ""))
	assert.Equal(t, trust.Unknown, s.Status("/q/agent.hcl", "aa"))

	require.NoError(t, s.Approve("/p/agent.hcl", "bb"))
	assert.Equal(t, trust.Approved, trust.Open(dir).Status("/p/agent.hcl", "bb"), "it lasts")
	assert.Equal(t, trust.Changed, s.Status("/p/agent.hcl", "aa"))

	require.NoError(t, s.Revoke("/p/agent.hcl"))
	require.NoError(t, s.Revoke("/p/agent.hcl"))
	assert.Equal(t, trust.Unknown, s.Status("/p/agent.hcl", "bb"))
}

func TestADamagedApprovalIsNone(t *testing.T) {
	dir := t.TempDir()
	s := trust.Open(dir)
	require.NoError(t, s.Approve("/p", "aa"))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, files[0].Name()), []byte(`{"path":"/p","sha`), 0o600))
	assert.Equal(t, trust.Unknown, s.Status("/p", "aa"))
}

func TestAStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Error(t, trust.Open(filepath.Join(file, "below")).Approve("/p", "aa"))
}
