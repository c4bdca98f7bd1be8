package fork

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/files/atomicfile"
)

// intent is a path that is merged when the workspace holds what it is to hold.
type intent struct {
	line
	// At is where the fork's side goes, and Want what is to be there.
	At   []byte `json:"at"`
	Want line   `json:"want"`
}

// Begin notes what is to be, so that a merge that is killed can be repeated. call
// makes the changes of the workspace; "" where there are none.
func (m *Merge) Begin(call string) error {
	f := m.fork
	m.call = call
	for i := range m.intended {
		if in := &m.intended[i]; call != "" {
			in.Merge, in.Into = call, in.At
		}
	}
	f.lower.read = 0
	for _, in := range append(slices.Clone(m.intended), m.settled...) {
		b := in.base()
		if !b.Mode.IsRegular() || b.Size > mostMerged || !b.Exists {
			continue
		}
		data, err := f.upper.content(string(in.Path), b.State)
		if err == nil && isText(data) {
			err = f.keep(b.Hash, data)
		}
		if err != nil {
			return unmade(f.Name, err)
		}
	}
	data, err := json.Marshal(m.intended)
	if err == nil {
		err = atomicfile.Write(filepath.Join(f.dir, intentName), data, 0o600)
	}
	if err != nil {
		return unmade(f.Name, err)
	}
	return nil
}

// End notes that the merge has been made: what the fork holds is the base of the
// next one.
func (m *Merge) End() error {
	f := m.fork
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.rebase(append(slices.Clone(m.intended), m.settled...))
	if err == nil {
		if f.Merged = time.Now().UTC(); len(m.intended) > 0 {
			f.Merge = m.call
		}
		err = errors.Join(f.saveInfo(), os.Remove(filepath.Join(f.dir, intentName)))
	}
	if err != nil {
		return unmade(f.Name, err)
	}
	return nil
}

// rebase has paths be merged.
func (f *Fork) rebase(list []intent) error {
	lines := make([]line, len(list))
	for i, in := range list {
		lines[i] = in.line
		f.known[string(in.Path)] = in.after(f.known[string(in.Path)])
	}
	return f.append(lines...)
}

// recover finds out what a merge that was killed has done.
func (f *Fork) recover() error {
	name := filepath.Join(f.dir, intentName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []intent
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return damaged(f.Name, err)
	}
	var done []intent
	for _, in := range list {
		b := in.Want.base()
		is, err := f.lower.state(string(in.At))
		if err == nil && is.Same(b.State) {
			done = append(done, in)
		}
	}
	err = f.rebase(done)
	if err == nil && len(done) > 0 {
		f.Merged, f.Merge = time.Now().UTC(), done[0].Merge
		err = f.saveInfo()
	}
	if err := errors.Join(err, os.Remove(name)); err != nil {
		return unmade(f.Name, err)
	}
	return nil
}
