package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// cacheFormat must be raised when the meaning of cacheEntry changes.
const cacheFormat = 2

// listingCache caches servers' listings, one file for each declaration.
type listingCache struct{ dir string }

type cacheEntry struct {
	Format  int         `json:"format"`
	Stamps  []stamp     `json:"stamps"` // of the program's files
	Listing *listing    `json:"listing,omitempty"`
	Failure *tool.Error `json:"failure,omitempty"` // of the last connecting
	At      time.Time   `json:"at"`                // of Listing or Failure
}

// stamp identifies a state of a file.
type stamp struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
}

// stamps returns the stamps of the program and of files in its arguments: a script changes without its
// interpreter.
func stamps(spec Spec, dir string) []stamp {
	found := []stamp{}
	if len(spec.Command) == 0 {
		return found
	}
	files := []string{program(spec)}
	for _, arg := range spec.Command[1:] {
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(dir, arg)
		}
		files = append(files, arg)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			found = append(found, stamp{file, info.Size(), info.ModTime().UnixNano()})
		}
	}
	return found
}

// path returns the file for spec, named by a hash since the declaration may hold secrets.
func (c listingCache) path(spec Spec, dir string) string {
	parts := append([]string{dir, spec.URL, spec.Protocol, "command"}, spec.Command...)
	for _, values := range []map[string]string{spec.Env, spec.Headers} {
		parts = append(parts, "values")
		for _, name := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, name+"="+values[name])
		}
	}
	sum := sha256.Sum256(tool.MustMarshal(parts))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+".json")
}

// load returns the entry for spec, nil if it cannot be read. fresh is set if the program is the same.
func (c listingCache) load(spec Spec, dir string) (e *cacheEntry, fresh bool) {
	if c.dir == "" {
		return nil, false
	}
	data, err := os.ReadFile(c.path(spec, dir))
	if err != nil {
		return nil, false
	}
	e = new(cacheEntry)
	if json.Unmarshal(data, e) != nil || e.Format != cacheFormat || e.Listing == nil && e.Failure == nil {
		return nil, false
	}
	return e, slices.Equal(e.Stamps, stamps(spec, dir))
}

// store atomically writes a server's entry, private to the user.
func (c listingCache) store(spec Spec, dir string, l *listing, failure *tool.Error) error {
	if c.dir == "" {
		return nil
	}
	return atomicfile.WriteCache(c.path(spec, dir),
		tool.MustMarshal(cacheEntry{cacheFormat, stamps(spec, dir), l, failure, time.Now()}))
}
