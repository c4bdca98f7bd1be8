package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is a web site with every kind of answer in the contract.
func site(t *testing.T) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/docs/Page.html":
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = w.Write([]byte("<p>caf\xe9</p>"))
		case "/data":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"a":1}`))
		case "/image":
			w.Header().Set("Content-Type", "image/png")
		case "/hop":
			http.Redirect(w, r, "/data", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

type fetched struct {
	Path        string
	StatusCode  int
	ContentType string
	Cached      bool
	Bytes       int64
}

func TestWebFetch(t *testing.T) {
	url, requests := site(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "web {\n  allow = [\"127.0.0.1\"]\n}\n"})
	s := serve(t, dir, "--toolset", "agent")
	get := func(path string) (*toolResult, fetched) {
		r := s.call("web_fetch", `{"url":"`+url+path+`"}`)
		var f fetched
		if !r.IsError {
			require.NoError(t, json.Unmarshal(r.Structured, &f))
		}
		return r, f
	}
	r, page := get("/docs/Page.html")
	require.False(t, r.IsError, r.text())
	assert.Equal(t, 200, page.StatusCode)
	assert.Contains(t, page.ContentType, "text/html")
	host := regexp.MustCompile(`[^a-z0-9_.]`).ReplaceAllString(strings.TrimPrefix(url, "http://"), "_")
	sum := sha256.Sum256([]byte(url + "/docs/Page.html"))
	name := strings.TrimPrefix(page.Path, ".agent/cache/webfetch/")
	assert.NotEqual(t, page.Path, name, page.Path)
	assert.True(t, strings.HasPrefix(name, strings.Split(host, "_")[0]), "%s begins with the host", name)
	assert.True(t, strings.HasSuffix(name, fmt.Sprintf("_docs_page.html_%x.html", sum[:4])), name)
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(page.Path)))
	require.NoError(t, err)
	assert.Equal(t, "<p>café</p>", string(data), "decoded to UTF-8")
	assert.False(t, page.Cached)

	_, again := get("/docs/Page.html")
	assert.True(t, again.Cached, "revalidated with its ETag")
	assert.Equal(t, page.Path, again.Path)
	assert.EqualValues(t, 2, requests.Load())

	_, data2 := get("/hop")
	assert.True(t, strings.HasSuffix(data2.Path, ".json"), data2.Path)
	r, _ = get("/none")
	assert.True(t, r.IsError)
	assert.Contains(t, r.text(), "HTTP request failed with status code: 404")
	r, _ = get("/image")
	assert.True(t, r.IsError)
	assert.Contains(t, r.text(), "unsupported content type: image/png")
	r, _ = get("/out")
	assert.True(t, r.IsError, "every hop is checked")
	assert.Contains(t, r.text(), "169.254.169.254")

	md := s.call("html_to_markdown", `{"path":"`+page.Path+`"}`)
	assert.False(t, md.IsError, md.text())
}

func TestWebFetchReachesNothingPrivateUnlessAllowed(t *testing.T) {
	url, requests := site(t)
	s := serve(t, t.TempDir())
	port := url[strings.LastIndex(url, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433",
		"0x7f.1"} {
		r := s.call("web_fetch", `{"url":"http://`+host+port+`/data"}`)
		assert.True(t, r.IsError, host)
	}
	assert.Zero(t, requests.Load())
}
