package webfetch

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/hmackey"
)

const (
	// cacheDir is where documents are stored, relative to the workspace.
	cacheDir = ".agent/cache/webfetch"
	// metaExt ends the name of an entry's file.
	metaExt = ".meta.json"
	// maxName limits the readable part of a file's name, in bytes.
	maxName = 180
	maxMeta = 64 << 10 // bytes
)

// stemOf returns the path of a URL's file without its extension: readable host and path,
// and the start of the URL's hash.
func stemOf(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", tool.Errorf(tool.InvalidArgument, "invalid URL: %w",
			err).Suggest("Give a whole URL such as https://www.example.com/page.")
	}
	name := strings.ToLower(u.Host + "/" + strings.Trim(u.Path, "/"))
	name = strings.Map(plain, name)
	return cacheDir + "/" + name[:min(len(name), maxName)] + "_" + workspace.Hash([]byte(rawURL))[:8], nil
}

// plain replaces all characters but a few that are safe in file names.
func plain(r rune) rune {
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' {
		return r
	}
	return '_'
}

// entry describes a stored document.
type entry struct {
	URL string `json:"url"`
	// FinalURL is where the document was found, after redirects.
	FinalURL    string `json:"finalUrl"`
	Path        string `json:"path"`
	StatusCode  int    `json:"statusCode"`
	ContentType string `json:"contentType"`
	Bytes       int    `json:"bytes"`
	// Hash is the SHA-256 of the stored file; a changed file is not used.
	Hash         string    `json:"sha256"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"lastModified,omitempty"`
	FetchedAt    time.Time `json:"fetchedAt"`
	// FreshUntil is the time until which the server need not be asked.
	FreshUntil time.Time `json:"freshUntil"`
}

// signedEntry is an entry's file, which may come from the repository.
type signedEntry struct {
	entry
	MAC string `json:"seal,omitempty"`
}

func (e *entry) result(cached bool) *tool.Result {
	return tool.JSON(result{Path: e.Path, StatusCode: e.StatusCode, ContentType: e.ContentType, Cached: cached,
		Bytes: e.Bytes})
}

type cache struct {
	ws   *workspace.Workspace
	stem string
	url  string
	key  *hmackey.Key // may be nil
}

// purpose binds an entry to its workspace.
func (c *cache) purpose() string { return "web_fetch " + c.ws.Root() }

// load returns the stored entry, nil if unusable. An unreadable cache is not an error: the
// document is fetched again.
func (c *cache) load() *entry {
	data, _, err := c.ws.ReadFile(c.stem+metaExt, maxMeta)
	if err != nil {
		return nil
	}
	var stored signedEntry
	if json.Unmarshal(data, &stored) != nil || c.key == nil {
		return nil
	}
	e := stored.entry
	if !c.key.Verify(c.purpose(), tool.MustMarshal(e), stored.MAC) || e.URL != c.url || !c.owns(e.Path) {
		return nil
	}
	text, _, err := c.ws.ReadFile(e.Path, int64(e.Bytes)+1)
	if err != nil || workspace.Hash(text) != e.Hash {
		return nil
	}
	return &e
}

// owns reports whether path is one that this tool uses for the URL's file.
func (c *cache) owns(path string) bool {
	ext, ok := strings.CutPrefix(path, c.stem)
	return ok && slices.Contains([]string{".html", ".xml", ".json", ".txt"}, ext)
}

func (c *cache) storeEntry(e *entry, cached bool) (*tool.Result, error) {
	stored := signedEntry{entry: *e}
	if c.key != nil {
		// Without a seal the document is fetched again next time.
		stored.MAC, _ = c.key.Sign(c.purpose(), tool.MustMarshal(*e))
	}
	meta := append(tool.MustMarshal(stored), '\n')
	if _, err := c.ws.WriteFile(c.stem+metaExt, meta, workspace.WriteOptions{Parents: true}); err != nil {
		return nil, err
	}
	if cached {
		return e.result(true).Affecting(c.stem + metaExt), nil
	}
	return e.result(false).Affecting(affected(e.Path, c.stem+metaExt)...), nil
}

// forget removes the entry of the returned document, so that it is not used again.
func (c *cache) forget(e *entry) (*tool.Result, error) {
	switch err := c.ws.Remove(c.stem + metaExt); {
	case err == nil:
		return e.result(false).Affecting(affected(e.Path, c.stem+metaExt)...), nil
	case errors.Is(err, &tool.Error{Code: tool.NotFound}):
		return e.result(false).Affecting(e.Path), nil
	default:
		return nil, err
	}
}

func affected(files ...string) []string {
	slices.Sort(files)
	return files
}
