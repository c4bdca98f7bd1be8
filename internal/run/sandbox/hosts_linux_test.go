package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// reach is reachBy without credentials.
func reach(t *testing.T, hosts []string, places ...string) (got map[string]string, log *network.Log) {
	t.Helper()
	return reachBy(t, sandbox.Policy{Hosts: hosts}, places...)
}

// reachBy runs this test binary confined, which tries to reach each place, and returns the errors by place: ""
// if reached.
func reachBy(t *testing.T, policy sandbox.Policy, places ...string) (got map[string]string, log *network.Log) {
	t.Helper()
	if verdict := sandbox.On(sandbox.Full); !verdict.Works {
		testneed.Missing(t, "sandbox level full does not work here: "+verdict.Reason)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	program := filepath.Join(dir, "program")
	testfile.Program(t, program, string(self))
	policy.Level, policy.Workspace = sandbox.Full, dir
	log = &network.Log{}
	r, err := proc.Run(network.With(t.Context(), log), proc.Command{
		Argv: []string{program, "-test.run=^TestReacher$"}, Dir: dir, Timeout: 2 * time.Minute,
		Env:     proc.Environ(map[string]string{"REACH": strings.Join(places, " ")}),
		Prepare: policy.Confine,
	})
	require.NoError(t, err)
	require.Zero(t, r.ExitCode, r.Stdout.String()+r.Stderr.String())
	data, err := os.ReadFile(filepath.Join(dir, "reached.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &got))
	log.Settle()
	return got, log
}

// TestReacher is run by reach, confined.
func TestReacher(t *testing.T) {
	places := strings.Fields(testneed.Child(t, "REACH", "TestHostsAreReached"))
	got := make(map[string]string)
	for _, place := range places {
		kind, address, _ := strings.Cut(place, "=")
		if err := try(kind, address); err != nil {
			got[place] = err.Error()
		} else {
			got[place] = ""
		}
	}
	data, err := json.Marshal(got)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("reached.json", data, 0o600))
}

// try reaches an address by HTTP, a connection, a packet or a lookup, or listens at it.
func try(kind, address string) error {
	const patience = 10 * time.Second
	client := http.Client{Timeout: patience}
	if way, ok := strings.CutPrefix(kind, "way:"); ok {
		return tryWay(way, address)
	}
	switch kind {
	case "http":
		r, err := client.Get("http://" + address)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		_, err = io.Copy(io.Discard, r.Body)
		return err
	case "https":
		r, err := client.Get("https://" + address)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		answer, err := io.ReadAll(r.Body)
		if err == nil && (r.StatusCode != http.StatusOK || string(answer) != "welcome") {
			err = fmt.Errorf("%s: %s", r.Status, answer)
		}
		return err
	case "search":
		return search(address)
	case "lookup":
		_, err := net.LookupHost(address)
		return err
	case "listen":
		l, err := net.Listen("tcp", address)
		if err == nil {
			_ = l.Close()
		}
		return err
	}
	conn, err := net.DialTimeout(kind, address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return err
}

// namesLead leads every name to servers of this machine, through a proxy. lead returns the address of the
// server for "HOST:PORT".
func namesLead(t *testing.T, lead func(to string) (address string)) {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := net.Dial("tcp", lead(r.Host))
		if err != nil {
			return
		}
		from, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, buffered)
			_ = to.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(from, to)
		_ = from.Close()
		_ = to.Close()
	}))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
}

// standIn leads every name to one server.
func standIn(t *testing.T) (server string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host)
	}))
	t.Cleanup(web.Close)
	server = strings.TrimPrefix(web.URL, "http://")
	namesLead(t, func(string) string { return server })
	return server
}

func TestHostsAreReached(t *testing.T) {
	server := standIn(t)
	_, port, err := net.SplitHostPort(server)
	require.NoError(t, err)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	hosts := []string{"a.example", "*.example.org:8443", "db.example:5432", "localhost:" + port}
	reached := []string{"http=a.example", "tcp=a.example:443", "http=x.y.example.org:8443", "tcp=db.example:5432",
		"http=localhost:" + port, "http=127.0.0.1:" + port, "http=A.EXAMPLE.", "listen=127.0.0.1:5432",
		"listen=127.0.0.1:8080"}
	refused := []string{"http=b.example", "http=a.example:8080", "http=example.org:8443", "http=x.example.org",
		"tcp=db.example:443", "tcp=" + other.Addr().String(), "tcp=1.1.1.1:80", "tcp=[2606:4700:4700::1111]:443",
		"udp=1.1.1.1:53", "udp=[2606:4700:4700::1111]:53", "tcp=169.254.169.254:80", "tcp=198.18.7.7:80",
		"tcp=127.0.0.1:80", "listen=127.0.0.1:80", "listen=127.0.0.1:53", "listen=198.18.0.1:53", "tcp=127.0.0.2:443",
		"tcp=0.0.0.0:443", "lookup=secret.b.example", "lookup=example.org",
		"tcp=[::ffff:1.1.1.1]:80", "tcp=10.0.0.1:80", "udp=a.example:443", "udp=198.18.0.1:54"}
	got, log := reach(t, hosts, append(reached, refused...)...)
	for _, place := range reached {
		assert.Empty(t, got[place], place)
	}
	for _, place := range refused {
		assert.NotEmpty(t, got[place], place)
	}
	assert.Contains(t, log.Explain(), `network = ["a.example", "*.example.org:8443", "db.example:5432", "localhost:`)
	assert.Subset(t, log.Refused(), []string{"b.example", "secret.b.example", "example.org"})

	got, log = reach(t, nil, append(reached[:6], refused...)...)
	for place, err := range got {
		assert.NotEmpty(t, err, "control: %s without a list", place)
	}
	assert.Empty(t, log.Explain())
}

func TestListsAreHeldAtLevelFullAlone(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Off} {
		if !sandbox.On(level).Works {
			testneed.Missing(t, "sandbox level landlock does not work here")
		}
		_, err := sandbox.Apply(exec.Command("/bin/true"), sandbox.Policy{Level: level, Hosts: []string{"a.example"}})
		require.Error(t, err, level)
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
		assert.Contains(t, err.Error(), "cannot be held at sandbox level "+string(level))
	}
}
