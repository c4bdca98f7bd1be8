package webfetch_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/hmackey"
)

// page is a document with an ETag.
type page struct {
	header http.Header
	body   string
	tag    string
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	for name, values := range p.header {
		w.Header()[name] = values
	}
	if p.tag != "" {
		w.Header().Set("ETag", p.tag)
		if r.Header.Get("If-None-Match") == p.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	fmt.Fprint(w, p.body)
}

func TestFreshCopyIsNotAskedFor(t *testing.T) {
	for name, header := range map[string]http.Header{
		"max-age":         {"Cache-Control": {"public, max-age=60"}},
		"quoted":          {"Cache-Control": {`private, Max-Age="60"`}},
		"two headers":     {"Cache-Control": {"public", "max-age=60"}},
		"age":             {"Cache-Control": {"max-age=90"}, "Age": {"30"}},
		"expires":         {"Date": {"Tue, 01 Jan 2030 00:00:00 GMT"}, "Expires": {"Tue, 01 Jan 2030 00:01:00 GMT"}},
		"max-age is more": {"Cache-Control": {"max-age=60"}, "Expires": {"0"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{header: header, body: "one"}
			b := newBench(t, p.ServeHTTP)
			first, _ := b.fetch("/")
			assert.False(t, first.Cached)
			p.body = "two"

			b.now = b.now.Add(59 * time.Second)
			again, text := b.fetch("/")
			assert.True(t, again.Cached)
			assert.Equal(t, "one", text)
			assert.Equal(t, first.Path, again.Path)
			assert.Equal(t, first.StatusCode, again.StatusCode)
			assert.Len(t, b.requests, 1)

			b.now = b.now.Add(time.Second)
			late, text := b.fetch("/")
			assert.False(t, late.Cached)
			assert.Equal(t, "two", text)
			assert.Len(t, b.requests, 2)
		})
	}
}

func TestStaleCopyIsAskedFor(t *testing.T) {
	for name, header := range map[string]http.Header{
		"nothing said": {}, "no-cache": {"Cache-Control": {"no-cache, max-age=60"}},
		"max-age=0": {"Cache-Control": {"max-age=0"}},
		"vary":      {"Cache-Control": {"max-age=60"}, "Vary": {"*"}},
		"too old":   {"Cache-Control": {"max-age=60"}, "Age": {"61"}},
		"nonsense":  {"Cache-Control": {"max-age=soon"}, "Expires": {"tomorrow"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{header: header, body: "one", tag: `"1"`}
			b := newBench(t, p.ServeHTTP)
			b.fetch("/")
			again, text := b.fetch("/")
			assert.True(t, again.Cached)
			assert.Equal(t, 200, again.StatusCode)
			assert.Equal(t, "one", text)
			require.Len(t, b.requests, 2)
			assert.Empty(t, b.requests[0].Get("If-None-Match"))
			assert.Equal(t, `"1"`, b.requests[1].Get("If-None-Match"))

			p.body, p.tag = "two", `"2"`
			changed, text := b.fetch("/")
			assert.False(t, changed.Cached)
			assert.Equal(t, "two", text)
			assert.Equal(t, again.Path, changed.Path)
		})
	}
}

func TestLastModified(t *testing.T) {
	const date = "Mon, 01 Jan 2029 00:00:00 GMT"
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Last-Modified", date)
		if r.Header.Get("If-Modified-Since") == date {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "one")
	})
	b.fetch("/")
	got, _ := b.fetch("/")
	assert.True(t, got.Cached)
}

func TestNotModifiedRenewsFreshness(t *testing.T) {
	p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "one", tag: `"1"`}
	b := newBench(t, p.ServeHTTP)
	b.fetch("/")
	b.now = b.now.Add(61 * time.Second)
	b.fetch("/")
	assert.Len(t, b.requests, 2)
	b.now = b.now.Add(59 * time.Second)
	b.fetch("/")
	assert.Len(t, b.requests, 2)
}

func TestNoStoreIsNotReused(t *testing.T) {
	p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "one", tag: `"1"`}
	b := newBench(t, p.ServeHTTP)
	b.fetch("/")
	b.now = b.now.Add(time.Hour)
	p.header, p.body, p.tag = http.Header{"Cache-Control": {"no-store"}}, "two", `"2"`
	for range 2 {
		got, text := b.fetch("/")
		assert.False(t, got.Cached)
		assert.Equal(t, "two", text)
	}
	assert.Empty(t, b.requests[2].Get("If-None-Match"))
}

func TestDamagedCacheIsReplaced(t *testing.T) {
	for name, damage := range map[string]func(doc, meta string) error{
		"document changed": func(doc, _ string) error { return os.WriteFile(doc, []byte("changed"), 0o600) },
		"document gone":    func(doc, _ string) error { return os.Remove(doc) },
		"entry gone":       func(_, meta string) error { return os.Remove(meta) },
		"entry broken":     func(_, meta string) error { return os.WriteFile(meta, []byte("{"), 0o600) },
		"entry led astray": func(_,
			meta string) error {
			return rewrite(meta, `"path":".agent/`, `"path":".agent/../`)
		},
		"entry of another": func(_, meta string) error { return rewrite(meta, `"url":"http://`, `"url":"https://`) },
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "one", tag: `"1"`}
			b := newBench(t, p.ServeHTTP)
			first, _ := b.fetch("/")
			doc := filepath.Join(b.root, filepath.FromSlash(first.Path))
			require.NoError(t, damage(doc, strings.TrimSuffix(doc, ".txt")+".meta.json"))
			again, text := b.fetch("/")
			assert.False(t, again.Cached)
			assert.Equal(t, "one", text)
			last, _ := b.fetch("/")
			assert.True(t, last.Cached)
			assert.Len(t, b.requests, 2)
			assert.Empty(t, b.requests[1].Get("If-None-Match"))
		})
	}
}

// A repository brings a page that is fresh for years but is not the server's.
func TestStoredByOthers(t *testing.T) {
	forge := func(meta string) error {
		return rewrite(meta, `"freshUntil":"2030-01-02T03:05:05Z"`, `"freshUntil":"2099-01-02T03:05:05Z"`)
	}
	for name, plant := range map[string]func(b *bench, meta string) error{
		"fresh for longer": func(_ *bench, meta string) error { return forge(meta) },
		"without an HMAC":  func(_ *bench, meta string) error { return rewrite(meta, `"seal":`, `"sea1":`) },
		"by another user": func(b *bench, _ string) error {
			key, err := hmackey.Open(b.t.TempDir())
			b.offer(key)
			return err
		},
		"where there is no key": func(b *bench, _ string) error { b.offer(nil); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "planted", tag: `"1"`}
			b := newBench(t, p.ServeHTTP)
			first, _ := b.fetch("/")
			doc := filepath.Join(b.root, filepath.FromSlash(first.Path))
			require.NoError(t, plant(b, strings.TrimSuffix(doc, ".txt")+".meta.json"))
			p.body = "true"
			again, text := b.fetch("/")
			assert.False(t, again.Cached)
			assert.Equal(t, "true", text)
			require.Len(t, b.requests, 2)
			assert.Empty(t, b.requests[1].Get("If-None-Match"))
		})
	}
}

func TestStoredForAnotherWorkspace(t *testing.T) {
	p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "planted"}
	b := newBench(t, p.ServeHTTP)
	key, err := hmackey.Open(t.TempDir())
	require.NoError(t, err)
	b.offer(key)
	b.fetch("/")
	other := newBench(t, p.ServeHTTP)
	other.server.URL = b.server.URL
	other.offer(key)
	require.NoError(t, os.CopyFS(other.root, os.DirFS(b.root)))
	p.body = "true"
	got, text := other.fetch("/")
	assert.False(t, got.Cached)
	assert.Equal(t, "true", text)
}

func rewrite(file, from, to string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), from) {
		return fmt.Errorf("%s does not hold %s", file, from)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(data), from, to, 1)), 0o600)
}

func TestRedirects(t *testing.T) {
	p := &page{header: http.Header{"Cache-Control": {"max-age=60"}}, body: "one", tag: `"1"`}
	target := "/first"
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, target, http.StatusMovedPermanently)
		case "/found":
			http.Redirect(w, r, target, http.StatusFound)
		default:
			p.ServeHTTP(w, r)
		}
	})
	b.fetch("/moved")
	got, _ := b.fetch("/moved")
	assert.True(t, got.Cached)
	assert.Len(t, b.requests, 2, "a permanent redirect is as fresh as what it leads to")

	b.fetch("/found")
	got, _ = b.fetch("/found")
	assert.True(t, got.Cached)
	assert.Len(t, b.requests, 6, "a temporary redirect is asked for again")

	target, p.body = "/second", "two"
	got, text := b.fetch("/found")
	assert.False(t, got.Cached, "the same tag elsewhere is another document")
	assert.Equal(t, "two", text)
}

func TestSameURLAtOnce(t *testing.T) {
	p := &page{body: strings.Repeat("x", 100_000)}
	b := newBench(t, p.ServeHTTP)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := b.call(b.server.URL)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	files, err := os.ReadDir(filepath.Join(b.root, ".agent/cache/webfetch"))
	require.NoError(t, err)
	assert.Len(t, files, 2, "the document and its entry, no temporary file")
}
