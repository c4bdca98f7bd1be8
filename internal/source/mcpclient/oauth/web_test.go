package oauth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

// TestWhereAServerMayLead lists the URLs allowed in the documents of MCP servers in different places.
func TestWhereAServerMayLead(t *testing.T) {
	for _, test := range []struct {
		server  string
		private bool
		to      string
		allowed bool
	}{
		{"https://mcp.example.com/mcp", false, "https://login.example.com/token", true},
		{"https://mcp.example.com/mcp", false, "https://mcp.example.com:8443/token",
			true}, // named by the operator
		{"https://mcp.example.com/mcp", false, "http://login.example.com/token", false},
		{"https://mcp.example.com/mcp", false, "http://mcp.example.com/token", false},
		{"https://mcp.example.com/mcp", false, "https://login.example.com:6379/", false},
		{"https://mcp.example.com/mcp", false, "http://127.0.0.1:8080/", false},
		{"https://mcp.example.com/mcp", false, "https://127.0.0.1/", false},
		{"https://mcp.example.com/mcp", false, "https://[::1]/", false},
		{"https://mcp.example.com/mcp", false, "https://0x7f.1/", false},
		{"https://mcp.example.com/mcp", false, "https://10.1.2.3/", false},
		{"https://mcp.example.com/mcp", false, "https://169.254.169.254/", false},
		{"https://mcp.example.com/mcp", false, "https://[::ffff:10.0.0.1]/", false},
		{"https://mcp.example.com/mcp", false, "https://user:pass@login.example.com/", false},
		{"https://mcp.example.com/mcp", false, "file:///etc/passwd", false},
		{"https://mcp.example.com/mcp", false, "/token", false},
		{"https://mcp.example.com/mcp", true, "https://10.1.2.3:8443/", true},
		{"https://mcp.example.com/mcp", true, "http://10.1.2.3/", false},
		{"https://mcp.example.com/mcp", true, "http://127.0.0.1/", false},
		{"https://10.0.0.5/mcp", false, "https://10.0.0.5:9443/token", true},
		{"https://10.0.0.5/mcp", false, "https://10.0.0.6/token", false},
		{"http://127.0.0.1:3000/mcp", false, "http://127.0.0.1:3001/token", true},
		{"http://localhost:3000/mcp", false, "http://[::1]:3001/token", true},
		{"http://localhost:3000/mcp", false, "https://login.example.com/token", true},
		{"http://localhost:3000/mcp", false, "https://10.0.0.6/token", false},
		{"http://localhost.example.com/mcp", false, "http://localhost/token", false},
	} {
		w, err := newWeb(parse(t, test.server), test.private)
		require.NoError(t, err)
		err = w.checkText(test.to)
		assert.Equal(t, test.allowed, err == nil, "%s to %s: %v", test.server, test.to, err)
		if err != nil {
			assert.Equal(t, tool.Blocked, tool.CodeOf(err))
		}
	}
}

// TestNamesAreCheckedWhenDialled has a public-looking name resolve to this machine.
func TestNamesAreCheckedWhenDialled(t *testing.T) {
	reached := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	w, err := newWeb(parse(t, "https://mcp.example.com/mcp"), false)
	require.NoError(t, err)
	w.direct.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	to := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	_, err = w.direct.DialContext(t.Context(), "tcp", strings.TrimPrefix(to, "https://"))
	refused, ok := errors.AsType[*tool.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, tool.Blocked, refused.Code)
	assert.False(t, reached)
}

// TestRedirects follows redirects of documents, but never with secrets.
func TestRedirects(t *testing.T) {
	to, hits := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		hits++
		writeJSON(w)
	}))
	defer server.Close()
	w, err := newWeb(parse(t, server.URL), false)
	require.NoError(t, err)
	var into map[string]any

	to = server.URL + "/to"
	found, err := w.getJSON(t.Context(), server.URL+"/from", &into)
	require.NoError(t, err)
	assert.True(t, found)
	_, err = w.client.Post(server.URL+"/from", "application/x-www-form-urlencoded",
		strings.NewReader("refresh_token=x"))
	require.ErrorContains(t, err, "redirects a request that carries secrets")
	assert.Equal(t, 1, hits)

	for _, to = range []string{"http://10.0.0.1/", "http://169.254.169.254/latest", "ftp://127.0.0.1/",
		server.URL + "/from"} {
		_, err = w.getJSON(t.Context(), server.URL+"/from", &into)
		refused, ok := errors.AsType[*tool.Error](err)
		require.True(t, ok, "%s: %v", to, err)
		assert.Equal(t, tool.Blocked, refused.Code)
	}
	assert.Equal(t, 1, hits)
}

func writeJSON(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{}`))
}

// TestEndlessDocuments has a server send more than any document has.
func TestEndlessDocuments(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"a":"`))
		for range 64 {
			_, _ = w.Write([]byte(strings.Repeat("x", 64<<10)))
		}
		_, _ = w.Write([]byte(`"}`))
	}))
	defer server.Close()
	w, err := newWeb(parse(t, server.URL), false)
	require.NoError(t, err)
	var into map[string]any
	_, err = w.getJSON(t.Context(), server.URL, &into)
	require.ErrorContains(t, err, "unexpected EOF")
}

// TestScopesAreOneWordOfAShell has a server put a command into a scope, which the next step would show.
func TestScopesAreOneWordOfAShell(t *testing.T) {
	assert.Equal(t, "repo:read", quoted("repo:read"))
	assert.Equal(t, `'x;rm'`, quoted("x;rm"))
	assert.Equal(t, `'x'\''y'`, quoted("x'y"))
	assert.Equal(t, `'$(id)'`, quoted("$(id)"))
}
