package webfetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/run/netguard"
)

// newEntry describes a response.
func newEntry(r *netguard.Response, contentType string, now time.Time) *entry {
	e := &entry{
		FinalURL: r.URL, StatusCode: r.StatusCode, ContentType: contentType,
		ETag: r.Header.Get("ETag"), LastModified: r.Header.Get("Last-Modified"),
		FetchedAt: now.UTC(),
	}
	e.FreshUntil = freshUntil(r, now)
	return e
}

// renew applies a 304 to the stored document.
func (e *entry) renew(r *netguard.Response, now time.Time) {
	if tag := r.Header.Get("ETag"); tag != "" {
		e.ETag = tag
	}
	if modified := r.Header.Get("Last-Modified"); modified != "" {
		e.LastModified = modified
	}
	e.FetchedAt, e.FreshUntil = now.UTC(), freshUntil(r, now)
}

// condition makes the request conditional, and reports whether the stored document has a validator.
func (e *entry) condition(header http.Header) bool {
	if e == nil || e.ETag == "" && e.LastModified == "" {
		return false
	}
	if e.ETag != "" {
		header.Set("If-None-Match", e.ETag)
	}
	if e.LastModified != "" {
		header.Set("If-Modified-Since", e.LastModified)
	}
	return true
}

// freshUntil returns how long the response may be reused: not at all if it does not say, or
// after a temporary redirect.
func freshUntil(r *netguard.Response, now time.Time) time.Time {
	now = now.UTC()
	for _, status := range r.Redirects {
		if status != http.StatusMovedPermanently && status != http.StatusPermanentRedirect {
			return now
		}
	}
	directives := cacheControl(r.Header)
	if has(directives, "no-cache") || has(directives, "no-store") || r.Header.Get("Vary") == "*" {
		return now
	}
	return now.Add(max(lifetime(r.Header, directives, now), 0))
}

func lifetime(header http.Header, directives map[string]string, now time.Time) time.Duration {
	age := seconds(header.Get("Age"))
	if value, ok := directives["max-age"]; ok {
		return seconds(value) - age
	}
	expires, err := http.ParseTime(header.Get("Expires"))
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return expires.Sub(now) - age
}

// seconds parses a number of seconds, up to ten years; 0 for anything else.
func seconds(s string) time.Duration {
	const most = 10 * 365 * 24 * 3600
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 63)
	if err != nil {
		return 0
	}
	return time.Duration(min(n, most)) * time.Second
}

func cacheControl(header http.Header) map[string]string {
	directives := make(map[string]string)
	for _, part := range strings.Split(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(part, "=")
		directives[strings.ToLower(strings.TrimSpace(name))] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return directives
}

func has(directives map[string]string, name string) bool {
	_, ok := directives[name]
	return ok
}
