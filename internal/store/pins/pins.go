// Package pins remembers what the tools of plugins and MCP servers said of
// themselves when they were first used or approved. A description is an
// instruction to the model, and anyone who runs a server may change it at any time:
// a tool that says something else later, and one that comes later, wait for the
// user.
//
// What is remembered lies in the user's own configuration, one file for each
// source, where neither a tool nor a commit changes it.
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

// Place says where a store is. It may travel to another process.
type Place struct {
	// Dir holds what is remembered of a project's sources. Empty remembers in
	// memory only.
	Dir string `json:"dir,omitempty"`
	// Texts keeps definitions by their checksum, so that a later one can be
	// compared with them. Empty keeps none.
	Texts string `json:"texts,omitempty"`
	// Seed has checksums by source and name that count for a source of which
	// nothing is remembered, such as those of a lock file.
	Seed map[string]map[string]string `json:"seed,omitempty"`
}

// Dir is where what is remembered of the project with that agent.hcl lies. It
// is not in one of the trees.
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

// Store compares what tools say with what is remembered. It is safe for use by
// several goroutines; a nil Store admits everything.
type Store struct {
	place Place

	mu      sync.Mutex
	records map[string]*record // by source
	changed []Change
}

// record is what is remembered of a source.
type record struct {
	stamp stamp
	tools map[string]string // checksum by name
	// first is true until what a source said at its first use is kept.
	first bool
	dirty bool
}

// stamp tells one state of a file from another.
type stamp struct {
	size, changed int64
}

// file is a record on disk.
type file struct {
	Source string            `json:"source"`
	Tools  map[string]string `json:"tools"`
}

// Change is a tool that is left out because of what it says.
type Change struct {
	// Source and Name are those of the tool. Name is the one that the source
	// has for it.
	Source, Name string
	// Old and New are the definitions as JSON for people. Old is empty where it
	// is not known on this machine, and for a tool that is new.
	Old, New string
	// Added is true for a tool that the source did not have before.
	Added bool
	// SHA256 is the checksum of the definition now.
	SHA256 string
}

// Pin is what a tool says, by its checksum.
type Pin struct{ Source, Name, SHA256 string }

// Open names a store. It reads nothing yet.
func Open(place Place) *Store { return &Store{place: place, records: make(map[string]*record)} }

// Place is what Open was given.
func (s *Store) Place() Place { return s.place }

// Definition is what a tool says of itself, always the same bytes for the same
// meaning.
func Definition(said any) []byte {
	plain, err := exact.Value(tool.MustMarshal(said))
	if err != nil {
		return tool.MustMarshal(said)
	}
	return tool.MustMarshal(plain)
}

// Admit compares a tool with what is remembered. All tools of a source that was
// never used are remembered, until Keep.
func (s *Store) Admit(source, name string, definition []byte) *tool.Error {
	if s == nil {
		return nil
	}
	sum := digest(definition)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(source)
	old, known := r.tools[name]
	same := func(c Change) bool { return c.Source == source && c.Name == name }
	s.changed = slices.DeleteFunc(s.changed, same)
	if old == sum {
		return nil
	}
	s.keepText(sum, definition)
	if !known && r.first {
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

// Learn remembers tools of a source that was never used, whether they are offered
// or not.
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

// Names are the tools that a source is known to have or to have had.
func (s *Store) Names(source string) []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.record(source).tools))
}

// Changes are the tools that were left out.
func (s *Store) Changes() []Change {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changed)
}

// Adopt remembers what the seed says of sources of which nothing is remembered.
func (s *Store) Adopt() error {
	s.mu.Lock()
	for source := range s.place.Seed {
		s.record(source)
	}
	s.mu.Unlock()
	_, err := s.Keep()
	return err
}

// Keep remembers what sources said at their first use, and gives it.
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
			fresh = append(fresh, pinsOf(source, r.tools)...)
		}
	}
	return fresh, err
}

// Approve remembers tools as they are now.
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

// Forget forgets a source: what its tools say next is as at the first use.
func Forget(dir, source string) error {
	err := os.Remove(fileOf(dir, source))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func pinsOf(source string, tools map[string]string) (list []Pin) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		list = append(list, Pin{source, name, tools[name]})
	}
	return list
}

// record gives what is remembered of a source. Another process may have
// remembered more meanwhile. The lock is held.
func (s *Store) record(source string) *record {
	r := s.records[source]
	now := stampOf(fileOf(s.place.Dir, source))
	if r != nil && (s.place.Dir == "" || r.stamp == now) {
		return r
	}
	if tools, ok := s.read(source); ok {
		r = &record{stamp: now, tools: tools}
	} else if r == nil || !r.first { // never there, or forgotten
		seed := s.place.Seed[source]
		r = &record{tools: maps.Clone(seed), first: len(seed) == 0, dirty: len(seed) > 0}
		if r.tools == nil {
			r.tools = make(map[string]string)
		}
	}
	s.records[source] = r
	return r
}

// maxRecord bounds what is read of a file, in bytes.
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
		return make(map[string]string), true // what is damaged approves nothing
	}
	return f.Tools, true
}

// write keeps a record, and ends the source's first use. The lock is held.
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

// maxText bounds a definition that is kept, in bytes.
const maxText = 1 << 20

func (s *Store) keepText(sum string, text []byte) {
	if s.place.Texts != "" && len(text) <= maxText {
		_ = atomicfile.WriteCache(filepath.Join(s.place.Texts, sum+".json"), text)
	}
}

// text gives a definition that was kept, "" where it is not the one with that
// checksum.
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
