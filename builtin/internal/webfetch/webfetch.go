// Package webfetch holds the tool web_fetch, which downloads a text document
// into the workspace's cache.
package webfetch

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/store/hmackey"
)

// Options configure the tool.
type Options struct {
	// MaxBytes limits a document after decompression. Zero means the client's limit.
	MaxBytes int64
	// Key seals stored documents. Without it they are not used again: the repository may have brought
	// them.
	Key *hmackey.Key
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// New returns the tool. It fetches through client and stores through ws.
func New(ws *workspace.Workspace, client *netguard.Client, opts Options) tool.Tool {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &fetcher{ws: ws, client: client, opts: opts}
}

type fetcher struct {
	ws     *workspace.Workspace
	client *netguard.Client
	opts   Options
}

type result struct {
	Path        string `json:"path"`
	StatusCode  int    `json:"statusCode"`
	ContentType string `json:"contentType"`
	Cached      bool   `json:"cached"`
	Bytes       int    `json:"bytes"`
}

//go:embed web_fetch.json
var definitionFile []byte

var describe = sync.OnceValue(func() *tool.Definition {
	d := toolspec.Parse("web_fetch", definitionFile)
	d.Description = strings.ReplaceAll(d.Description, "$cache", cacheDir)
	return d
})

// Definition describes web_fetch.
func (f *fetcher) Definition() *tool.Definition { return describe() }

func (f *fetcher) target(call *tool.Call) (string, error) {
	var params struct {
		URL string `json:"url"`
	}
	if err := call.Decode(&params); err != nil {
		return "", err
	}
	target := strings.TrimSpace(params.URL)
	return target, f.client.Check(target)
}

// Plan returns where the document would be stored. It does not use the network, so the extension,
// which depends on the document's type, is open.
func (f *fetcher) Plan(_ context.Context, call *tool.Call) (*tool.Plan, error) {
	target, err := f.target(call)
	if err != nil {
		return nil, err
	}
	stem, err := stemOf(target)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{
		FilesAffected: []string{stem + metaExt},
		Preview:       fmt.Sprintf("GET %s\nstored as %s with the ending .html, .json, .xml or .txt\n", target, stem),
	}, nil
}

// Call fetches the document, or finds it in the cache.
func (f *fetcher) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	target, err := f.target(call)
	if err != nil {
		return nil, err
	}
	stem, err := stemOf(target)
	if err != nil {
		return nil, err
	}
	cache := &cache{ws: f.ws.WithContext(ctx), stem: stem, url: target, key: f.opts.Key}
	stored := cache.load()
	if stored != nil && f.opts.Now().Before(stored.FreshUntil) {
		return stored.result(true), nil
	}
	response, err := f.fetch(ctx, target, stored)
	if err == nil && response.StatusCode == http.StatusNotModified && response.URL != stored.FinalURL {
		// The redirect now leads elsewhere, to a place that knows the tag too.
		stored = nil
		response, err = f.fetch(ctx, target, nil)
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusNotModified {
		stored.renew(response, f.opts.Now())
		return cache.storeEntry(stored, true)
	}
	return f.store(cache, response)
}

// fetch requests the document, or only its change since it was stored.
func (f *fetcher) fetch(ctx context.Context, target string, stored *entry) (*netguard.Response, error) {
	header := http.Header{"Accept": {accept}}
	conditional := stored.condition(header)
	return f.client.Fetch(ctx, netguard.Request{
		URL: target, Header: header, MaxBytes: f.opts.MaxBytes,
		Check: func(r *netguard.Response) error {
			if conditional && r.StatusCode == http.StatusNotModified {
				return nil
			}
			return checkHead(target, r)
		},
	})
}

const accept = "text/html, application/xhtml+xml, text/*, application/json, application/xml;q=0.9"

func checkHead(target string, r *netguard.Response) error {
	if r.StatusCode < 200 || r.StatusCode > 299 {
		code := tool.Unavailable
		if r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusGone {
			code = tool.NotFound
		}
		return tool.Errorf(code, "HTTP request failed with status code: %d", r.StatusCode).
			Suggest("The server answered %q for %s. Check the URL, or try another page.", http.StatusText(r.StatusCode),
				r.URL).
			With("statusCode", r.StatusCode).With("url", target)
	}
	if header := r.Header.Get("Content-Type"); header != "" {
		_, err := extension(header, r.MediaType())
		return err
	}
	return nil
}

func extension(shown, mediaType string) (string, error) {
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return ".html", nil
	case "text/xml", "application/xml":
		return ".xml", nil
	case "application/json", "text/json":
		return ".json", nil
	}
	if strings.HasPrefix(mediaType, "text/") {
		return ".txt", nil
	}
	return "", tool.Errorf(tool.Unsupported, "unsupported content type: %s", shown).
		Suggest("Only text/*, application/json, application/xml and application/xhtml+xml can be fetched. Look for "+
			"the text version of the document.").
		With("contentType", shown)
}

func (f *fetcher) store(cache *cache, response *netguard.Response) (*tool.Result, error) {
	shown := response.Header.Get("Content-Type")
	if shown == "" {
		shown = http.DetectContentType(response.Body)
	}
	ext, err := extension(shown, response.MediaType())
	if err != nil {
		return nil, err
	}
	text := []byte(response.Text())
	e := newEntry(response, shown, f.opts.Now())
	e.Path, e.Bytes, e.Hash, e.URL = cache.stem+ext, len(text), workspace.Hash(text), cache.url
	if _, err := cache.ws.WriteFile(e.Path, text, workspace.WriteOptions{Parents: true}); err != nil {
		return nil, err
	}
	if has(cacheControl(response.Header), "no-store") {
		return cache.forget(e)
	}
	return cache.storeEntry(e, false)
}
