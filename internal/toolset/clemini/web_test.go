package clemini_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// pages serves the files of testdata and some odd answers.
func pages(t testing.TB) *httptest.Server {
	t.Helper()
	page := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			data, err := os.ReadFile("testdata/" + name)
			assert.NoError(t, err)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(data)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/html/", func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query().Get("q"); q {
		case "xyzzy123nonexistent":
			page("none.html")(w, r)
		case "too fast":
			page("challenge.html")(w, r)
		case "refused":
			w.WriteHeader(http.StatusForbidden)
		default:
			assert.Contains(t, []string{"tokio runtime", "ä & b=c#d"}, q)
			page("results.html")(w, r)
		}
	})
	mux.HandleFunc("/tokio/latest/tokio/", page("page.html"))
	mux.HandleFunc("/articles", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>T</title><body><nav>nav</nav><article>one</article><article>two</` +
			`article><div role="navigation">more</div><p>rest</p></body>`))
	})
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("just <b>text</b>\n"))
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
	})
	mux.HandleFunc("/image",
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") })
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/tokio/latest/tokio/", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// webBench is a bench whose web is a test server.
func webBench(t testing.TB) (*bench, string) {
	server := pages(t)
	return newBenchOf(t, clemini.Deps{Web: local(t), SearchURL: server.URL + "/html/"}), server.URL
}

func webCases() []provingCase {
	docs := args{"title": "tokio - Rust", "url": "https://docs.rs/tokio/latest/tokio/?a=1&b=%C3%A4#top",
		"snippet": "A runtime for writing asynchronous <applications>."}
	hub := args{"title": "tokio-rs/tokio", "url": "https://github.com/tokio-rs/tokio", "snippet": "Grüße 世界"}
	reddit := args{"title": "r/rust", "url": "https://www.reddit.com/r/rust/", "snippet": ""}
	not := args{"title": "Not docs", "url": "https://notdocs.rs/", "snippet": "Another domain."}
	found := func(query string, hits ...args) string {
		return string(tool.MustMarshal(args{"results": append([]args{}, hits...), "query": query}))
	}
	return []provingCase{
		{"web_search example 1; web_search parameter query; web_search result results; web_search result query",
			func(t *testing.T) {
				b, _ := webBench(t)
				b.gives(found("tokio runtime", docs, hub, reddit, not), "web_search", args{"query": "tokio runtime"})
				b.gives(found("ä & b=c#d", docs, hub, reddit, not), "web_search", args{"query": "ä & b=c#d"})
			}},
		{"web_search example 2; web_search parameter allowed_domains", func(t *testing.T) {
			b, _ := webBench(t)
			b.gives(found("tokio runtime", docs, hub), "web_search",
				args{"query": "tokio runtime", "allowed_domains": []string{"docs.rs", "GitHub.com"}})
			b.gives(found("tokio runtime", reddit), "web_search",
				args{"query": "tokio runtime", "allowed_domains": []string{"https://reddit.com/r"}})
			b.gives(found("tokio runtime"), "web_search",
				args{"query": "tokio runtime", "allowed_domains": []string{"rs.example"}})
		}},
		{"web_search example 3; web_search parameter blocked_domains", func(t *testing.T) {
			b, _ := webBench(t)
			b.gives(found("tokio runtime", docs, hub, not), "web_search",
				args{"query": "tokio runtime", "blocked_domains": []string{"reddit.com", "stackoverflow.com"}})
			b.gives(found("tokio runtime", hub), "web_search",
				args{"query": "tokio runtime", "allowed_domains": []string{"docs.rs", "github.com"},
					"blocked_domains": []string{"*.docs.rs"}})
		}},
		{"web_search example 4", func(t *testing.T) {
			b, _ := webBench(t)
			b.gives(`{"results":[],"query":"xyzzy123nonexistent"}`, "web_search", args{"query": "xyzzy123nonexistent"})
		}},
		{"web_fetch example 1; web_fetch parameter url; web_fetch result content", func(t *testing.T) {
			b, server := webBench(t)
			for _, path := range []string{"/tokio/latest/tokio/", "/to"} {
				content := b.ok("web_fetch", args{"url": server + path})["content"].(string)
				assert.Equal(t, "# tokio\n\nA runtime for *reliable* network [applications]("+server+
					"/tokio/latest/guide?x=1#start), see [tokio.rs](https://tokio.rs/).\n\n"+
					"```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", content)
			}
		}},
		{"web_fetch example 2; web_fetch example 3; web_fetch parameter prompt; web_fetch result processed_content",
			func(t *testing.T) {
				b, server := webBench(t)
				b.host.OnSample = func(request sdk.SampleRequest) (*sdk.SampleResponse, error) {
					assert.Contains(t, request.Prompt, "List the main parts")
					assert.Contains(t, request.Prompt, "# tokio\n\nA runtime for")
					assert.NotContains(t, request.Prompt, "navigation link")
					return &sdk.SampleResponse{Text: "Main parts:\n1. runtime"}, nil
				}
				b.gives(`{"processed_content":"Main parts:\n1. runtime"}`, "web_fetch",
					args{"url": server + "/tokio/latest/tokio/", "prompt": "List the main parts"})
			}},
		{"web_fetch example 4", func(t *testing.T) {
			b := newBenchOf(t, clemini.Deps{Web: local(t)})
			const nobodyListens = "http://127.0.0.1:1" // tcpmux; a port of our own could be reused by another test
			b.fails("IO_ERROR", "Failed to fetch URL: connection refused", "web_fetch", args{"url": nobodyListens})
		}},
	}
}

func TestWebFetchFailures(t *testing.T) {
	b, server := webBench(t)
	b.fails("IO_ERROR", "Failed to fetch URL: the server answered with status 410 Gone", "web_fetch",
		args{"url": server + "/gone"})
	b.fails("INVALID_ARGUMENT", "Failed to fetch URL: its content is image/png, which is not text", "web_fetch",
		args{"url": server + "/image"})
	b.fails("INVALID_ARGUMENT", "", "web_fetch", args{"url": "file:///etc/passwd"})
	b.fails("INVALID_ARGUMENT", "", "web_fetch", args{"url": "not a url"})
	guarded := newBench(t)
	guarded.fails("ACCESS_DENIED", "", "web_fetch", args{"url": server + "/plain"})
	guarded.fails("ACCESS_DENIED", "", "web_fetch", args{"url": "http://169.254.169.254/latest"})
}

func TestWebFetchWithoutAModel(t *testing.T) {
	b, server := webBench(t)
	got := b.fails("IO_ERROR", "", "web_fetch", args{"url": server + "/plain", "prompt": "What is it?"})
	assert.Equal(t, "just <b>text</b>\n", got["content"])
	assert.Contains(t, got["error"], "no language model")
	b.host.OnSample = func(sdk.SampleRequest) (*sdk.SampleResponse, error) {
		return nil,
			&tool.InputRequired{Key: "model"}
	}
	_, err := b.try("web_fetch", args{"url": server + "/plain", "prompt": "What is it?"})
	assert.True(t, errors.Is(err, tool.ErrInputRequired), "a question to the client is handed up")
}

func TestWebFetchOfOtherPages(t *testing.T) {
	b, server := webBench(t)
	b.gives(`{"content":"just <b>text</b>\n"}`, "web_fetch", args{"url": server + "/plain"})
	b.gives(`{"content":"# T\n\none\n\ntwo\n\nrest"}`, "web_fetch", args{"url": server + "/articles"})
	object, result := b.call("web_fetch", args{"url": server + "/large"})
	assert.Less(t, len(object["content"].(string)), 600<<10)
	assert.Contains(t, object["content"], "more bytes are left out")
	assert.True(t, result.Truncated)
}

func TestWebSearchFailures(t *testing.T) {
	b, _ := webBench(t)
	b.fails("IO_ERROR", "Search failed: the search engine wants to know whether a person asks", "web_search",
		args{"query": "too fast"})
	b.fails("IO_ERROR", "Search failed: the search engine answered with status 403", "web_search",
		args{"query": "refused"})
	b.fails("INVALID_ARGUMENT", "", "web_search", args{"query": ""})
	require.NotNil(t, b.tools["web_search"])
}

// TestWebFetchOfALongPage checks that every cut is reported.
func TestWebFetchOfALongPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w,
			"<main><p>Said first.</p><!-- "+strings.Repeat("x", 5000)+" --><p>Said last.</p></main>")
	}))
	t.Cleanup(server.Close)
	web, err := netguard.New(netguard.Options{Allow: []string{"127.0.0.1"}, MaxBytes: 1000})
	require.NoError(t, err)
	b := newBenchOf(t, clemini.Deps{Web: web})
	b.gives(`{"content":"Said first.\n\n[... the page is longer: these are its first 1000 bytes; fetch a page `+
		`about a part of it]"}`, "web_fetch", args{"url": server.URL})
}
