package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/gateway"
)

const claimed = `
oauth {
  issuer   = "ISSUER"
  resource = "https://fleet.example.com/mcp"
  jwks     = "ISSUER/keys"
  scopes   = ["mcp"]
}
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  claims = { team = "a" }
}
tenant "b" {
  claims = { team = "b", groups = "makers" }
}
tenant "both" {
  claims = { groups = "all" }
}
tenant "own" {
  token_env = "TENANT_A"
}
`

// Clients without a token learn where to get one; those with one are the tenant
// whose claims it has.
func TestOAuthTenants(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1"}}})
	}))
	t.Cleanup(issuer.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	require.NoError(t, err)
	as := func(scope string, claims map[string]any) string {
		all := map[string]any{"iss": issuer.URL, "aud": "https://fleet.example.com/mcp", "scope": scope,
			"exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range claims {
			all[name] = value
		}
		text, err := jwt.Signed(signer).Claims(all).Serialize()
		require.NoError(t, err)
		return text
	}
	t.Setenv("TENANT_A", tokenA)
	f := newInside(t, notes, strings.ReplaceAll(claimed, "ISSUER", issuer.URL), plain)

	answer, err := http.Post(f.url+"/scratch", "application/json", strings.NewReader(opening("")))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	challenges, err := oauthex.ParseWWWAuthenticate(answer.Header.Values("WWW-Authenticate"))
	require.NoError(t, err)
	require.Len(t, challenges, 1)
	where := "/.well-known/oauth-protected-resource/mcp/scratch"
	assert.Equal(t, "https://fleet.example.com"+where, challenges[0].Params["resource_metadata"])
	assert.Equal(t, "mcp", challenges[0].Params["scope"])
	metadata, err := oauthex.GetProtectedResourceMetadata(t.Context(), strings.TrimSuffix(f.url, "/mcp")+where,
		"https://fleet.example.com/mcp/scratch", http.DefaultClient)
	require.NoError(t, err)
	assert.Equal(t, []string{issuer.URL}, metadata.AuthorizationServers)

	for name, tt := range map[string]struct {
		token  string
		status int
		says   string
	}{
		"a":               {as("mcp", map[string]any{"team": "a"}), http.StatusOK, "protocolVersion"},
		"b":               {as("mcp", map[string]any{"team": "b", "groups": []string{"makers"}}), http.StatusOK, "protocolVersion"},
		"own":             {tokenA, http.StatusOK, "protocolVersion"},
		"without a scope": {as("", map[string]any{"team": "a"}), http.StatusForbidden, "lacks a scope: mcp"},
		"half of b":       {as("mcp", map[string]any{"team": "b"}), http.StatusForbidden, "not that of one tenant"},
		"a and another": {as("mcp", map[string]any{"team": "a", "groups": []string{"all"}}), http.StatusForbidden,
			"not that of one tenant"},
		"not signed": {as("mcp", map[string]any{"team": "a"}) + "A", http.StatusUnauthorized, "is not valid"},
		"guessed":    {"0123456789abcdef", http.StatusUnauthorized, "is not valid"},
	} {
		status, session, text := send(t, f.url, tt.token, "", opening(""))
		assert.Equal(t, tt.status, status, "%s: %s", name, text)
		assert.Contains(t, text, tt.says, name)
		assert.Equal(t, tt.status == http.StatusOK, session != "", name)
	}

	a, b := as("mcp", map[string]any{"team": "a"}), as("mcp", map[string]any{"team": "b", "groups": "makers"})
	_, session, _ := send(t, f.url, a, "", opening(""))
	status, _, text := send(t, f.url, b, session, noteMessage("mine"))
	assert.Equal(t, http.StatusNotFound, status, text)
	status, _, text = send(t, f.url, a, session, noteMessage("mine"))
	assert.Equal(t, http.StatusOK, status, text)
	assert.Contains(t, text, `"text":"mine`)
}

// A file that would admit no client, or the wrong ones, is refused.
func TestOAuthConfig(t *testing.T) {
	p := newPlace(t)
	t.Setenv("TENANT_A", tokenA)
	good := strings.ReplaceAll(claimed, "ISSUER", "https://login.example.com")
	_, err := gateway.Load(p.write("fleet.hcl", good))
	require.NoError(t, err)
	for says, change := range map[string][2]string{
		"no oauth block":            {good[:strings.Index(good, "workspace")], ""},
		"no tenant takes its":       {good[strings.Index(good, `tenant "a"`):strings.Index(good, `tenant "own"`)], ""},
		"write it with https":       {"https://login", "http://login"},
		"token of its own; make":    {`team = "a" }`, `team = "a" }` + "\n  token_env = \"TENANT_A\""},
		"one word of at least":      {`claims = { team = "a" }`, "claims = {}"},
		"Missing required argument": {`resource = "https://fleet.example.com/mcp"`, ""},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		_, err := gateway.Load(p.write("fleet.hcl", text))
		assert.ErrorContains(t, err, says)
	}
}

func TestNoMetadata(t *testing.T) {
	f := newInside(t, notes, "")
	status, text := f.get("/.well-known/oauth-protected-resource/mcp")
	assert.Equal(t, http.StatusNotFound, status, text)
}
