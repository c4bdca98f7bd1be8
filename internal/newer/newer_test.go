package newer_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/newer"
)

func TestAskAServer(t *testing.T) {
	var asked []*http.Request
	answers := map[string]string{
		"/plain":   `{"version": "v1.2.3"}`,
		"/release": `{"tag_name": "v2.0.0", "html_url": "https://example.org/notes"}`,
		"/module":  `{"Version": "v0.3.0", "Time": "2026-11-22T00:00:00Z"}`, "/bare": `{"version": "1.2.3"}`,
		"/page": "<html>", "/empty": "", "/none": "{}", "/odd": `{"version": "latest"}`,
		"/long": `{"version": "v1.0.0", "x": "` + strings.Repeat("x", 2<<20) + `"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/plain", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/plain", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			text, ok := answers[r.URL.Path]
			if !ok {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(text))
		}
	}))
	defer server.Close()
	for path, want := range map[string]newer.Latest{
		"/plain": {Version: "v1.2.3"}, "/release": {Version: "v2.0.0", Page: "https://example.org/notes"},
		"/module": {Version: "v0.3.0"}, "/bare": {Version: "v1.2.3"}, "/moved": {Version: "v1.2.3"},
	} {
		got, err := newer.Ask(t.Context(), server.URL+path)
		require.NoError(t, err, path)
		assert.Equal(t, want, *got, path)
	}
	for path, says := range map[string]string{
		"/page": "does not name a version", "/empty": "does not name a version", "/none": "does not name a version",
		"/odd": "does not name a version", "/long": "more than 1 MiB", "/missing": "404",
		"/away":  "not an https address",
		"/round": "redirects too often",
	} {
		_, err := newer.Ask(t.Context(), server.URL+path)
		assert.ErrorContains(t, err, says, path)
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), path)
		assert.NotEmpty(t, tool.AsError(err).Suggestion, path)
	}
	for _, r := range asked {
		assert.Equal(t, http.MethodGet, r.Method)
		assert.Equal(t, "toolhost", r.UserAgent(), "it tells nobody which version asks")
		assert.Empty(t, r.URL.RawQuery)
	}
}

func TestAskAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "latest.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"version": "v1.2.3"}`), 0o600))
	latest, err := newer.Ask(t.Context(), file)
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3", latest.Version)
	for _, source := range []string{filepath.Dir(file), file + "x", "latest.json", "", "ftp://127.0.0.1/x",
		"http://example.org/x", "https://"} {
		_, err := newer.Ask(t.Context(), source)
		assert.Error(t, err, source)
	}
}
