package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func inPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestAssertions verifies the signatures with the standard library, in the forms of RFC 7518 (sections
// 3.3 and 3.4) and RFC 8037 (section 3.1).
func TestAssertions(t *testing.T) {
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	factors, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	for algorithm, test := range map[string]struct {
		key   any
		valid func(message, signature []byte) bool
	}{
		"ES256": {elliptical, func(message, signature []byte) bool {
			digest := sha256.Sum256(message)
			return len(signature) == 64 &&
				ecdsa.Verify(&elliptical.PublicKey, digest[:], new(big.Int).SetBytes(signature[:32]),
					new(big.Int).SetBytes(signature[32:]))
		}},
		"EdDSA": {edwards, func(message, signature []byte) bool { return ed25519.Verify(public, message, signature) }},
		"RS256": {factors, func(message, signature []byte) bool {
			digest := sha256.Sum256(message)
			return rsa.VerifyPKCS1v15(&factors.PublicKey, crypto.SHA256, digest[:], signature) == nil
		}},
	} {
		t.Run(algorithm, func(t *testing.T) {
			key, err := parseKey(inPEM(t, test.key))
			require.NoError(t, err)
			before := time.Now().Unix()
			text, err := assertion("me", "https://login.example.com", key)
			require.NoError(t, err)
			parts := strings.Split(text, ".")
			require.Len(t, parts, 3)
			decoded := make([][]byte, 3)
			for i, part := range parts {
				decoded[i], err = base64.RawURLEncoding.DecodeString(part)
				require.NoError(t, err)
			}
			assert.JSONEq(t, `{"alg":"`+algorithm+`","typ":"JWT"}`, string(decoded[0]))
			var claims struct {
				Iss, Sub, Aud, Jti string
				Iat, Exp           int64
			}
			require.NoError(t, json.Unmarshal(decoded[1], &claims))
			assert.Equal(t, []string{"me", "me", "https://login.example.com"},
				[]string{claims.Iss, claims.Sub, claims.Aud})
			assert.NotEmpty(t, claims.Jti)
			assert.GreaterOrEqual(t, claims.Iat, before)
			assert.LessOrEqual(t, claims.Iat, time.Now().Unix())
			assert.Equal(t, int64(60), claims.Exp-claims.Iat)
			assert.True(t, test.valid([]byte(parts[0]+"."+parts[1]), decoded[2]))
		})
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	for text, message := range map[string]string{
		"hello":         "not in PEM",
		inPEM(t, other): "of no kind that can be used",
		"-----BEGIN PRIVATE KEY-----\naGk=\n-----END PRIVATE KEY-----\n": "asn1",
	} {
		_, err := parseKey(text)
		require.ErrorContains(t, err, message)
	}
}
