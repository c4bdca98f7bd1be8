package oauth

import (
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Grant is a way to get tokens.
type Grant string

// The grants. Empty means AuthorizationCode.
const (
	// AuthorizationCode asks a user for consent in a browser.
	AuthorizationCode Grant = "authorization_code"
	// ClientCredentials is for machines: the client's own secret suffices.
	ClientCredentials Grant = "client_credentials"
	// JWTBearer is for machines with an assertion signed by another party, such as their platform (RFC 7523).
	JWTBearer Grant = "jwt_bearer"
)

// Config is toolhost's identity at an MCP server's authorization server. The zero value is for servers where
// clients register themselves. Its JSON form may be passed to another process.
type Config struct {
	Grant Grant `json:"grant,omitempty"`
	// ClientID is a manually registered client.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret belongs to ClientID. ClientSecretFile names a file with it, read when needed.
	ClientSecret     string `json:"client_secret,omitempty"`
	ClientSecretFile string `json:"client_secret_file,omitempty"`
	// PrivateKeyFile names a file with ClientID's private key, instead of a secret: PEM (PKCS #8), P-256,
	// Ed25519 or RSA.
	PrivateKeyFile string `json:"private_key_file,omitempty"`
	// AssertionFile names a file with the assertion for JWTBearer. It is read for every token request.
	AssertionFile string `json:"assertion_file,omitempty"`
	// ClientMetadataURL is the https URL of a client ID metadata document, instead of a registration if the
	// server accepts that.
	ClientMetadataURL string `json:"client_metadata_url,omitempty"`
	// Issuer is the only authorization server to use; by default the first that the MCP server names.
	Issuer string `json:"issuer,omitempty"`
	// Scopes replace those that the server names.
	Scopes []string `json:"scopes,omitempty"`
	// RedirectPort is the port of 127.0.0.1 for the redirect. Zero means any.
	RedirectPort int `json:"redirect_port,omitempty"`
	// Private allows a non-public address and any port for the authorization server.
	Private bool `json:"private,omitempty"`
}

// attended reports whether a login needs the user.
func (c *Config) attended() bool { return c.Grant == "" || c.Grant == AuthorizationCode }

func (c *Config) secret() (string, error) {
	if c.ClientSecretFile == "" {
		return c.ClientSecret, nil
	}
	return readSecret("client_secret_file", c.ClientSecretFile, true)
}

// maxSecret bounds a secret's file, in bytes.
const maxSecret = 64 << 10

// readSecret reads a file that holds only a secret. If owned, others must not be able to read the file.
func readSecret(attribute, path string, owned bool) (string, error) {
	wrong := func(why, next string) error {
		return tool.Errorf(tool.Unavailable, "%s %s %s", attribute, path, why).Suggest("%s", next)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", wrong("cannot be read: "+err.Error(), "Write what is needed into it: umask 077; cat > FILE")
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		return "", wrong("is not a file with a secret", "Name a file that contains only the secret.")
	case owned && info.Mode().Perm()&0o077 != 0:
		return "", wrong("can be read by others", "Run chmod 600 on it.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", wrong("cannot be read: "+err.Error(), "Make it readable for yourself.")
	}
	return strings.TrimSpace(string(data)), nil
}

// origin returns scheme, host and port of a URL in normal form.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
