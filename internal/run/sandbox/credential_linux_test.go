package sandbox_test

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// search looks for a text, given backwards, in the environments, memories and files that a process sees. The
// error is where it is.
func search(backwards string) error {
	text := []byte(backwards)
	slices.Reverse(text)
	var found []string
	searched := 0
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, process := range processes {
		for _, file := range []string{"environ", "cmdline"} {
			if data, err := os.ReadFile(filepath.Join(process, file)); err == nil && bytes.Contains(data, text) {
				found = append(found, filepath.Join(process, file))
			}
		}
		if filepath.Base(process) == fmt.Sprint(os.Getpid()) {
			continue // the searched part contains the text itself
		}
		n, err := searchMemory(process, text)
		if searched += n; err != nil {
			found = append(found, err.Error())
		}
	}
	for _, dir := range []string{".", "/etc", "/tmp", "/dev", "/run", "/var/tmp"} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if info, failed := os.Lstat(path); err != nil || failed != nil || !info.Mode().IsRegular() {
				return nil // a device, though its directory says otherwise
			}
			if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, text) {
				found = append(found, path)
			}
			return nil
		})
	}
	if len(found) > 0 {
		return errors.New("found in " + strings.Join(found, ", "))
	}
	return nil
}

func searchMemory(process string, text []byte) (searched int, err error) {
	maps, err := os.ReadFile(filepath.Join(process, "maps"))
	if err != nil {
		return 0, nil
	}
	memory, err := os.Open(filepath.Join(process, "mem"))
	if err != nil {
		return 0, nil
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x ", &from, &to); err != nil || from < 0 || to-from > 64<<20 {
			continue
		}
		data := make([]byte, to-from)
		n, _ := memory.ReadAt(data, from)
		if searched += n; bytes.Contains(data[:n], text) {
			return searched, errors.New(filepath.Join(process, "mem"))
		}
	}
	return searched, nil
}

// certified leads every name to one HTTPS server, which welcomes requests with a value, and whose certificate
// is in SSL_CERT_FILE.
func certified(t *testing.T, header, value string, hosts ...string) {
	t.Helper()
	certificate, authority := certifiedFor(t, hosts...)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != value {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "welcome")
	}))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	web.StartTLS()
	t.Cleanup(web.Close)
	namesLead(t, func(string) string { return web.Listener.Addr().String() })
	file := filepath.Join(t.TempDir(), "trusted.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o600))
	t.Setenv("SSL_CERT_FILE", file)
}

// The host of a credential welcomes the process, which finds the credential nowhere. The host's other name,
// without one, refuses.
func TestACredentialIsNowhereInTheSandbox(t *testing.T) {
	planted := "planted-" + rand.Text() // not known to the program
	backwards := []byte(planted)
	slices.Reverse(backwards)
	certified(t, "X-Token", planted, "a.example", "b.example")
	policy := sandbox.Policy{Hosts: []string{"a.example", "b.example"},
		Credentials: []network.Credential{{Name: "registry", Host: "a.example", Port: 443, Header: "X-Token", Value: planted}}}
	got, log := reachBy(t, policy, "https=a.example", "search="+string(backwards), "https=b.example")
	assert.Empty(t, got["https=a.example"])
	assert.Empty(t, got["search="+string(backwards)])
	assert.Contains(t, got["https=b.example"], "401")
	list, _ := log.Connections()
	assert.NotContains(t, fmt.Sprint(list), planted)

	t.Setenv("CARGO_HTTP_CAINFO", "/"+planted) // inherited by every process
	got, _ = reachBy(t, policy, "search="+string(backwards))
	assert.Contains(t, got["search="+string(backwards)], "environ", "control: what is there is found")
}
