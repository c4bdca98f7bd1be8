package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Planted looks for what commands have made in a workspace that programs outside
// of the sandbox heed. Level landlock refuses to make it; at levels full and
// docker only what exists can be held, so what is new is found afterwards.
//
// It is looked for and told, and left where it is, since the user may have made
// it meanwhile. What nobody but git makes, and never there, is removed: it has
// git take another configuration.
type Planted struct {
	root  string
	exact []string // slash paths
	names []string // globs of the last names of a path, anywhere

	mu    sync.Mutex
	dirs  map[string]directory
	known map[string]bool
	git   map[string]bool // places of the repository that were missing at first
}

// directory is one as it was when it was read last.
type directory struct {
	changed int64 // 0 is to be read again
	below   []string
}

// mostDirectories bounds what is looked at, nearest to the root first: reading as
// many takes some 30 ms. settled is how long ago a directory was changed at least
// that need not be read again: file systems keep time by ticks.
const (
	mostDirectories = 2_000
	settled         = time.Second
)

// NewPlanted looks at the workspace in root for paths, in slash form, and globs
// of last names.
func NewPlanted(root string, exact, names []string) *Planted {
	return &Planted{root: root, exact: exact, names: append(slices.Clone(names), ".git")}
}

// Begin notes what is there before the first command runs.
func (p *Planted) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dirs != nil {
		return
	}
	p.dirs, p.known, p.git = make(map[string]directory), make(map[string]bool), make(map[string]bool)
	p.look()
	if _, err := os.Lstat(filepath.Join(p.root, ".git", "HEAD")); err == nil {
		for _, name := range unmade() {
			_, err := os.Lstat(filepath.Join(p.root, filepath.FromSlash(name)))
			p.git[name] = errors.Is(err, fs.ErrNotExist)
		}
	}
}

// unmade lists the places that git heeds, and that cannot be made empty to be
// held.
func unmade() (names []string) {
	for _, place := range heededByGit {
		if !place.make {
			names = append(names, path.Join(".git", place.name))
		}
	}
	return names
}

// End lists what is new since it was asked last, as sentences.
func (p *Planted) End() (said []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range unmade() {
		if p.git[name] && p.remove(name) {
			said = append(said, name+" was made and has been removed: git would take another configuration by it.")
		}
	}
	for _, name := range p.look() {
		said = append(said, name+" is new: "+heedful(name))
	}
	return said
}

// heedful says who heeds what.
func heedful(name string) string {
	switch last := path.Base(name); {
	case last == ".git":
		return "git runs what its configuration and hooks say, unconfined, when you use git there."
	case strings.HasPrefix(last, "agent.hcl") || last == "Taskfile.yml" || last == "agent.lock.hcl":
		return "toolhost believes it once you have approved it; until then it only restricts."
	default:
		return "editors, shells or agents run what it says, unconfined."
	}
}

// remove removes a file of the repository, through no link.
func (p *Planted) remove(name string) bool {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return false
	}
	defer root.Close()
	if _, err := root.Lstat(filepath.FromSlash(name)); err != nil {
		return false
	}
	return root.RemoveAll(filepath.FromSlash(name)) == nil
}

// look goes through the directories that have changed, and lists what is new.
func (p *Planted) look() (found []string) {
	todo := []string{"."}
	for n := 0; n < len(todo) && n < mostDirectories; n++ {
		dir := todo[n]
		info, err := os.Lstat(filepath.Join(p.root, filepath.FromSlash(dir)))
		if err != nil || !info.IsDir() {
			delete(p.dirs, dir)
			continue
		}
		changed := changedAt(info)
		d, read := p.dirs[dir]
		if !read || d.changed != changed.UnixNano() {
			var fresh []string
			d, fresh = p.read(dir)
			if d.changed = changed.UnixNano(); time.Since(changed) < settled {
				d.changed = 0
			}
			p.dirs[dir] = d
			found = append(found, fresh...)
		}
		todo = append(todo, d.below...)
	}
	slices.Sort(found)
	return found
}

// read lists a directory: what is below, and what in it is new.
func (p *Planted) read(dir string) (d directory, fresh []string) {
	entries, _ := os.ReadDir(filepath.Join(p.root, filepath.FromSlash(dir)))
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		parts := strings.Split(name, "/")
		if slices.Contains(p.exact, name) ||
			slices.ContainsFunc(p.names, func(glob string) bool { return matchesEnd(glob, parts) }) {
			if !p.known[name] {
				fresh = append(fresh, name)
			}
			p.known[name] = true
		}
		if entry.IsDir() && entry.Name() != ".git" && name != ".agent/cache" {
			d.below = append(d.below, name)
		}
	}
	return d, fresh
}

// HoldsWhatExists reports whether the level keeps from being changed only what
// exists.
func (s Settings) HoldsWhatExists() bool {
	p := Policy{Level: s.Level}
	level, err := p.choose()
	return err == nil && (level == Full || level == Docker)
}

// Heeded says in one text what a call has left behind.
func Heeded(said []string) string {
	const most = 20
	if more := len(said) - most; more > 0 {
		said = append(slices.Clip(said[:most]), fmt.Sprintf("There are %d more.", more))
	}
	return "While this ran, something was made that programs outside of the sandbox heed. Look at it before you use it:\n" +
		strings.Join(said,
			"\n")
}
