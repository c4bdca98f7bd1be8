package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
)

// cacheFormat must be raised when the meaning of cacheEntry changes.
const cacheFormat = 1

// settleTime is the least age of a file's last change, when hashed, for a later change to show in its times.
const settleTime = 50 * time.Millisecond

// schemaCache caches plugins' descriptions, one file for each program and configuration.
type schemaCache struct {
	dir string // empty means no cache
}

// cacheEntry describes a plugin's program under one configuration.
type cacheEntry struct {
	Format      int                       `json:"format"`
	Protocol    int                       `json:"protocol"`
	Identity    identity                  `json:"identity"`
	HashedAt    int64                     `json:"hashed_at"` // nanoseconds since 1970
	SHA256      string                    `json:"sha256"`
	Description *pluginclient.Description `json:"description"`
}

// matches reports whether a file of that identity has e's checksum, as far as the system can tell; it is certain if
// the identity is strong.
func (e *cacheEntry) matches(id identity) bool {
	return e.Identity == id && id.changed() < e.HashedAt-int64(settleTime)
}

// cacheKey is a hash, since the configuration may hold secrets.
type cacheKey [16]byte

func keyOf(spec *Spec) cacheKey {
	sum := sha256.Sum256(tool.MustMarshal([]any{absolute(spec.Path), string(spec.Config), spec.Args, spec.Env}))
	return cacheKey(sum[:16])
}

func (c *schemaCache) path(key cacheKey) string {
	return filepath.Join(c.dir, hex.EncodeToString(key[:])+".json")
}

// absolute makes a path independent of the working directory.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	path, _ = filepath.Abs(path)
	return path
}

func (c *schemaCache) load(spec *Spec) *cacheEntry {
	if c.dir == "" {
		return nil
	}
	data, err := readOwn(c.path(keyOf(spec)))
	if err != nil {
		return nil
	}
	var e cacheEntry
	if json.Unmarshal(data, &e) != nil || e.Format != cacheFormat || e.Protocol != ProtocolVersion ||
		e.Description == nil {
		return nil
	}
	if checkDescription(spec.Name, e.Description) != nil {
		return nil
	}
	return &e
}

// store writes the description of the program b.
func (c *schemaCache) store(spec *Spec, b *binary, d *pluginclient.Description) error {
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
		return err // replaced since its start: d describes the old one
	}
	hashed := &binary{path: b.path, file: file, identity: id, sha256: b.sha256}
	now := time.Now()
	if err := hashed.hash(); err != nil {
		return err
	}
	return c.write(spec, &cacheEntry{Identity: id, HashedAt: now.UnixNano(), SHA256: hashed.sha256, Description: d})
}

func (c *schemaCache) write(spec *Spec, e *cacheEntry) error {
	e.Format, e.Protocol = cacheFormat, ProtocolVersion
	return atomicfile.WriteCache(c.path(keyOf(spec)), tool.MustMarshal(e))
}

// readOwn reads a cache file. One that others could have written is rejected: it would vouch for a program.
func readOwn(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a FIFO would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !own(info) {
		return nil, fs.ErrPermission
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// current returns the entry for spec; ok if it matches the present program, as far as known without reading it.
func (c *schemaCache) current(spec *Spec) (e *cacheEntry, ok bool) {
	e = c.load(spec)
	if e == nil {
		return nil, false
	}
	info, err := os.Stat(absolute(spec.Path))
	if err != nil || !info.Mode().IsRegular() || !e.matches(identityOf(info)) {
		return e, false
	}
	return e, e.permitted(spec)
}

// permitted reports whether spec allows e's program.
func (e *cacheEntry) permitted(spec *Spec) bool {
	return spec.SHA256 == "" || strings.EqualFold(spec.SHA256, e.SHA256)
}

// fresh is current, but also recognizes a program with new times and the same content.
func (c *schemaCache) fresh(spec *Spec) (e *cacheEntry, ok bool) {
	e, ok = c.current(spec)
	if e == nil || ok || !e.permitted(spec) {
		return e, ok
	}
	now := time.Now()
	b, err := openProgram(*spec)
	if err != nil {
		return e, false
	}
	defer b.close()
	if b.hash() != nil || b.sha256 != e.SHA256 {
		return e, false
	}
	known := *e
	known.Identity, known.HashedAt = b.identity, now.UnixNano()
	_ = c.write(spec, &known) // only saves hashing next time
	return &known, true
}
