package cliagent_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
)

func serve(t *testing.T, contentType, body string) string {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	})
}

func serveFunc(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func TestFetchWebpage(t *testing.T) {
	const name = "fetch_webpage"
	from := func(url string) args { return args{"url": url} }
	t.Run("success", func(t *testing.T) {
		body := "<html>" + strings.Repeat("x", 5324-6)
		url := serve(t, "text/html; charset=utf-8", body)
		g := newBench(t).ok(name, from(url))
		assert.Equal(t, "Fetched content from "+url+" (5.2 KB)\n"+body, g.Output)
		assert.JSONEq(t, `{"url":"`+url+`","status_code":200,"content_length":5324,"content_type":"text/html"}`,
			g.meta())
		assert.Empty(t, g.FilesAffected)
		assert.False(t, g.result.Truncated)
	})
	t.Run("sizes", func(t *testing.T) {
		b := newBench(t)
		for n, size := range map[int]string{0: "0 bytes", 512: "512 bytes", 1023: "1023 bytes", 1024: "1.0 KB",
			1 << 20: "1.0 MB"} {
			url := serve(t, "text/plain", strings.Repeat("x", n))
			assert.True(t, strings.HasPrefix(b.ok(name, from(url)).Output, "Fetched content from "+url+" ("+size+")\n"),
				size)
		}
	})
	t.Run("charset is decoded", func(t *testing.T) {
		assert.Contains(t, newBench(t).ok(name, from(serve(t, "text/plain; charset=iso-8859-1", "Gr\xfc\xdfe"))).Output,
			"\nGrüße")
	})
	t.Run("redirects are followed", func(t *testing.T) {
		target := serve(t, "text/plain", "there")
		url := serveFunc(t,
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
		g := newBench(t).ok(name, from(url))
		assert.Equal(t, "Fetched content from "+url+" (5 bytes)\nthere", g.Output)
		assert.Equal(t, url, g.Metadata["url"])
	})
	t.Run("content that is no text is not shown", func(t *testing.T) {
		g := newBench(t).ok(name, from(serve(t, "image/png", "\x89PNG\r\n\x1a\n\x00\x00")))
		assert.Contains(t, g.Output, "(10 bytes)\n[the content is image/png, which is not text and is not shown]\n")
		assert.Equal(t, "image/png", g.Metadata["content_type"])
	})
	t.Run("too large is cut at 1MB with the warning", func(t *testing.T) {
		b := newBench(t)
		url := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "3145728")
			fmt.Fprint(w, strings.Repeat("x", 3<<20))
		})
		g := b.ok(name, from(url))
		head := "Fetched content from " + url +
			" (3.0 MB)\nError: Response too large (>1MB), truncating\nThe first 1048576 bytes are shown, 2097152 more are left out.\n"
		require.True(t, strings.HasPrefix(g.Output, head), g.Output[:200])
		assert.Equal(t, strings.Repeat("x", 1<<20), g.Output[len(head):])
		assert.EqualValues(t, 3<<20, g.Metadata["content_length"])
		assert.True(t, g.result.Truncated)

		url = serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, strings.Repeat("x", 1<<20+1))
		})
		assert.Contains(t, b.ok(name, from(url)).Output,
			"\nThe first 1048576 bytes are shown; how many more there are is not known.\n")
	})
	t.Run("exactly 1MB is whole", func(t *testing.T) {
		g := newBench(t).ok(name, from(serve(t, "text/plain", strings.Repeat("x", 1<<20))))
		assert.NotContains(t, g.Output, "too large")
	})
	t.Run("error invalid URL", func(t *testing.T) {
		b := newBench(t)
		for _, url := range []string{"", "example.com", "ftp://example.com", "file:///etc/passwd", "http://",
			"http://a b", "https://user:pw@example.com", "http://127.0.0.1:99999", "javascript:alert(1)"} {
			b.fails("invalid_url", "Error: Invalid URL format", name, from(url))
		}
	})
	t.Run("error network connection refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		addr := c.LocalAddr().String() // nothing listens there, and the port stays taken
		newBench(t).fails("network_error", "Error: Failed to fetch - connection refused", name, from("http://"+addr))
	})
	t.Run("error address that is not public", func(t *testing.T) {
		web, err := cliagent.NewWeb(nil)
		require.NoError(t, err)
		b := newBenchWith(t, cliagent.Deps{Web: web}, workspace.Options{})
		url := serve(t, "text/plain", "geheim")
		for _, target := range []string{url, "http://169.254.169.254/latest/meta-data", "http://[::1]/",
			"http://10.0.0.1/"} {
			g := b.call(name, from(target))
			require.False(t, g.Success)
			assert.Equal(t, "network_error", g.Error.Code)
			assert.Contains(t, g.result.Text(), "Error: Failed to fetch - ")
			assert.Contains(t, g.Error.Message, "not a public address")
		}
	})
	t.Run("error status", func(t *testing.T) {
		url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
		g := newBench(t).fails("network_error",
			"Error: Failed to fetch - the server answered with status 404 Not Found", name, from(url))
		assert.EqualValues(t, 404, g.Metadata["status_code"])
	})
	t.Run("error redirect to nowhere", func(t *testing.T) {
		url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusFound) })
		g := newBench(t).fails("network_error", "Error: Failed to fetch - the server answered with status 302 Found",
			name, from(url))
		assert.EqualValues(t, 302, g.Metadata["status_code"])
	})
	t.Run("error timeout", func(t *testing.T) {
		for what, handle := range map[string]func(http.ResponseWriter){
			"before the answer": func(http.ResponseWriter) {},
			"within the answer": func(w http.ResponseWriter) { fmt.Fprint(w, "begin"); w.(http.Flusher).Flush() },
		} {
			url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
				handle(w)
				<-r.Context().Done()
			})
			started := time.Now()
			newBench(t).fails("timeout", "Error: Request timed out after 1 seconds", name,
				args{"url": url, "timeout_seconds": 1})
			assert.Less(t, time.Since(started), time.Minute, what)
		}
	})
	t.Run("default timeout 10", func(t *testing.T) {
		assert.Equal(t, "10", fmt.Sprint(defaults(t, name)["timeout_seconds"]))
	})
	t.Run("timeout_seconds must be between 1 and 60", func(t *testing.T) {
		b := newBench(t)
		url := serve(t, "text/plain", "x")
		b.invalid("timeout_seconds: must be at least 1", name, args{"url": url, "timeout_seconds": 0})
		b.invalid("timeout_seconds: must be at most 60", name, args{"url": url, "timeout_seconds": 61})
		b.ok(name, args{"url": url, "timeout_seconds": 60})
		assert.Greater(t, b.tools[name].Definition().Timeout, 60*time.Second)
	})
	t.Run("without the web", func(t *testing.T) {
		ws, err := workspace.Open(t.TempDir(), workspace.Options{})
		require.NoError(t, err)
		defer ws.Close()
		for _, tl := range cliagent.New(cliagent.Deps{Workspace: ws}) {
			if tl.Definition().Name == name {
				r, err := tl.Call(t.Context(), &tool.Call{Params: tool.MustMarshal(from("https://example.com"))})
				require.NoError(t, err)
				assert.Equal(t, tool.Unavailable, r.Failed.Code)
			}
		}
	})
	t.Run("parameters", func(t *testing.T) {
		b := newBench(t)
		b.invalid("url: is required", name, args{})
		b.invalid("url: must be a string", name, args{"url": 1})
		b.invalid("timeout_seconds: must be an integer", name,
			args{"url": "https://example.com", "timeout_seconds": "1"})
		b.invalid("method: is not a known parameter", name, args{"url": "https://example.com", "method": "POST"})
	})
	t.Run("definition", func(t *testing.T) {
		checkDefinition(t, name, tool.Dangerous, `{"url":"string","timeout_seconds":"integer"}`, "url")
	})
}
