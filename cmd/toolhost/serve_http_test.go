package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type httpServer struct {
	t      *testing.T
	url    string
	client *http.Client
	stop   func() int
	said   *testproc.Output
}

func serveHTTP(t *testing.T, dir string, env []string, args ...string) *httpServer {
	t.Helper()
	cmd := program(t, dir, append([]string{"serve"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &httpServer{t: t, client: http.DefaultClient, said: testproc.Listen(pipe)}
	s.stop = sync.OnceValue(func() int {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-s.said.Ended():
		case <-time.After(deadline):
			t.Error("the server does not end: " + s.log())
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() { s.stop() })
	s.url = s.said.Find(t, `serves MCP at (\S+)`)
	return s
}

func (s *httpServer) log() string { return s.said.Text() }

// made returns the token that the server generated for its run.
func (s *httpServer) made() string { return s.said.Find(s.t, `Authorization: Bearer (\S+)`) }

// connect opens an SDK session at a path below the URL.
func (s *httpServer) connect(path string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: s.url + path, HTTPClient: s.client}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(s.t.Context(), transport,
		nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

func called(t *testing.T, session *mcp.ClientSession, name string, params map[string]any) string {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: params})
	require.NoError(t, err)
	text := r.Content[0].(*mcp.TextContent).Text
	assert.False(t, r.IsError, text)
	return text
}

func offeredTo(t *testing.T, session *mcp.ClientSession) []string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

const toolsets = "toolset \"small\" {\n  tools = [\"read_file\", \"todowrite\", \"todoread\"]\n}\n" +
	"toolset \"found\" {\n  tools  = [\"head\", \"wc\"]\n  search = true\n}\n"

func TestServingOverHTTP(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": toolsets, "a.txt": "one\ntwo\n"})
	s := serveHTTP(t, dir, nil, "--http", "0", "--no-token")
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/mcp$`, s.url)

	main, small, found := s.connect("", nil), s.connect("/small", nil), s.connect("/found", nil)
	assert.Contains(t, offeredTo(t, main), "head")
	assert.ElementsMatch(t, []string{"read_file", "todowrite", "todoread"}, offeredTo(t, small))
	assert.ElementsMatch(t, []string{"search_tools", "describe_tool", "call_tool"}, offeredTo(t, found))
	assert.Equal(t, "one\n", called(t, main, "head", map[string]any{"args": "-n 1 a.txt"}))
	assert.Equal(t, "one\n",
		called(t, found, "call_tool",
			map[string]any{"name": "head", "arguments": map[string]any{"args": "-n 1 a.txt"}}))
	assert.Equal(t, "one\ntwo\n", called(t, small, "read_file", map[string]any{"path": "a.txt"}))

	response, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/healthz")
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
	_, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + "/cliagent"}, nil)
	assert.Error(t, err, "a set with more than the project has is not offered unless it is named")
	assert.Zero(t, s.stop(), s.log())
}

func TestServingNamedToolsetsOverHTTP(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": toolsets, "a.txt": "one\n"})
	s := serveHTTP(t, dir, nil, "--http", "0", "--no-token", "--toolset", "small", "--toolset", "cliagent")
	assert.Contains(t, offeredTo(t, s.connect("", nil)), "todoread")
	assert.Contains(t, offeredTo(t, s.connect("/small", nil)), "todoread")
	assert.Contains(t, offeredTo(t, s.connect("/cliagent", nil)), "grep_search")
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + "/found"}, nil)
	assert.Error(t, err)
}

func TestSessionsOverHTTPAreTheirOwn(t *testing.T) {
	s := serveHTTP(t, t.TempDir(), nil, "--http", "0", "--no-token", "--toolset", "agent")
	list := map[string]any{"todos_json": `[{"content":"x","status":"pending","priority":"high"}]`}
	// The SDK's client prefers the revision without sessions, so these two name theirs.
	one, two := s.connect("?session=one", nil), s.connect("?session=two", nil)
	called(t, one, "todowrite", list)
	assert.Contains(t, called(t, one, "todoread", nil), "x")
	assert.NotContains(t, called(t, two, "todoread", nil), `\"x\"`)
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	const token = "f00dfacef00dface"
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	for name, s := range map[string]*httpServer{
		"in a file":          serveHTTP(t, dir, nil, "--http", "0", "--token-file", file),
		"in a variable":      serveHTTP(t, dir, []string{"TOOLHOST_HTTP_TOKEN=" + token}, "--http", "0"),
		"for other machines": serveHTTP(t, dir, nil, "--http", "0.0.0.0:0", "--token-file", file),
	} {
		url := strings.Replace(s.url, "0.0.0.0", "127.0.0.1", 1)
		url = strings.Replace(url, "[::]", "127.0.0.1", 1)
		response, err := http.Post(url, "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, http.StatusUnauthorized, response.StatusCode, name)
		s.url, s.client = url, &http.Client{Transport: withHeader{"Authorization", "Bearer " + token}}
		assert.NotEmpty(t, offeredTo(t, s.connect("", nil)), name)
		assert.NotContains(t, s.log(), token)
		if name == "for other machines" {
			s.said.Shows(t, "--tls-cert")
		}
	}
}

// TestTokenOfARun: without a token one is generated for the run, and --no-token warns.
func TestTokenOfARun(t *testing.T) {
	one, two := serveHTTP(t, t.TempDir(), nil, "--http", "0"), serveHTTP(t, t.TempDir(), nil, "--http", "0")
	assert.GreaterOrEqual(t, len(one.made()), 26, "it cannot be guessed")
	assert.NotEqual(t, one.made(), two.made())
	for token, want := range map[string]int{"": 401, two.made(): 401, one.made(): 400} {
		client := http.Client{Transport: withHeader{"Authorization", "Bearer " + token}}
		response, err := client.Post(one.url, "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, want, response.StatusCode, token)
	}
	one.client = &http.Client{Transport: withHeader{"Authorization", "Bearer " + one.made()}}
	assert.NotEmpty(t, offeredTo(t, one.connect("", nil)))

	open := serveHTTP(t, t.TempDir(), nil, "--http", "0", "--no-token")
	assert.NotEmpty(t, offeredTo(t, open.connect("", nil)))
	assert.NotContains(t, open.log(), "Bearer")
	open.said.Shows(t, "every program on this machine")
}

func TestWrongUseOfServe(t *testing.T) {
	dir := t.TempDir()
	open, short := filepath.Join(dir, "open"), filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(open, []byte("f00dfacef00dface"), 0o644))
	require.NoError(t, os.WriteFile(open+"2", []byte("f00dfacef00dface"), 0o600))
	require.NoError(t, os.WriteFile(short, []byte("secret"), 0o600))
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"other machines without a token": {[]string{"--http", "0.0.0.0:0"}, "needs a token"},
		"other machines, any client":     {[]string{"--http", "0.0.0.0:0", "--no-token"}, "needs a token"},
		"a token and none": {[]string{"--http", "0", "--no-token", "--token-file", open + "2"},
			"Leave out"},
		"no token on stdio":            {[]string{"--no-token"}, "--http ADDR"},
		"a token that others can read": {[]string{"--http", "0", "--token-file", open}, "chmod 600"},
		"a token that can be guessed":  {[]string{"--http", "0", "--token-file", short}, "at least 16"},
		"no token file":                {[]string{"--http", "0", "--token-file", dir + "/none"}, "openssl rand"},
		"half of TLS":                  {[]string{"--http", "0", "--tls-cert", open}, "belong together"},
		"no certificate":               {[]string{"--http", "0", "--tls-cert", open, "--tls-key", open}, "PEM"},
		"no address":                   {[]string{"--http", "here"}, "HOST:PORT"},
		"a flag for HTTP without it":   {[]string{"--token-file", short}, "--http ADDR"},
		"two toolsets on stdio":        {[]string{"--toolset", "agent", "--toolset", "cliagent"}, "one toolset"},
		"no such toolset":              {[]string{"--http", "0", "--toolset", "agnet"}, "agnet"},
	} {
		_, stderr, code := runIn(t, dir, append([]string{"serve"}, tt.args...)...)
		assert.Equal(t, 2, code, name)
		assert.Contains(t, stderr, tt.want, name)
	}
}

func TestServingOnAUnixSocket(t *testing.T) {
	short, err := os.MkdirTemp("", "sock")
	require.NoError(t, err)
	defer os.RemoveAll(short)
	socket := filepath.Join(short, "s")
	s := serveHTTP(t, t.TempDir(), nil, "--http", "unix:"+socket)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())
	s.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	assert.NotEmpty(t, offeredTo(t, s.connect("", nil)))
	_, stderr, code := runIn(t, t.TempDir(), "serve", "--http", "unix:"+socket)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "a server is there already")
	assert.Zero(t, s.stop())
	_, err = os.Stat(socket)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// certificate makes one for 127.0.0.1 and returns a client that trusts it.
func certificate(t *testing.T) (cert, key string, client *http.Client) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: encoded}} {
		var b bytes.Buffer
		require.NoError(t, pem.Encode(&b, block))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	}
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

func TestServingOverTLS(t *testing.T) {
	cert, key, client := certificate(t)
	s := serveHTTP(t, t.TempDir(), nil, "--http", "0", "--no-token", "--tls-cert", cert, "--tls-key", key)
	assert.True(t, strings.HasPrefix(s.url, "https://"), s.url)
	s.client = client
	assert.NotEmpty(t, offeredTo(t, s.connect("", nil)))
}

// TestCurlOfTheDocs runs the request in docs/MCP.md verbatim.
func TestCurlOfTheDocs(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	testneed.Program(t, "curl")
	page, err := os.ReadFile("../../docs/MCP.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?ms)^```sh\n(curl .*?)^```").FindSubmatch(page)
	require.NotNil(t, block, "docs/MCP.md shows a request")
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "", "a.txt": "one\n"})
	s := serveHTTP(t, dir, nil, "--http", "0")
	shown := string(block[1])
	require.Contains(t, shown, "http://127.0.0.1:8123/mcp")
	curl := exec.Command("sh", "-c", strings.ReplaceAll(shown, "http://127.0.0.1:8123/mcp", s.url))
	curl.Env = environment(t.TempDir(), "TOKEN="+s.made())
	out, err := curl.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), `"text":"[\"a.txt\",\"agent.hcl\"]"`)
}
