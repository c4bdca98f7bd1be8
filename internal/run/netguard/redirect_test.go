package netguard_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
)

// countdown redirects from /n to /n-1, and answers at /0.
func countdown(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if n == 0 {
		fmt.Fprint(w, "done")
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
}

func TestRedirectsAreCounted(t *testing.T) {
	server := serve(t, countdown)
	r, err := fetch(t, local(t), server.URL+"/10#here")
	require.NoError(t, err)
	assert.Equal(t, "done", string(r.Body))
	assert.Equal(t, server.URL+"/0", r.URL)
	assert.Len(t, r.Redirects, 10)
	assert.Equal(t, http.StatusFound, r.Redirects[0])

	_, err = fetch(t, local(t), server.URL+"/11")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.Contains(t, err.Error(), "redirects more than 10 times")

	none := newClient(t, netguard.Options{Allow: []string{"127.0.0.1"}, MaxRedirects: -1})
	_, err = fetch(t, none, server.URL+"/1")
	assert.Error(t, err)
	_, err = fetch(t, none, server.URL+"/0")
	assert.NoError(t, err)
}

func TestRedirectsToForbiddenPlaces(t *testing.T) {
	secret, hits := canary(t)
	var location string
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
	p := port(t, secret.URL)
	for _, location = range []string{
		"http://127.0.0.2:" + p, "http://[::1]:" + p, "http://0:" + p, "http://0x7f.1:" + p,
		"http://[::ffff:127.0.0.1]:" + p, "http://169.254.169.254/", "//10.0.0.1/x", "file:///etc/passwd",
		"ftp://example.com/",
		"http://user:pw@127.0.0.1:" + p, "http://8.8.8.8:22/",
	} {
		_, err := fetch(t, local(t), server.URL)
		assert.Equal(t, tool.Blocked, tool.CodeOf(err), "%s: %v", location, err)
	}
	assert.Zero(t, hits.Load())
}

func TestHeadersStayAtTheirOrigin(t *testing.T) {
	var seen http.Header
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })
	var home string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/near":
			http.Redirect(w, r, home+"/end", http.StatusFound)
		default:
			seen = r.Header.Clone()
		}
	})
	home = server.URL
	request := func(path string) {
		seen = nil
		_, err := local(t).Fetch(t.Context(), netguard.Request{URL: home + path, Header: http.Header{
			"Authorization": {"Bearer secret"}, "Cookie": {"a=b"}, "X-Api-Key": {"secret"}, "Accept": {"text/html"},
			"If-None-Match":   {`"e"`},
			"Accept-Encoding": {"br"},
		}})
		require.NoError(t, err)
		require.NotNil(t, seen)
	}
	request("/near")
	assert.Equal(t, "Bearer secret", seen.Get("Authorization"))
	assert.Equal(t, "secret", seen.Get("X-Api-Key"))
	assert.Empty(t, seen.Get("Referer"))

	request("/away")
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Referer"} {
		assert.Empty(t, seen.Get(name), name)
	}
	assert.Equal(t, "text/html", seen.Get("Accept"))
	assert.Equal(t, `"e"`, seen.Get("If-None-Match"))
	assert.Equal(t, "toolhost", seen.Get("User-Agent"))
	assert.Equal(t, "gzip", seen.Get("Accept-Encoding"))
}

func TestDroppedHeadersDoNotComeBack(t *testing.T) {
	var seen http.Header
	var home, away string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			seen = r.Header.Clone()
			return
		}
		http.Redirect(w, r, away, http.StatusFound)
	})
	other := serve(t,
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, home+"/end", http.StatusFound) })
	home, away = server.URL, other.URL
	_, err := local(t).Fetch(t.Context(),
		netguard.Request{URL: home + "/start", Header: http.Header{"Authorization": {"secret"}}})
	require.NoError(t, err)
	assert.Empty(t, seen.Get("Authorization"))
}

func TestBodyStaysAtItsOrigin(t *testing.T) {
	other, hits := canary(t)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/echo" {
			fmt.Fprint(w, r.Method)
			return
		}
		target := map[string]string{"/away": other.URL, "/near": "/echo"}[r.URL.Path]
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	post := func(path string) (*netguard.Response, error) {
		return local(t).Fetch(t.Context(),
			netguard.Request{URL: server.URL + path, Method: http.MethodPost, Body: []byte("secret")})
	}
	r, err := post("/near")
	require.NoError(t, err)
	assert.Equal(t, "POST", string(r.Body))
	_, err = post("/away")
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))
	assert.Zero(t, hits.Load())
}
