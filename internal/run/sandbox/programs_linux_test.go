package sandbox_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// networkPrograms are programs that reach $HOST, each in its own way and directory; needs is what must be
// installed.
var networkPrograms = []struct{ name, needs, line string }{
	{"curl", "curl --version", `curl -sSf --max-time 20 "https://$HOST/" | grep welcome`},
	{"wget", "wget --version", `wget -qO- -t1 -T20 --ca-certificate="$SSL_CERT_FILE" "https://$HOST/" | grep welcome`},
	{"git over https", "git --version", `git clone -q "https://$HOST/left.git" out && grep -q left out/README`},
	{"npm", "npm --version", `echo '{}' >package.json && : >npmrc &&
		npm install --userconfig npmrc --globalconfig none --cache cache --registry "https://$HOST/npm/" --no-audit --no-fund \
			--fetch-retries 0 left && grep -q 1.0.0 node_modules/left/package.json`},
	{"pip", "python3 -m pip --version", `PIP_CONFIG_FILE=/dev/null python3 -m pip download --disable-pip-version-check --no-cache-dir \
		--no-deps -q --retries 0 --index-url "https://$HOST/simple/" left && ls left-1.0.0-py3-none-any.whl`},
	{"go mod download", "go version", `GOENV=off GOTOOLCHAIN=local GOSUMDB=off GOFLAGS=-modcacherw GOPROXY="https://$HOST/go" \
		GOMODCACHE="$PWD/modules" go mod download example.com/left@v1.0.0 && ls modules/example.com/left@v1.0.0/go.mod`},
	{"fetch of Node", "node --version", `node -e 'fetch(process.argv[1]).then(r => r.text()).then(t => {
		if (!t.includes("welcome")) process.exit(2) }, e => { console.error(e); process.exit(1) })' "https://$HOST/"`},
	{"urllib", "python3 --version", `python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read())' "https://$HOST/" | grep welcome`},
	{"requests", "python3 -c 'import requests'", `python3 -c 'import sys, requests
print(requests.get(sys.argv[1], timeout=20).text)' "https://$HOST/" | grep welcome`},
	{"raw TCP", "bash --version", `bash -c 'exec 3<>/dev/tcp/$HOST/5432 && read -r -t 20 -u 3 line && [ "$line" = ready ]'`},
	{"static Go program", "true", `REACH="https=$HOST" ../program -test.run='^TestReacher$' && grep -q ':""' reached.json`},
}

// Common programs reach what the list names and nothing else, all in one sandbox, without a proxy variable.
func TestProgramsReachTheList(t *testing.T) {
	testneed.NotShort(t, "runs package managers")
	certificates(t, "a.example", "b.example")
	list := []string{"a.example", "a.example:5432"}
	got := runPrograms(t, list)
	control := runPrograms(t, append(list, "b.example", "b.example:5432"))
	for _, p := range networkPrograms {
		t.Run(p.name, func(t *testing.T) {
			if err := exec.Command("sh", "-c", p.needs).Run(); err != nil {
				testneed.Missing(t, p.needs+" does not work")
			}
			named, other := p.name+" a.example", p.name+" b.example"
			assert.Equal(t, "0", got[named].code, got[named].printed)
			assert.NotEqual(t, "0", got[other].code, "what the list does not name: %s", got[other].printed)
			assert.Equal(t, "0", control[other].code, "control: %s", control[other].printed)
		})
	}
}

type ranProgram struct{ code, printed string }

// runPrograms runs all of the programs in a sandbox, for both hosts, and returns their outcomes by name and
// host.
func runPrograms(t *testing.T, list []string) map[string]ranProgram {
	t.Helper()
	if verdict := sandbox.On(sandbox.Full); !verdict.Works {
		testneed.Missing(t, "sandbox level full does not work here: "+verdict.Reason)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	testfile.Program(t, filepath.Join(dir, "program"), string(self))
	script := "set -u\nenv | grep -i _proxy= && exit 9\n"
	dirs := make(map[string]string)
	for i, p := range networkPrograms {
		for _, host := range []string{"a.example", "b.example"} {
			own := fmt.Sprintf("%d-%s", i, host)
			dirs[p.name+" "+host] = own
			require.NoError(t, os.Mkdir(filepath.Join(dir, own), 0o755))
			testfile.Write(t, filepath.Join(dir, own, "run.sh"), p.line+"\n")
			script += fmt.Sprintf("(cd %s && HOST=%s && export HOST && sh run.sh) >%[1]s/printed 2>&1; echo $? >%[1]s/code\n", own, host)
		}
	}
	policy := sandbox.Policy{Level: sandbox.Full, Workspace: dir, Hosts: list}
	ended, err := proc.Run(network.With(t.Context(), new(network.Log)), proc.Command{Argv: []string{"sh", "-c", script}, Dir: dir,
		Timeout: 10 * time.Minute, Env: proc.Environ(nil), Prepare: policy.Confine})
	require.NoError(t, err)
	require.Zero(t, ended.ExitCode, ended.Stdout.String()+ended.Stderr.String())
	ran := make(map[string]ranProgram)
	for name, own := range dirs {
		ran[name] = ranProgram{strings.TrimSpace(testfile.Read(t, filepath.Join(dir, own, "code"))),
			testfile.Read(t, filepath.Join(dir, own, "printed"))}
	}
	return ran
}

// certificates serves what the programs ask for, by HTTPS for any name and by TCP at port 5432, and sets the
// programs' variables for trusted certificates.
func certificates(t *testing.T, hosts ...string) {
	t.Helper()
	certificate, authority := certifiedFor(t, hosts...)
	web := httptest.NewUnstartedServer(registries(t))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	web.StartTLS()
	t.Cleanup(web.Close)
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	go func() {
		for {
			conn, err := raw.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "ready\n")
			_ = conn.Close()
		}
	}()
	namesLead(t, func(to string) string {
		if strings.HasSuffix(to, ":5432") {
			return raw.Addr().String()
		}
		return web.Listener.Addr().String()
	})
	file := filepath.Join(t.TempDir(), "trusted.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o644))
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"} {
		t.Setenv(name, file)
	}
}

// certifiedFor makes an authority and its certificate for hosts.
func certifiedFor(t *testing.T, hosts ...string) (certificate tls.Certificate, authority []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: root.NotBefore,
		NotAfter: root.NotAfter, DNSNames: hosts, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, parsed, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{leafDER, der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func registries(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	serve := func(path string, content func(host string) []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content(r.Host)) })
	}
	text := func(path, text string) {
		serve(path, func(host string) []byte { return []byte(strings.ReplaceAll(text, "HOST", host)) })
	}
	text("/{$}", "welcome")
	text("/npm/left", `{"name":"left","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"left","version":"1.0.0",`+
		`"dist":{"tarball":"https://HOST/npm/left/-/left-1.0.0.tgz"}}}}`)
	serve("/npm/left/-/left-1.0.0.tgz", func(string) []byte {
		return tarball(t, "package/package.json", `{"name":"left","version":"1.0.0"}`)
	})
	text("/simple/left/", `<!DOCTYPE html><a href="/left-1.0.0-py3-none-any.whl">left</a>`)
	serve("/left-1.0.0-py3-none-any.whl", func(string) []byte {
		return zipped(t, "left-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: left\nVersion: 1.0.0\n",
			"left-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"left-1.0.0.dist-info/RECORD", "")
	})
	text("/go/example.com/left/@v/list", "v1.0.0\n")
	text("/go/example.com/left/@v/v1.0.0.info", `{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`)
	text("/go/example.com/left/@v/v1.0.0.mod", "module example.com/left\n")
	serve("/go/example.com/left/@v/v1.0.0.zip", func(string) []byte {
		return zipped(t, "example.com/left@v1.0.0/go.mod", "module example.com/left\n")
	})
	mux.Handle("/left.git/", http.StripPrefix("/left.git/", http.FileServer(http.Dir(bareRepository(t)))))
	return mux
}

// bareRepository returns a repository with a file README, to be served as files.
func bareRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := exec.LookPath("git"); err != nil {
		return dir
	}
	testfile.Write(t, filepath.Join(dir, "work", "README"), "left\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "left"}, {"clone", "-q", "--bare", ".", "../bare"},
		{"--git-dir", "../bare", "update-server-info"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(dir, "work")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
			"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return filepath.Join(dir, "bare")
}

func tarball(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	assert.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
	_, err := io.WriteString(w, content)
	assert.NoError(t, err)
	assert.NoError(t, w.Close())
	assert.NoError(t, compressed.Close())
	return b.Bytes()
}

// zipped returns an archive of files, given as names and contents by turns.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		file, err := w.Create(files[i])
		assert.NoError(t, err)
		_, err = io.WriteString(file, files[i+1])
		assert.NoError(t, err)
	}
	assert.NoError(t, w.Close())
	return b.Bytes()
}
