package network

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The user's settings name files that programs see, with a sandbox's certificate added if there is one. What
// the user has set stays.
func TestCertificateSettings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range CertificateVariables {
		t.Setenv(name, "")
	}
	assert.Empty(t, CertificateFiles())
	bundle, node := filepath.Join(dir, "company.pem"), filepath.Join(dir, "node.pem")
	require.NoError(t, os.WriteFile(bundle, []byte("COMPANY"), 0o600))
	require.NoError(t, os.WriteFile(node, []byte("NODE\n"), 0o600))
	t.Setenv("SSL_CERT_FILE", bundle)
	t.Setenv("SSL_CERT_DIR", dir)
	t.Setenv("NODE_EXTRA_CA_CERTS", node)
	t.Setenv("PIP_CERT", filepath.Join(dir, "gone.pem"))
	assert.Subset(t, CertificateFiles(), []string{bundle, dir, node})

	files, env := Trusting([]byte("OURS\n"))
	assert.Equal(t, "COMPANY\nOURS\n", files[bundle])
	assert.Equal(t, "NODE\n\nOURS\n", files[node])
	for path, content := range files {
		assert.Contains(t, content, "OURS", path)
		if filepath.Dir(path) != dir {
			assert.Contains(t, content, "COMPANY", "the system's own has what SSL_CERT_FILE names")
		}
	}
	for _, name := range directories {
		assert.Empty(t, env[name])
	}
	assert.NotEmpty(t, env["REQUESTS_CA_BUNDLE"])
	assert.NotContains(t, env, "HOME")
}
