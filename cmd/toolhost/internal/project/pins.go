package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/plainfile"
	"github.com/toolhost/toolhost/host/tool"
)

// pins hold what the tools of plugins and MCP servers said of themselves when
// they were first used. A tool that says something else later is left out until
// the user has looked at it: a description is an instruction to the model, and
// whoever runs a server may change it at any time.
type pins struct {
	path    string // agent.lock.hcl
	instead string // for a path that cannot be written; "" for nowhere

	mu      sync.Mutex
	lock    *config.Lock
	fresh   []pin
	changed []ChangedTool
}

type pin struct{ source, name, sum string }

// ChangedTool is a tool whose definition is another than the one that was
// approved.
type ChangedTool struct {
	// Source and Name are those of the tool.
	Source, Name string
	// Old and New are the definitions as JSON for people. Old is empty where it
	// is not known on this machine.
	Old, New string

	sum string
}

// openPins reads the pins of a configuration; nil where nothing is foreign. A
// lock file with mistakes is reported by who needs its plugins; here it pins
// nothing that it does not say.
func (p *Project) openPins(cfg *config.Config) *pins {
	if len(cfg.Plugins)+len(cfg.Servers) == 0 {
		return nil
	}
	made := &pins{path: config.LockPath(cfg.Path)}
	if dir, err := os.UserConfigDir(); err == nil {
		absolute, _ := filepath.Abs(made.path)
		sum := sha256.Sum256([]byte(absolute))
		made.instead = filepath.Join(dir, "toolhost", "tools", hex.EncodeToString(sum[:16])+".hcl")
	}
	made.lock = made.read()
	return made
}

// read gives the pins of both files.
func (s *pins) read() *config.Lock {
	lock, _ := config.ReadLock(s.path)
	if s.instead != "" {
		more, _ := config.ReadLock(s.instead)
		for _, t := range more.Tools {
			for name, sum := range t.SHA256 {
				lock.Pin(t.Source, name, sum)
			}
		}
	}
	return lock
}

// foreign marks a source as somebody else's, whose tools are pinned.
func (m *parts) foreign(source host.Source) host.Source {
	if m.pins == nil {
		return host.Foreign(source, nil)
	}
	return host.Foreign(source, func(t tool.Tool) *tool.Error { return m.pins.admit(source.Name(), t) })
}

// admit compares a tool with what is pinned, and pins one that is new.
func (s *pins) admit(source string, t tool.Tool) *tool.Error {
	name, text := t.Definition().Name, definitionOf(t)
	digest := sha256.Sum256(text)
	sum := hex.EncodeToString(digest[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	pinned := s.lock.Pinned(source, name)
	if pinned == sum {
		return nil
	}
	keepDefinition(sum, text)
	if pinned == "" {
		s.lock.Pin(source, name, sum)
		s.fresh = append(s.fresh, pin{source, name, sum})
		return nil
	}
	same := func(c ChangedTool) bool { return c.Source == source && c.Name == name }
	s.changed = append(slices.DeleteFunc(s.changed, same), ChangedTool{source, name, readDefinition(pinned), readable(text), sum})
	return tool.Errorf(tool.NeedsConfirmation, "the tool %q of %s is left out: it says something else of itself than when it was approved", name, source).
		Suggest("toolhost trust tools shows the difference and approves it.")
}

// definitionOf is what a tool says of itself, always the same bytes for the same
// meaning.
func definitionOf(t tool.Tool) []byte {
	var said any = t.Definition()
	if d, ok := t.(interface{ Declared() any }); ok {
		said = d.Declared()
	}
	var plain any
	if err := json.Unmarshal(tool.MustMarshal(said), &plain); err != nil {
		return tool.MustMarshal(said)
	}
	return tool.MustMarshal(plain)
}

func readable(text []byte) string {
	var said any
	_ = json.Unmarshal(text, &said)
	pretty, _ := json.MarshalIndent(said, "", "  ")
	return string(pretty) + "\n"
}

// maxDefinition bounds a definition that is kept, in bytes.
const maxDefinition = 1 << 20

// keepDefinition keeps a definition so that a later one can be compared with it.
func keepDefinition(sum string, text []byte) {
	if dir := cacheDir("definitions"); dir != "" && len(text) <= maxDefinition {
		_ = atomicfile.WriteCache(filepath.Join(dir, sum+".json"), text)
	}
}

// readDefinition gives a definition that was kept, "" where it is not the one
// with that checksum.
func readDefinition(sum string) string {
	dir := cacheDir("definitions")
	text, err := plainfile.Read(filepath.Join(dir, sum+".json"), maxDefinition)
	if digest := sha256.Sum256(text); err != nil || dir == "" || hex.EncodeToString(digest[:]) != sum {
		return ""
	}
	return readable(text)
}

// keep writes the given pins: into agent.lock.hcl, or where that cannot be
// written into a file of the user's own.
func (s *pins) keep(list []pin) error {
	err := addPins(s.path, list)
	if err != nil && s.instead != "" {
		if os.MkdirAll(filepath.Dir(s.instead), 0o700) == nil {
			return addPins(s.instead, list)
		}
	}
	return err
}

func addPins(path string, list []pin) error {
	lock, diags := config.ReadLock(path)
	if diags.HasErrors() {
		return diags.Err()
	}
	for _, p := range list {
		lock.Pin(p.source, p.name, p.sum)
	}
	return atomicfile.Update(path, lock.Bytes())
}

// keepPins writes what was pinned since the last time.
func (p *Project) keepPins() {
	s := p.current().pins
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fresh) == 0 {
		return
	}
	if err := s.keep(s.fresh); err != nil {
		p.options.Logger.WarnContext(context.Background(), "what the tools of plugins and MCP servers say was not pinned", "error", err)
		return
	}
	s.fresh = nil
}

// ChangedTools are the tools that are left out because they say something else
// of themselves than when they were approved.
func (p *Project) ChangedTools() []ChangedTool {
	s := p.current().pins
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changed)
}

// ApproveTools pins the tools as they are now.
func (p *Project) ApproveTools(list []ChangedTool) error {
	s := p.current().pins
	if s == nil || len(list) == 0 {
		return nil
	}
	var approved []pin
	for _, c := range list {
		approved = append(approved, pin{c.Source, c.Name, c.sum})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep(approved)
}
