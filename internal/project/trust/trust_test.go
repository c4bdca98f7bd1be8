package trust_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/project/trust"
)

// holds reports whether the store has an approval of a path's content.
func holds(s *trust.Store, path, content string, leads map[string]string) bool {
	a, ok := s.Get(path)
	sum := sha256.Sum256([]byte(content))
	return ok && a.Holds(hex.EncodeToString(sum[:]), leads)
}

func TestApprovalIsForAPathAndItsContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "trust")
	s := trust.Open(dir)
	assert.False(t, holds(s, "/p/agent.hcl", "aa", nil))
	assert.NoDirExists(t, dir, "asking makes nothing")

	require.NoError(t, s.Approve(trust.For("/p/agent.hcl", []byte("aa"), nil)))
	assert.True(t, holds(s, "/p/agent.hcl", "aa", nil))
	assert.False(t, holds(s, "/p/agent.hcl", "bb", nil))
	assert.False(t, holds(s, "/q/agent.hcl", "aa", nil))
	a, ok := s.Get("/p/agent.hcl")
	require.True(t, ok)
	assert.False(t, a.Holds("", nil))
	assert.Equal(t, "aa", string(a.Content), "what was approved can be read again")
	assert.False(t, a.Time.IsZero())

	require.NoError(t, s.Approve(trust.For("/p/agent.hcl", []byte("bb"), nil)))
	assert.True(t, holds(trust.Open(dir), "/p/agent.hcl", "bb", nil), "it lasts")
	assert.False(t, holds(s, "/p/agent.hcl", "aa", nil))

	require.NoError(t, s.Revoke("/p/agent.hcl"))
	require.NoError(t, s.Revoke("/p/agent.hcl"))
	assert.False(t, holds(s, "/p/agent.hcl", "bb", nil))
}

func TestAPathThatIsNotUTF8(t *testing.T) {
	s := trust.Open(t.TempDir())
	require.NoError(t, s.Approve(trust.For("/\xff\xfe/p", []byte("aa"), nil)))
	a, ok := s.Get("/\xff\xfe/p")
	assert.True(t, ok)
	assert.Equal(t, "/\xff\xfe/p", a.Path)
	for _, other := range []string{"/\xfe\xff/p", "/\ufffd\ufffd/p"} {
		_, ok := s.Get(other)
		assert.False(t, ok, "%q", other)
	}
	assert.Error(t, s.Approve(trust.For("/p", []byte("aa"), map[string]string{"/p/\xff": "/p/\xff"})))
}

// The same text needs another approval if its paths lead elsewhere.
func TestApprovalIsForWherePathsLead(t *testing.T) {
	s := trust.Open(t.TempDir())
	require.NoError(t, s.Approve(trust.For("/p", []byte("aa"), map[string]string{"/p/vendor": "/srv/vendor"})))
	assert.True(t, holds(s, "/p", "aa", map[string]string{"/p/vendor": "/srv/vendor"}))
	assert.False(t, holds(s, "/p", "aa", map[string]string{"/p/vendor": "/"}))
	assert.False(t, holds(s, "/p", "aa", nil))
}

// An approval copied to another file's place approves nothing.
func TestAnApprovalUnderAnotherName(t *testing.T) {
	s := trust.Open(t.TempDir())
	require.NoError(t, s.Approve(trust.For("/p", []byte("aa"), nil)))
	data, err := os.ReadFile(s.File("/p"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.File("/q"), data, 0o600))
	assert.False(t, holds(s, "/q", "aa", nil))
	assert.True(t, holds(s, "/p", "aa", nil))
}

func TestADamagedApprovalIsNone(t *testing.T) {
	s := trust.Open(t.TempDir())
	require.NoError(t, s.Approve(trust.For("/p", []byte("aa"), nil)))
	require.FileExists(t, s.File("/p"))
	require.NoError(t, os.WriteFile(s.File("/p"), []byte(`{"path":"/p","sha`), 0o600))
	assert.False(t, holds(s, "/p", "aa", nil))
}

func TestAStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Error(t, trust.Open(filepath.Join(file, "below")).Approve(trust.For("/p", []byte("aa"), nil)))
}
