package webfetch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/webfetch"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/store/hmackey"
)

type bench struct {
	t        *testing.T
	root     string
	tool     tool.Tool
	now      time.Time
	server   *httptest.Server
	offer    func(*hmackey.Key) // makes the tool again, with a key
	requests []http.Header
}

func newBench(t *testing.T, handler http.HandlerFunc) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir(), now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	ws, err := workspace.Open(b.root, workspace.Options{})
	require.NoError(t, err)
	client, err := netguard.New(netguard.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	key, err := hmackey.Open(t.TempDir())
	require.NoError(t, err)
	b.offer = func(key *hmackey.Key) {
		b.tool = webfetch.New(ws, client,
			webfetch.Options{MaxBytes: 1 << 20, Key: key, Now: func() time.Time { return b.now }})
	}
	b.offer(key)
	var mu sync.Mutex
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		b.requests = append(b.requests, r.Header.Clone())
		mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(func() { b.server.Close(); client.Close(); assert.NoError(t, ws.Close()) })
	return b
}

type answer struct {
	Path        string
	StatusCode  int
	ContentType string
	Cached      bool
	Bytes       int
}

func (b *bench) call(rawURL string) (*tool.Result, error) {
	return b.tool.Call(b.t.Context(),
		&tool.Call{Tool: "web_fetch", Params: tool.MustMarshal(map[string]string{"url": rawURL})})
}

// fetch fetches a path of the server and returns the result and the file's text.
func (b *bench) fetch(path string) (answer, string) {
	b.t.Helper()
	result, err := b.call(b.server.URL + path)
	require.NoError(b.t, err)
	var keys map[string]any
	require.NoError(b.t, json.Unmarshal(result.Structured, &keys))
	assert.Len(b.t, keys, 5)
	for _, key := range []string{"path", "statusCode", "contentType", "cached", "bytes"} {
		assert.Contains(b.t, keys, key)
	}
	var a answer
	require.NoError(b.t, json.Unmarshal(result.Structured, &a))
	text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(a.Path)))
	require.NoError(b.t, err)
	assert.Len(b.t, text, a.Bytes)
	if a.Cached {
		assert.NotContains(b.t, result.FilesAffected, a.Path)
	} else {
		assert.Contains(b.t, result.FilesAffected, a.Path)
	}
	return a, string(text)
}

func reply(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}
}

func TestNames(t *testing.T) {
	b := newBench(t, reply("text/html", "x"))
	u, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	host := strings.ReplaceAll(u.Host, ":", "_")
	for path, name := range map[string]string{
		"":                             "_",
		"/":                            "_",
		"/path/to/page":                "_path_to_page",
		"/path/to/page/":               "_path_to_page",
		"/a/B.html?query=value#x":      "_a_b.html",
		"/%C3%84%20b-c~d":              "___b_c_d",
		"/../../etc/passwd":            "_.._.._etc_passwd",
		"/" + strings.Repeat("a", 400): "_" + strings.Repeat("a", 179-len(host)),
	} {
		t.Run(path, func(t *testing.T) {
			sum := sha256.Sum256([]byte(b.server.URL + path))
			got, _ := b.fetch(path)
			want := ".agent/cache/webfetch/" + host + name + "_" + hex.EncodeToString(sum[:])[:8] + ".html"
			assert.Equal(t, want, got.Path)
		})
	}
}

func TestTypes(t *testing.T) {
	var contentType string
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) { reply(contentType, "<p>hello")(w, r) })
	for _, c := range []struct{ contentType, ext string }{
		{"text/html; charset=utf-8", ".html"}, {"TEXT/HTML", ".html"}, {"application/xhtml+xml", ".html"},
		{"application/xml", ".xml"}, {"text/xml", ".xml"}, {"application/json; charset=utf-8", ".json"},
		{"text/plain", ".txt"}, {"text/css", ".txt"}, {"text/markdown", ".txt"}, {"text/javascript", ".txt"},
	} {
		contentType = c.contentType
		got, text := b.fetch("/" + url.PathEscape(c.contentType))
		assert.Equal(t, c.ext, filepath.Ext(got.Path), c.contentType)
		assert.Equal(t, c.contentType, got.ContentType)
		assert.Equal(t, 200, got.StatusCode)
		assert.False(t, got.Cached)
		assert.Equal(t, "<p>hello", text)
	}
	for _, contentType = range []string{"image/png", "application/pdf", "application/octet-stream",
		"application/javascript", "video/mp4", "application/ld+json"} {
		_, err := b.call(b.server.URL + "/" + contentType)
		require.Error(t, err)
		assert.Equal(t, "unsupported content type: "+contentType, err.Error())
		assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
	}
	files, err := os.ReadDir(filepath.Join(b.root, ".agent/cache/webfetch"))
	require.NoError(t, err)
	assert.Len(t, files, 2*10)
}

func TestTypeMissing(t *testing.T) {
	body := "<!DOCTYPE html><p>hi"
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		fmt.Fprint(w, body)
	})
	got, _ := b.fetch("/a")
	assert.Equal(t, ".html", filepath.Ext(got.Path))
	body = "\x89PNG\r\n\x1a\n"
	_, err := b.call(b.server.URL + "/b")
	assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
	assert.ErrorContains(t, err, "image/png")
}

func TestStatus(t *testing.T) {
	status := 0
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
	})
	for _, status = range []int{400, 401, 403, 404, 410, 418, 429, 500, 503, 300, 304} {
		_, err := b.call(b.server.URL)
		require.Error(t, err, status)
		assert.Equal(t, fmt.Sprintf("HTTP request failed with status code: %d", status), err.Error())
		assert.NotEmpty(t, tool.AsError(err).Suggestion)
		assert.Equal(t, status == 404 || status == 410, tool.CodeOf(err) == tool.NotFound)
	}
	assert.NoDirExists(t, filepath.Join(b.root, ".agent"))
	for _, status = range []int{200, 201, 203} {
		got, text := b.fetch("/")
		assert.Equal(t, status, got.StatusCode)
		assert.Empty(t, text)
	}
}

func TestBadURLs(t *testing.T) {
	b := newBench(t, reply("text/plain", "x"))
	for rawURL, code := range map[string]tool.Code{
		"": tool.InvalidArgument, "www.example.com": tool.InvalidArgument, "ftp://example.com/x": tool.InvalidArgument,
		"file:///etc/passwd": tool.InvalidArgument, "http://user:pw@example.com/": tool.InvalidArgument,
		"http://10.0.0.1/": tool.Blocked, "http://[::1]/": tool.Blocked, "http://169.254.169.254/": tool.Blocked,
	} {
		_, err := b.call(rawURL)
		assert.Equal(t, code, tool.CodeOf(err), "%s: %v", rawURL, err)
		_, err = b.tool.(tool.Planner).Plan(t.Context(),
			&tool.Call{Params: tool.MustMarshal(map[string]string{"url": rawURL})})
		assert.Equal(t, code, tool.CodeOf(err), "%s: %v", rawURL, err)
	}
	assert.Empty(t, b.requests)
}

func TestCharsetBecomesUTF8(t *testing.T) {
	b := newBench(t, reply("text/html; charset=iso-8859-1", "<meta charset=iso-8859-1>caf\xe9"))
	got, text := b.fetch("/")
	assert.Equal(t, "<meta charset=iso-8859-1>café", text)
	assert.Equal(t, "text/html; charset=iso-8859-1", got.ContentType)
}

func TestTooLarge(t *testing.T) {
	b := newBench(t, reply("text/plain", strings.Repeat("x", 1<<20+1)))
	_, err := b.call(b.server.URL)
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
	assert.NoDirExists(t, filepath.Join(b.root, ".agent"))
}

func TestPlanTouchesNothing(t *testing.T) {
	b := newBench(t, reply("text/plain", "x"))
	call := &tool.Call{Params: tool.MustMarshal(map[string]string{"url": b.server.URL + "/a"})}
	plan, err := b.tool.(tool.Planner).Plan(t.Context(), call)
	require.NoError(t, err)
	assert.Contains(t, plan.Preview, "GET "+b.server.URL+"/a\n")
	assert.Empty(t, b.requests)
	assert.NoDirExists(t, filepath.Join(b.root, ".agent"))
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	b := newBench(t, reply("text/plain", "x"))
	require.NoError(t, os.WriteFile(filepath.Join(b.root, ".agent"), nil, 0o600))
	_, err := b.call(b.server.URL)
	assert.Equal(t, tool.NotADirectory, tool.CodeOf(err), "%v", err)
}

func TestDefinition(t *testing.T) {
	d := newBench(t, reply("text/plain", "x")).tool.Definition()
	assert.Equal(t, "web_fetch", d.Name)
	assert.Equal(t, tool.Dangerous, d.Risk)
	assert.Equal(t, []tool.Permission{tool.Network, tool.FileWrite}, d.Permissions)
	assert.Contains(t, d.Description, "Returns:")
	s, err := schema.Compile(d.Parameters)
	require.NoError(t, err)
	_, _, violations := s.Decode(d.Examples[0].Params)
	assert.Empty(t, violations)
	_, err = schema.Compile(d.Returns)
	require.NoError(t, err)
}
