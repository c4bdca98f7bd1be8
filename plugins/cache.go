package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/internal/pluginclient"
)

// cacheFormat is raised when cacheEntry changes its meaning.
const cacheFormat = 1

// settleTime is how old a file's last change has to be, when it is hashed, for
// a later change to be sure to show in its times.
const settleTime = 50 * time.Millisecond

// schemaCache keeps what plugins said of themselves, one file for each program
// and configuration.
type schemaCache struct {
	dir   string
	index *index
}

// cacheEntry is what is known of a plugin's program under one configuration.
type cacheEntry struct {
	Format      int                       `json:"format"`
	Protocol    int                       `json:"protocol"`
	Identity    identity                  `json:"identity"`
	HashedAt    int64                     `json:"hashed_at"` // nanoseconds since 1970
	SHA256      string                    `json:"sha256"`
	Description *pluginclient.Description `json:"description"`
}

// vouchesFor reports whether a file of that identity has the checksum of e.
func (e *cacheEntry) vouchesFor(id identity) bool {
	return id.strong() && e.matches(id)
}

// matches is vouchesFor as far as the system can tell: enough to list tools.
func (e *cacheEntry) matches(id identity) bool {
	return e.Identity == id && id.changed() < e.HashedAt-int64(settleTime)
}

// path is the file for spec. The configuration may hold secrets, so only a
// hash of it is in the name.
func (c *schemaCache) path(spec Spec) string {
	h := sha256.New()
	path, _ := filepath.Abs(spec.Path)
	var parts packer // each with its length, so that no two lists are the same
	parts.texts(append([]string{path, string(spec.Config)}, spec.Args...))
	for _, k := range slices.Sorted(maps.Keys(spec.Env)) {
		parts.text(k + "=" + spec.Env[k])
	}
	h.Write(parts)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)[:16])+".json")
}

// load gives the entry for spec, nil when there is none that can be read.
func (c *schemaCache) load(spec Spec) *cacheEntry {
	if c.dir == "" {
		return nil
	}
	path := c.path(spec)
	if e := c.index.find(filepath.Base(path)); e != nil {
		return e
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var e cacheEntry
	if json.Unmarshal(data, &e) != nil || e.Format != cacheFormat || e.Protocol != ProtocolVersion || e.Description == nil {
		return nil
	}
	if checkDescription(spec.Name, e.Description) != nil {
		return nil
	}
	c.index.note(filepath.Base(path), &e)
	return &e
}

// store keeps what the program b said.
func (c *schemaCache) store(spec Spec, b *binary, d *pluginclient.Description) error {
	if c.dir == "" {
		return nil
	}
	file, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer file.Close()
	id, err := identify(file)
	if err != nil || id != b.identity {
		return err // replaced since it was started: what d says is of the old one
	}
	hashed := &binary{path: b.path, file: file, identity: id, sha256: b.sha256}
	now := time.Now()
	if err := hashed.hash(); err != nil {
		return err
	}
	return c.write(spec, &cacheEntry{Identity: id, HashedAt: now.UnixNano(), SHA256: hashed.sha256, Description: d})
}

func (c *schemaCache) write(spec Spec, e *cacheEntry) error {
	e.Format, e.Protocol = cacheFormat, ProtocolVersion
	c.index.note(filepath.Base(c.path(spec)), e)
	return atomicfile.WriteCache(c.path(spec), tool.MustMarshal(e))
}

// fresh gives the entry for spec where it holds for the program as it is now.
// A program with new times and the same content stays known.
func (c *schemaCache) fresh(spec Spec) (e *cacheEntry, ok bool) {
	e = c.load(spec)
	if e == nil {
		return nil, false
	}
	path, _ := filepath.Abs(spec.Path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != fs.FileMode(0) {
		return e, false
	}
	if !e.matches(identityOf(info)) && !c.sameContent(spec, e) {
		return e, false
	}
	return e, spec.SHA256 == "" || equalHex(spec.SHA256, e.SHA256)
}

func (c *schemaCache) sameContent(spec Spec, e *cacheEntry) bool {
	now := time.Now()
	b, err := openProgram(spec)
	if err != nil {
		return false
	}
	defer b.close()
	if b.hash() != nil || b.sha256 != e.SHA256 {
		return false
	}
	e.Identity, e.HashedAt = b.identity, now.UnixNano()
	_ = c.write(spec, e) // only saves hashing next time
	return true
}

func equalHex(a, b string) bool {
	x, errA := hex.DecodeString(a)
	y, errB := hex.DecodeString(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
