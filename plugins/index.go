package plugins

import (
	"bytes"
	"crypto/sha256"
	varint "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/internal/pluginclient"
)

// indexMagic begins an index; its number is raised when the format changes.
const indexMagic = "toolhost plugins 2\n"

// indexFrom is how many plugins make an index worth it.
const indexFrom = 4

// index has the cache entries of a workspace's plugins in one file, in a form
// that is quick to read: fifty files of JSON take longer than the rest of a
// start. It only repeats what the entries say. Its methods are safe for use by
// several goroutines.
type index struct {
	path string // empty keeps none

	mu      sync.Mutex
	entries map[cacheKey]*indexed
	changed bool // an entry in use is not in the file
}

// indexed is an entry, which nobody changes.
type indexed struct {
	cacheEntry
	used bool // it is kept when the index is written
}

func newIndex(dir, workspace string) *index {
	if dir == "" {
		return &index{}
	}
	sum := sha256.Sum256([]byte(workspace))
	return &index{path: filepath.Join(dir, "index-"+hex.EncodeToString(sum[:12]))}
}

// find gives an entry, nil when the index has none.
func (x *index) find(key cacheKey) *cacheEntry {
	if x.path == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read()
	e := x.entries[key]
	if e == nil {
		return nil
	}
	e.used = true
	return &e.cacheEntry
}

// read reads the file, once. The lock is held.
func (x *index) read() {
	if x.entries != nil {
		return
	}
	if data, err := readOwn(x.path); err == nil {
		x.entries = decodeIndex(data)
	}
	if x.entries == nil {
		x.entries = make(map[cacheKey]*indexed)
	}
}

// note keeps an entry that the index did not have.
func (x *index) note(key cacheKey, e *cacheEntry) {
	if x.path == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read()
	x.entries[key], x.changed = &indexed{*e, true}, true
}

// save writes the index if it has changed. Without it nothing is lost but
// time.
func (x *index) save() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.changed {
		return
	}
	kept := maps.Clone(x.entries)
	maps.DeleteFunc(kept, func(_ cacheKey, e *indexed) bool { return !e.used })
	if len(kept) < indexFrom {
		return
	}
	x.changed = false
	_ = atomicfile.WriteCache(x.path, encodeIndex(kept))
}

// encodeIndex writes entries: the magic, a checksum, and the entries one after
// the other.
func encodeIndex(entries map[cacheKey]*indexed) []byte {
	var w packer
	w.list(len(entries))
	for _, key := range slices.SortedFunc(maps.Keys(entries), func(a, b cacheKey) int { return bytes.Compare(a[:], b[:]) }) {
		e := entries[key]
		w.text(string(key[:]))
		w.number(int64(e.Protocol))
		w.list(len(e.Identity.words()))
		for _, n := range e.Identity.words() {
			w.number(n)
		}
		w.number(e.HashedAt)
		w.text(e.SHA256)
		w.description(e.Description)
	}
	sum := sha256.Sum256(w)
	return slices.Concat([]byte(indexMagic), sum[:], w)
}

// decodeIndex reads entries, which share the memory of data; none where data is
// not whole or of another version.
func decodeIndex(data []byte) map[cacheKey]*indexed {
	data, ok := bytes.CutPrefix(data, []byte(indexMagic))
	if !ok || len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data[:sha256.Size]) {
		return nil
	}
	r := unpacker{rest: data[sha256.Size:]}
	entries := make(map[cacheKey]*indexed, r.list())
	for len(r.rest) > 0 && !r.failed {
		key := r.key()
		e := &indexed{cacheEntry: cacheEntry{Format: cacheFormat, Protocol: int(r.number())}}
		words := make([]int64, r.list())
		for i := range words {
			words[i] = r.number()
		}
		e.Identity = identityFrom(words)
		e.HashedAt, e.SHA256 = r.number(), r.text()
		e.Description = r.description()
		if e.Protocol == ProtocolVersion {
			entries[key] = e
		}
	}
	if r.failed {
		return nil
	}
	return entries
}

// packer writes values so that unpacker can read them without looking for
// anything.
type packer []byte

func (w *packer) number(n int64) { *w = varint.AppendVarint(*w, n) }
func (w *packer) list(n int)     { *w = varint.AppendUvarint(*w, uint64(n)) }
func (w *packer) text(s string)  { w.list(len(s)); *w = append(*w, s...) }
func (w *packer) flags(all ...bool) {
	for _, f := range all {
		b := byte(0)
		if f {
			b = 1
		}
		*w = append(*w, b)
	}
}

func (w *packer) texts(all []string) {
	w.list(len(all))
	for _, s := range all {
		w.text(s)
	}
}

func (w *packer) description(d *pluginclient.Description) {
	w.text(d.Name)
	w.text(d.Version)
	w.text(string(d.ConfigSchema))
	w.texts(d.Features)
	w.texts(d.Services)
	w.list(len(d.Tools))
	for _, t := range d.Tools {
		w.flags(t.Plans, t.RendersErrors, t.Normalizes, t.Commands, t.Definition.Idempotent)
		w.definition(t.Definition)
	}
}

func (w *packer) definition(d *tool.Definition) {
	for _, s := range []string{d.Name, d.Title, d.Description, d.Category, string(d.Parameters), string(d.Returns), string(d.Risk)} {
		w.text(s)
	}
	w.list(len(d.Permissions))
	for _, p := range d.Permissions {
		w.text(string(p))
	}
	w.number(int64(d.Timeout))
	w.list(len(d.Examples))
	for _, e := range d.Examples {
		w.text(e.Description)
		w.text(string(e.Params))
	}
}

// unpacker reads what packer wrote. After a failure it gives zero values.
type unpacker struct {
	rest   []byte
	failed bool
}

func (r *unpacker) number() int64 {
	n, size := varint.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// list gives a length, which cannot be more than the bytes that are left.
func (r *unpacker) list() int {
	n, size := varint.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *unpacker) fail() { r.failed, r.rest = true, nil }

func (r *unpacker) text() string { return string(r.bytes()) }

func (r *unpacker) bytes() []byte {
	n := r.list()
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// raw is JSON, nil for none.
func (r *unpacker) raw() json.RawMessage {
	if b := r.bytes(); len(b) > 0 {
		return b
	}
	return nil
}

func (r *unpacker) key() (key cacheKey) {
	if b := r.bytes(); len(b) == len(key) {
		return cacheKey(b)
	}
	r.fail()
	return key
}

func (r *unpacker) flag() bool {
	if len(r.rest) == 0 {
		r.fail()
		return false
	}
	set := r.rest[0] == 1
	r.rest = r.rest[1:]
	return set
}

func (r *unpacker) texts() []string {
	var all []string
	for range r.list() {
		all = append(all, r.text())
	}
	return all
}

func (r *unpacker) description() *pluginclient.Description {
	d := &pluginclient.Description{Name: r.text(), Version: r.text(), ConfigSchema: r.raw(), Features: r.texts(), Services: r.texts()}
	for range r.list() {
		t := pluginclient.Tool{Plans: r.flag(), RendersErrors: r.flag(), Normalizes: r.flag(), Commands: r.flag()}
		idempotent := r.flag()
		t.Definition = r.definition()
		t.Definition.Idempotent = idempotent
		d.Tools = append(d.Tools, t)
	}
	return d
}

func (r *unpacker) definition() *tool.Definition {
	d := &tool.Definition{Name: r.text(), Title: r.text(), Description: r.text(), Category: r.text(),
		Parameters: r.raw(), Returns: r.raw(), Risk: tool.Risk(r.text())}
	for range r.list() {
		d.Permissions = append(d.Permissions, tool.Permission(r.text()))
	}
	d.Timeout = time.Duration(r.number())
	for range r.list() {
		d.Examples = append(d.Examples, tool.Example{Description: r.text(), Params: r.raw()})
	}
	return d
}
