// Package pins remembers the definitions of plugins' and MCP servers' tools when they were first used or
// approved. A description is an instruction to the model, and the server may change it at any time: changed and
// added tools wait for the user.
//
// Pins are in the user's own configuration, one file for each source, where neither a tool nor a commit changes
// them.
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// Place is the location of a store. It may be passed to another process.
type Place struct {
	// Dir is the directory of the pins of a project's sources. If empty they are kept in memory only.
	Dir string `json:"dir,omitempty"`
	// Texts is the directory of definitions by checksum, for comparison with later ones. Empty keeps none.
	Texts string `json:"texts,omitempty"`
	// Seed has checksums by source and name for a source without pins, such as those of a lock file.
	Seed map[string]map[string]string `json:"seed,omitempty"`
}

// Dir returns the directory of the pins of the project with that agent.hcl. It must not be in one of the trees.
func Dir(config string, trees ...string) (string, error) {
	dir, err := userdir.Dir("what tools say", "tools")
	if err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(config)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, digest([]byte(absolute))[:32]), userdir.Outside("what tools say", dir, trees...)
}

// Store compares tools' definitions with their pins. It is safe for concurrent use; a nil Store admits everything.
type Store struct {
	place Place

	mu      sync.Mutex
	records map[string]*record // by source
	changed []Change
}

type record struct {
	stamp stamp
	tools map[string]string // checksum by name
	// first is set until the pins of a source's first use are stored.
	first bool
	dirty bool
}

type stamp struct {
	size, changed int64
}

type file struct {
	Source string            `json:"source"`
	Tools  map[string]string `json:"tools"`
}

// Change is a tool that is left out because its definition differs.
type Change struct {
	// Source and Name are the tool's; Name is the source's own.
	Source, Name string
	// Old and New are the definitions as JSON for people. Old is empty if unknown on this machine, and for an
	// added tool.
	Old, New string
	// Added is set for a tool that the source did not have before.
	Added bool
	// SHA256 is the checksum of the present definition.
	SHA256 string
}

// Pin is a tool with the checksum of its definition.
type Pin struct{ Source, Name, SHA256 string }

// Open returns a store without reading it.
func Open(place Place) *Store { return &Store{place: place, records: make(map[string]*record)} }

// Place returns the argument of Open.
func (s *Store) Place() Place { return s.place }

// Definition encodes a tool's definition: equal meanings give equal bytes.
func Definition(said any) []byte {
	plain, err := exact.Value(tool.MustMarshal(said))
	if err != nil {
		return tool.MustMarshal(said)
	}
	return tool.MustMarshal(plain)
}

// Admit compares a tool with its pin. All tools of a source that was never used are pinned, until Keep.
func (s *Store) Admit(source, name string, definition []byte) *tool.Error {
	if s == nil {
		return nil
	}
	sum := digest(definition)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(source)
	same := func(c Change) bool { return c.Source == source && c.Name == name }
	s.changed = slices.DeleteFunc(s.changed, same)
	old, known := r.tools[name]
	if old == sum {
		return nil
	}
	s.keepText(sum, definition)
	if r.admits(name, sum) {
		r.tools[name], r.dirty = sum, true
		return nil
	}
	s.changed = append(s.changed, Change{source, name, s.text(old), readable(definition), !known, sum})
	what := "it says something else of itself than when it was approved"
	if !known {
		what = "it is new since the tools of " + source + " were approved"
	}
	return tool.Errorf(tool.NeedsConfirmation, "the tool %q of %s is left out: %s", name, source, what).
		Suggest("toolhost trust tools shows the difference and approves it.")
}

// Admits reports whether Admit would, and changes nothing.
func (s *Store) Admits(source, name string, definition []byte) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(source).admits(name, digest(definition))
}

func (r *record) admits(name, sum string) bool {
	old, known := r.tools[name]
	return old == sum || !known && r.first
}

// Learn pins tools of a source that was never used, offered or not.
func (s *Store) Learn(source, name string, definition []byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.record(source); r.first && r.tools[name] == "" {
		sum := digest(definition)
		s.keepText(sum, definition)
		r.tools[name], r.dirty = sum, true
	}
}

// Names returns the tools that a source is known to have or to have had.
func (s *Store) Names(source string) []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.record(source).tools))
}

// Changes returns the tools that were left out.
func (s *Store) Changes() []Change {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changed)
}

// Adopt stores the seed's pins for sources without any.
func (s *Store) Adopt() error {
	s.mu.Lock()
	for source := range s.place.Seed {
		s.record(source)
	}
	s.mu.Unlock()
	_, err := s.Keep()
	return err
}

// Keep stores the pins of sources' first use, and returns them.
func (s *Store) Keep() (fresh []Pin, err error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for source, r := range s.records {
		if !r.dirty {
			continue
		}
		first := r.first
		if failed := s.write(source, r); failed != nil {
			err = errors.Join(err, failed)
		}
		if first {
			for _, name := range slices.Sorted(maps.Keys(r.tools)) {
				fresh = append(fresh, Pin{source, name, r.tools[name]})
			}
		}
	}
	return fresh, err
}

// Approve pins the present definitions of tools.
func (s *Store) Approve(list []Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		r := s.record(c.Source)
		r.tools[c.Name], r.dirty = c.SHA256, true
	}
	var err error
	for source, r := range s.records {
		if r.dirty {
			err = errors.Join(err, s.write(source, r))
		}
	}
	return err
}

// Forget drops the pins of a source: its next use is as the first.
func Forget(dir, source string) error {
	err := os.Remove(fileOf(dir, source))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// record returns the pins of a source, which another process may have extended. The lock must be held.
func (s *Store) record(source string) *record {
	r := s.records[source]
	now := stampOf(fileOf(s.place.Dir, source))
	if r != nil && (s.place.Dir == "" || r.stamp == now) {
		return r
	}
	if tools, ok := s.read(source); ok {
		r = &record{stamp: now, tools: tools}
	} else if r == nil || !r.first { // never existed, or forgotten
		seed := s.place.Seed[source]
		r = &record{tools: maps.Clone(seed), first: len(seed) == 0, dirty: len(seed) > 0}
		if r.tools == nil {
			r.tools = make(map[string]string)
		}
	}
	s.records[source] = r
	return r
}

// maxRecord bounds a file, in bytes.
const maxRecord = 1 << 20

func (s *Store) read(source string) (map[string]string, bool) {
	if s.place.Dir == "" {
		return nil, false
	}
	data, err := plainfile.Read(fileOf(s.place.Dir, source), maxRecord)
	var f file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil || json.Unmarshal(data, &f) != nil || f.Source != source || f.Tools == nil {
		return make(map[string]string), true // a damaged file approves nothing
	}
	return f.Tools, true
}

// write stores a record, and ends the source's first use. The lock must be held.
func (s *Store) write(source string, r *record) error {
	r.first, r.dirty = false, false
	if s.place.Dir == "" {
		return nil
	}
	name := fileOf(s.place.Dir, source)
	err := atomicfile.WriteCache(name, tool.MustMarshal(file{source, r.tools}))
	r.stamp = stampOf(name)
	return err
}

func fileOf(dir, source string) string {
	return filepath.Join(dir, digest([]byte(source))[:32]+".json")
}

func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime().UnixNano()}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// maxText bounds a stored definition, in bytes.
const maxText = 1 << 20

func (s *Store) keepText(sum string, text []byte) {
	if s.place.Texts != "" && len(text) <= maxText {
		_ = atomicfile.WriteCache(filepath.Join(s.place.Texts, sum+".json"), text)
	}
}

// text returns a stored definition, "" unless it has that checksum.
func (s *Store) text(sum string) string {
	if s.place.Texts == "" || sum == "" {
		return ""
	}
	text, err := plainfile.Read(filepath.Join(s.place.Texts, sum+".json"), maxText)
	if err != nil || digest(text) != sum {
		return ""
	}
	return readable(text)
}

func readable(text []byte) string {
	said, _ := exact.Value(text)
	pretty, _ := json.MarshalIndent(said, "", "  ")
	return string(pretty) + "\n"
}
