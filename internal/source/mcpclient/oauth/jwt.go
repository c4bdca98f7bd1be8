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
	"encoding/pem"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// authJWT authenticates a client by a statement signed with its own key (RFC 7523, section 2.2).
const (
	authJWT       = "private_key_jwt"
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionLife = time.Minute
)

// parseKey parses a private key in PEM (PKCS #8): P-256, Ed25519, or RSA of at least 2048 bits.
func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PrivateKey:
		if key.N.BitLen() >= 2048 {
			return key, nil
		}
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, errors.New("it is of no kind that can be used: P-256, Ed25519, RSA of 2048 bits or more")
}

// assertion returns a signed statement for one request to an issuer.
func assertion(id, issuer string, key crypto.Signer) (string, error) {
	algorithm := "ES256"
	switch key.(type) {
	case *rsa.PrivateKey:
		algorithm = "RS256"
	case ed25519.PrivateKey:
		algorithm = "EdDSA"
	}
	now := time.Now()
	part := func(value any) string { return base64.RawURLEncoding.EncodeToString(tool.MustMarshal(value)) }
	signed := part(map[string]string{"alg": algorithm, "typ": "JWT"}) + "." + part(map[string]any{
		"iss": id, "sub": id, "aud": issuer, "jti": rand.Text(), "iat": now.Unix(),
		"exp": now.Add(assertionLife).Unix(),
	})
	signature, err := sign(key, []byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// sign signs as in RFC 7518, section 3, and RFC 8037.
func sign(key crypto.Signer, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			return nil, err
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), nil
	case ed25519.PrivateKey:
		return key.Sign(rand.Reader, message, crypto.Hash(0))
	}
	return key.Sign(rand.Reader, digest[:], crypto.SHA256)
}
