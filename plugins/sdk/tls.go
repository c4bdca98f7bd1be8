package sdk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"math/big"
	"time"
)

// certificateLife is longer than any plugin runs.
const certificateLife = 10 * 365 * 24 * time.Hour

// mutualTLS is for hosts that send a certificate, as they do where sockets can
// be reached by other users: each side takes the other's certificate and no
// other. It gives the plugin's as the handshake has it. Without a certificate
// of the host's there is no TLS.
func mutualTLS(host string) (config *tls.Config, certificate string, err error) {
	if host == "" {
		return nil, "", nil
	}
	hosts := x509.NewCertPool()
	if !hosts.AppendCertsFromPEM([]byte(host)) {
		return nil, "", errors.New("PLUGIN_CLIENT_CERT holds no certificate: start the plugin by toolhost")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	now := time.Now()
	own := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"}, // the name that go-plugin's client expects
		NotBefore:    now.Add(-time.Minute), NotAfter: now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    hosts,
		MinVersion:   tls.VersionTLS12,
	}, base64.RawStdEncoding.EncodeToString(der), nil
}
