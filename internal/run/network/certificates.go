package network

import (
	"os"
	"path/filepath"
	"slices"
)

// CertificateVariables name the certificates that programs trust in TLS. Where a company inspects TLS, nothing
// works without them.
var CertificateVariables = []string{
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "HTTPLIB2_CA_CERTS",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "DENO_CERT",
}

// bundles are the files of systems with the certificates that programs trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem", "/etc/ssl/cert.pem",
}

// Trusting returns the certificate files of this machine by path, with certificate added to each, and env, which sets
// every variable of CertificateVariables that names a file to the first of them. Since env replaces SSL_CERT_FILE, its
// certificates are added to the system's files too. Both maps are empty if there is no such file.
func Trusting(certificate []byte) (files, env map[string]string) {
	files, env = make(map[string]string), make(map[string]string)
	own, _ := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	for i, path := range append(slices.Clone(bundles), CertificateFiles()...) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || files[real] != "" {
			continue
		}
		data, err := os.ReadFile(real)
		if err != nil || len(data) == 0 { // such as a directory
			continue
		}
		if i < len(bundles) {
			data = append(append(data, '\n'), own...)
		}
		files[real] = string(data) + "\n" + string(certificate)
		for _, name := range CertificateVariables {
			if !slices.Contains(directories, name) && env[name] == "" {
				env[name] = path
			}
		}
	}
	return files, env
}

// directories are variables that name a directory.
var directories = []string{"SSL_CERT_DIR", "GIT_SSL_CAPATH"}

// CertificateFiles returns the paths that CertificateVariables have in toolhost's own environment.
func CertificateFiles() (paths []string) {
	for _, name := range CertificateVariables {
		if path := os.Getenv(name); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
