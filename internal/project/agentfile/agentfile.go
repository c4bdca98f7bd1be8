// Package agentfile decides which agent.hcl is in force for a directory: the text last approved by the
// user, here or above. For an unapproved file only reading tools are offered, so no file put into a
// project loosens a run.
package agentfile

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/project/trust"
)

// Options are where to look, and what to trust.
type Options struct {
	// Dir is where the search begins; empty means the working directory.
	Dir string
	// File is a file named by the user, which needs no approval.
	File string
	// All puts any found file in force, for one run.
	All bool
	// Vars are values of variables.
	Vars map[string]string
	// Store has the approvals. Nil approves nothing.
	Store *trust.Store
	// Usable reports whether a configuration keeps tools out of the store, as an approval requires. May
	// be nil.
	Usable func(*config.Config) bool
}

// State is the state of an agent.hcl.
type State string

// The states.
const (
	None       State = "none"       // no file
	Approved   State = "approved"   // in force
	Unapproved State = "unapproved" // never approved; not in force
	Changed    State = "changed"    // the previously approved text is in force
	Missing    State = "missing"    // removed; the approved text is in force
	Moved      State = "moved"      // a path in it leads elsewhere than when approved
)

// Standing is the configuration in force for a directory, and why.
type Standing struct {
	// Config is the configuration in force.
	Config *config.Config
	State  State
	// Path is the file of State, "" if none.
	Path string
	// Watch are the files whose change may change the standing.
	Watch []string
}

// Find returns a directory's standing, or nil and diagnostics with errors.
func Find(o Options) (*Standing, config.Diagnostics) {
	if o.File != "" {
		return o.whole(o.File)
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	if path, found := config.Find(o.Dir); o.All && found {
		return o.whole(path)
	}
	return o.search()
}

// whole puts a file named by the user in force.
func (o Options) whole(path string) (*Standing, config.Diagnostics) {
	cfg, diags := config.Load(path, config.LoadOptions{Vars: o.Vars})
	if diags.HasErrors() {
		return nil, diags
	}
	cfg.Judge()
	return &Standing{State: Approved, Path: path, Config: cfg, Watch: []string{path}}, diags
}

// search searches upwards for the first approved file. Above the repository only approved files count:
// a repository made below one does not end its rules.
func (o Options) search() (*Standing, config.Diagnostics) {
	s := &Standing{State: None}
	searched := make(map[string]string) // searched directories by real path
	for _, dir := range config.Dirs(o.Dir) {
		if real, err := realpath.Of(dir); err == nil && searched[real] == "" {
			searched[real] = dir
		}
	}
	for _, dir := range upwards(o.Dir) {
		key := filepath.Join(dir, config.FileName)
		s.Watch = append(s.Watch, key)
		name, within := searched[dir]
		_, err := os.Lstat(key)
		found := err == nil // whatever it is
		path := filepath.Join(cmp.Or(name, dir), config.FileName)
		if o.Store != nil {
			s.Watch = append(s.Watch, o.Store.File(key))
			if approval, known := o.Store.Get(key); known && (within || found) {
				if done, diags := o.approved(s, path, approval); done {
					return s, diags
				}
			}
		}
		if within && found && s.State == None {
			s.State, s.Path = Unapproved, path
		}
	}
	root, err := realpath.Of(o.Dir)
	if err != nil {
		root = o.Dir
	}
	s.Config = &config.Config{Workspace: config.Workspace{Root: root}, ReadOnly: s.State == Unapproved}
	return s, nil
}

// approved puts an approved text in force. It returns false if there is none.
func (o Options) approved(s *Standing, path string, approval trust.Approval) (done bool, _ config.Diagnostics) {
	cfg, diags := config.LoadText(path, approval.Content, config.LoadOptions{Vars: o.Vars})
	if o.Usable != nil && !o.Usable(cfg) {
		return false, nil
	}
	if diags.HasErrors() {
		return true, diags
	}
	moved := !maps.Equal(approval.Leads, cfg.Judge())
	cfg.Digests, cfg.Leads = approval.Files, approval.Leads // refuses paths that lead elsewhere now
	cfg.ReadOnly = moved || s.State == Unapproved
	switch {
	case s.State == Unapproved: // found a nearer file
	case moved:
		s.State, s.Path = Moved, path
	default:
		s.State, s.Path = state(approval), path
	}
	s.Config = cfg
	return true, diags
}

// state compares a file with the approved text.
func state(approval trust.Approval) State {
	info, err := os.Stat(approval.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing
	case err != nil, !info.Mode().IsRegular(), info.Size() != int64(len(approval.Content)):
		return Changed
	}
	if content, err := os.ReadFile(approval.Path); err != nil || !bytes.Equal(content, approval.Content) {
		return Changed
	}
	return Approved
}

// upwards lists a directory and those above it, with symlinks resolved.
func upwards(dir string) (all []string) {
	dir, err := realpath.Of(dir)
	if err != nil {
		return nil
	}
	for {
		all = append(all, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			return all
		}
		dir = parent
	}
}

// Key returns the path under which a file is approved: with its directory's real path.
func Key(path string) string {
	dir, err := realpath.Of(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// Approve approves a file with that content, and the current files that its blocks with a grant run.
func Approve(store *trust.Store, path string, content []byte, vars map[string]string) error {
	return store.Approve(approval(path, content, vars))
}

// ApproveAgain approves a change that toolhost made to a file for the user. Files approved before keep
// their hashes: the user has not looked at them since.
func ApproveAgain(store *trust.Store, path string, content []byte, vars map[string]string) error {
	next := approval(path, content, vars)
	if before, known := store.Get(next.Path); known {
		for file := range next.Files {
			if was, known := before.Files[file]; known {
				next.Files[file] = was
			}
		}
	}
	return store.Approve(next)
}

func approval(path string, content []byte, vars map[string]string) trust.Approval {
	cfg, _ := config.LoadText(path, content, config.LoadOptions{Vars: vars})
	next := trust.For(Key(path), content, cfg.Judge())
	next.Files = cfg.FileDigests()
	return next
}

// Holds reports whether a file is approved as the configuration was read and judged.
func Holds(store *trust.Store, cfg *config.Config) bool {
	approval, known := store.Get(Key(cfg.Path))
	return known && approval.Holds(cfg.SHA256, cfg.Leads)
}
