package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []any // JWKs
	down  atomic.Bool
	asked atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := new(issuer)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		i.mu.Lock()
		defer i.mu.Unlock()
		var answer any
		switch {
		case i.down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case r.URL.Path == "/keys":
			i.asked.Add(1)
			answer = map[string]any{"keys": i.keys}
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			answer = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys",
				"authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
				"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}}
		default:
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(keys ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

func public(key any, id, use string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key, KeyID: id, Use: use}
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return key
}

func token(t *testing.T, alg jose.SignatureAlgorithm, key any, id, kind string, claims any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(kind))
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	require.NoError(t, err)
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return text
}

func unsigned(header string, claims any) string {
	data, _ := json.Marshal(claims)
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(data) + "."
}

const resource = "https://fleet.example.com/mcp"

// A token is accepted only if the issuer made it for this resource, it has not
// expired and it has the scopes.
func TestCheck(t *testing.T) {
	i := newIssuer(t)
	key, other, encrypting := ecKey(t), ecKey(t), ecKey(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	large, small := rsaKey(t, 2048), rsaKey(t, 1024)
	i.publish(public(key.Public(), "ec", "sig"), public(edwards.Public(), "ed", ""), public(large.Public(), "rsa", "sig"),
		public(small.Public(), "small", "sig"), public(encrypting.Public(), "enc", "enc"),
		jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "secret"},
		map[string]any{"kty": "of another kind", "kid": "odd"})
	c, err := New(Options{Issuer: i.URL, Resource: resource, Audiences: []string{"api://fleet"}, Scopes: []string{"mcp"}})
	require.NoError(t, err)
	c.keys.pause = time.Hour
	now := time.Now()
	good := map[string]any{"iss": i.URL, "aud": []string{"elsewhere", resource}, "exp": now.Add(time.Hour).Unix(),
		"nbf": now.Unix(), "iat": now.Unix(), "scope": "openid mcp", "sub": "somebody"}
	but := func(changes ...any) map[string]any {
		all := maps.Clone(good)
		for n := 0; n < len(changes); n += 2 {
			if all[changes[n].(string)] = changes[n+1]; changes[n+1] == nil {
				delete(all, changes[n].(string))
			}
		}
		return all
	}
	es := func(claims any) string { return token(t, jose.ES256, key, "ec", "at+jwt", claims) }
	whole := es(good)
	parts := strings.Split(whole, ".")
	changed := strings.TrimRight(unsigned("{}", but("sub", "root")), ".")
	embedded := jose.SigningKey{Algorithm: jose.ES256, Key: other}
	signer, err := jose.NewSigner(embedded, &jose.SignerOptions{EmbedJWK: true})
	require.NoError(t, err)
	foreign, err := jwt.Signed(signer).Claims(good).Serialize()
	require.NoError(t, err)
	pem := []byte(strings.Repeat("public key of the issuer ", 4))
	tests := []struct {
		name, token, path string
		err               error
	}{
		{"good", whole, "", nil},
		{"for a path below", es(but("aud", resource+"/shop")), "shop", nil},
		{"for all, at a path below", whole, "shop", nil},
		{"another name of the resource", es(but("aud", "api://fleet")), "", nil},
		{"scopes as a list", es(but("scope", nil, "scp", []string{"mcp"})), "", nil},
		{"just expired by the issuer's clock", es(but("exp", now.Add(-time.Second).Unix())), "", nil},
		{"EdDSA", token(t, jose.EdDSA, edwards, "ed", "JWT", good), "", nil},
		{"RS256", token(t, jose.RS256, large, "rsa", "application/at+jwt", good), "", nil},
		{"PS256", token(t, jose.PS256, large, "rsa", "JWT", good), "", nil},
		{"without the name of a key", token(t, jose.ES256, key, "", "JWT", good), "", nil},

		{"empty", "", "", ErrToken},
		{"no JWT", "0123456789abcdef", "", ErrToken},
		{"too long", whole + strings.Repeat("x", maxToken), "", ErrToken},
		{"no signature", unsigned(`{"alg":"none"}`, good), "", ErrToken},
		{"no signature, with a key", unsigned(`{"alg":"none","kid":"ec"}`, good), "", ErrToken},
		{"signature cut off", parts[0] + "." + parts[1] + ".", "", ErrToken},
		{"claims changed", parts[0] + "." + strings.Split(changed, ".")[1] + "." + parts[2], "", ErrToken},
		{"a secret in place of a key", token(t, jose.HS256, pem, "ec", "JWT", good), "", ErrToken},
		{"another's key under that name", token(t, jose.ES256, other, "ec", "JWT", good), "", ErrToken},
		{"its own key in the header", foreign, "", ErrToken},
		{"a key that there is not", token(t, jose.ES256, key, "new", "JWT", good), "", ErrToken},
		{"a key for encryption", token(t, jose.ES256, encrypting, "enc", "JWT", good), "", ErrToken},
		{"a weak key", token(t, jose.RS256, small, "small", "JWT", good), "", ErrToken},
		{"an announcement of a logout", token(t, jose.ES256, key, "ec", "logout+jwt", good), "", ErrToken},
		{"another issuer", es(but("iss", i.URL+"/")), "", ErrToken},
		{"no issuer", es(but("iss", nil)), "", ErrToken},
		{"another resource", es(but("aud", "https://other.example.com/mcp")), "", ErrToken},
		{"a resource whose name begins so", es(but("aud", resource+"x")), "", ErrToken},
		{"another path", es(but("aud", resource+"/private")), "shop", ErrToken},
		{"a path, for all", es(but("aud", resource+"/shop")), "", ErrToken},
		{"no resource", es(but("aud", nil)), "", ErrToken},
		{"expired", es(but("exp", now.Add(-time.Minute).Unix())), "", ErrToken},
		{"without an end", es(but("exp", nil)), "", ErrToken},
		{"not valid yet", es(but("nbf", now.Add(time.Hour).Unix())), "", ErrToken},
		{"made in the future", es(but("iat", now.Add(time.Hour).Unix())), "", ErrToken},
		{"bound to a key", es(but("cnf", map[string]any{"jkt": "x"})), "", ErrToken},
		{"without the scope", es(but("scope", "openid mcp2")), "", ErrScope},
		{"no scope", es(but("scope", nil)), "", ErrScope},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			claims, err := c.Check(t.Context(), tt.token, tt.path)
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				assert.Nil(t, claims)
				assert.NotContains(t, err.Error(), parts[2], "no signature in a message")
				return
			}
			require.NoError(t, err)
			assert.True(t, claims.Has("sub", "somebody"))
		})
	}
	assert.Equal(t, int64(1), i.asked.Load(), "unknown keys are asked for once in a while")
}

// Keys are requested again if one is missing; if the issuer does not answer, no token is accepted.
func TestKeys(t *testing.T) {
	i := newIssuer(t)
	first, second := ecKey(t), ecKey(t)
	claims := map[string]any{"iss": i.URL, "aud": resource, "exp": time.Now().Add(time.Hour).Unix()}
	old := token(t, jose.ES256, first, "1", "JWT", claims)
	c, err := New(Options{Issuer: i.URL, Resource: resource, Keys: i.URL + "/keys"})
	require.NoError(t, err)
	c.keys.pause = 0
	check := func(token string) error { _, err := c.Check(t.Context(), token, ""); return err }

	i.down.Store(true)
	require.ErrorIs(t, check(old), ErrKeys)
	i.down.Store(false)
	i.publish(public(first.Public(), "1", "sig"))
	require.NoError(t, check(old))
	next := token(t, jose.ES256, second, "2", "JWT", claims)
	require.ErrorIs(t, check(next), ErrToken)
	i.publish(public(second.Public(), "2", "sig"))
	require.NoError(t, check(next), "a new key")
	require.ErrorIs(t, check(old), ErrToken, "the old one is gone")
	i.down.Store(true)
	require.NoError(t, check(next), "what is known stays a while")
	c.keys.since = c.keys.since.Add(-keysKept)
	require.ErrorIs(t, check(next), ErrKeys, "and no longer")
}

// Wrong options are refused before anything listens.
func TestOptions(t *testing.T) {
	good := Options{Issuer: "https://login.example.com", Resource: resource}
	_, err := New(good)
	require.NoError(t, err)
	for says, change := range map[string]func(*Options){
		"write it with https":      func(o *Options) { o.Issuer = "http://login.example.com" },
		"issuer: \"\" is not":      func(o *Options) { o.Issuer = "" },
		"jwks: ":                   func(o *Options) { o.Keys = "ftp://login.example.com/keys" },
		"resource: \"\" is not":    func(o *Options) { o.Resource = "" },
		"ends in a slash":          func(o *Options) { o.Resource = "https://fleet.example.com/" },
		"is not a URL":             func(o *Options) { o.Resource = "https://user:word@fleet.example.com/mcp" },
		"scopes: \"a\\\"b\" is no": func(o *Options) { o.Scopes = []string{`a"b`} },
		"one of them is empty":     func(o *Options) { o.Audiences = []string{""} },
	} {
		o := good
		change(&o)
		_, err := New(o)
		assert.ErrorContains(t, err, says)
	}
}

// Clients learn where tokens come from.
func TestChallenge(t *testing.T) {
	c, err := New(Options{Issuer: "https://login.example.com", Resource: resource, Scopes: []string{"mcp", "x:y"}})
	require.NoError(t, err)
	base := `Bearer realm="toolhost", resource_metadata="https://fleet.example.com/.well-known/oauth-protected-resource/mcp`
	scope := `, scope="mcp x:y"`
	assert.Equal(t, base+`"`+scope, c.Challenge("", errors.New("none")))
	assert.Equal(t, base+`/a%22b"`+scope+`, error="invalid_token"`, c.Challenge(`a"b`, ErrToken))
	assert.Equal(t, base+`"`+scope+`, error="insufficient_scope"`, c.Challenge("", ErrScope))
	m := c.Metadata("shop")
	assert.Equal(t, resource+"/shop", m.Resource)
	assert.Equal(t, []string{"https://login.example.com"}, m.AuthorizationServers)
	assert.Equal(t, []string{"mcp", "x:y"}, m.ScopesSupported)
}

func TestClaims(t *testing.T) {
	c := Claims{"sub": "a b", "scope": "a b", "groups": []any{"x", 1.0}, "n": 1.0, "yes": true}
	for name, has := range map[string]bool{"sub=a b": true, "sub=a": false, "scope=a": true, "scope=a b": true,
		"groups=x": true, "groups=1": false, "n=1": false, "yes=true": false, "none=": false, "none=x": false} {
		claim, value, _ := strings.Cut(name, "=")
		assert.Equal(t, has, c.Has(claim, value), name)
	}
}
