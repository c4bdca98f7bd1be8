// Package agentfile decides which agent.hcl counts for a directory, and how
// far: one that the user has approved wholly, any other as far as it restricts.
//
// Nothing that somebody puts into a project loosens a run by that. A file that
// is not approved takes the place of no approved one: what the user approved
// last, here or above, goes on to restrict until the user approves something
// else or takes the approval back.
package agentfile

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/taskincludes"
	"github.com/toolhost/toolhost/internal/trust"
)

// Options say where to look, and what to believe.
type Options struct {
	// Dir is where the search begins; empty is the working directory.
	Dir string
	// File is a file that the user has named: it counts wholly.
	File string
	// All has whatever file is found count wholly, for one run.
	All bool
	// Vars are values of variables.
	Vars map[string]string
	// Store is where approvals lie. Nil approves nothing.
	Store *trust.Store
	// Usable reports whether a configuration keeps tools away from the store; no
	// other is approved by it. Nil takes that for granted.
	Usable func(*config.Config) bool
}

// State is how an agent.hcl stands.
type State string

// The states.
const (
	None       State = "none"       // there is no file
	Approved   State = "approved"   // it counts wholly
	Restricts  State = "restricts"  // nobody has approved it, and it only restricts
	Unapproved State = "unapproved" // nobody has approved it
	Changed    State = "changed"    // the user has approved it as it was before
	Missing    State = "missing"    // the user has approved it, and it is gone
	Foreign    State = "foreign"    // it belongs to another user, and does not count
)

// Standing is what is in force for a directory, and why.
type Standing struct {
	// Config is in force.
	Config *config.Config
	State  State
	// Path is the file that State is about; "" for none.
	Path string
	// Declared is what that file says where it does not count wholly, else nil.
	// Effects are what of it has no effect.
	Declared *config.Config
	Effects  []config.Effect
	// Kept is true where a running server goes on with what was approved.
	Kept bool
	// Watch are the files whose change may change the standing.
	Watch []string
}

// Find finds the standing of a directory. Diagnostics say what is wrong with a
// file; with errors among them there is no standing.
func Find(o Options) (*Standing, config.Diagnostics) {
	if o.File != "" {
		return o.whole(o.File)
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	files := config.Files(o.Dir)
	if o.All && len(files) > 0 {
		return o.whole(files[0])
	}
	s := &search{Options: o, standing: Standing{State: None}, files: make(map[string]string)}
	for _, path := range files {
		s.files[Key(path)] = path
	}
	for _, dir := range upwards(o.Dir) {
		if done := s.look(dir); done {
			break
		}
	}
	if s.diags.HasErrors() {
		return nil, s.diags
	}
	return s.result(), s.diags
}

// whole has a file count wholly that the user has named.
func (o Options) whole(path string) (*Standing, config.Diagnostics) {
	cfg, diags := config.Load(path, config.LoadOptions{Vars: o.Vars})
	if diags.HasErrors() {
		return nil, diags
	}
	cfg.Judge()
	return &Standing{State: Approved, Path: path, Config: cfg, Watch: []string{path}}, diags
}

// search goes from a directory upwards, to the first file that the user has
// ever approved.
type search struct {
	Options
	standing Standing
	files    map[string]string // those that are believed to be there, by their keys
	layers   []layer
	keep     []string // paths that commands may not change
	whole    *config.Config
	diags    config.Diagnostics
}

// layer is a configuration whose restrictions hold.
type layer struct {
	cfg      *config.Config
	root     string // to which its protected paths are relative
	approved bool   // it was, and so was its root
}

// look takes in what there is in a directory, and reports that it is the last.
func (s *search) look(dir string) (last bool) {
	for _, name := range []string{config.FileName, config.JSONFileName} {
		key := filepath.Join(dir, name)
		s.standing.Watch = append(s.standing.Watch, key)
		var approval trust.Approval
		known := false
		if s.Store != nil {
			approval, known = s.Store.Get(key)
			s.standing.Watch = append(s.standing.Watch, s.Store.File(key))
		}
		path, there := s.files[key]
		if there && s.file(path, approval, known) || s.diags.HasErrors() {
			return true
		}
		if known {
			s.former(key, approval, there)
			last = true
		}
	}
	return last
}

// file takes in a file, and reports that it counts wholly.
func (s *search) file(path string, approval trust.Approval, known bool) (whole bool) {
	cfg, diags := config.Load(path, config.LoadOptions{Vars: s.Vars})
	same := known && approval.Holds(cfg.SHA256, cfg.Judge()) && (s.Usable == nil || s.Usable(cfg))
	first := s.standing.State == None
	if !same && foreign(path) {
		if first {
			s.standing.State, s.standing.Path = Foreign, path
		}
		return false
	}
	s.diags = append(s.diags, diags...)
	if diags.HasErrors() {
		return false
	}
	if same && first {
		cfg.Digests = approval.Files
		s.whole, s.standing.State, s.standing.Path = cfg, Approved, path
		return true
	}
	if first {
		s.standing.Path, s.standing.Declared, s.standing.Effects = path, cfg, cfg.Effects()
		switch {
		case known:
			s.standing.State = Changed
		case len(s.standing.Effects) == 0:
			s.standing.State = Restricts
		default:
			s.standing.State = Unapproved
		}
	}
	s.add(s.withoutEnvironment(path, cfg), "")
	return false
}

// withoutEnvironment reads a configuration again as if no environment variable
// were set: what remains of one that is not approved must not reveal them.
func (s *search) withoutEnvironment(path string, cfg *config.Config) *config.Config {
	unset := func(string) (string, bool) { return "", false }
	if len(cfg.EnvNames) == 0 && len(cfg.Variables) == 0 {
		return cfg
	}
	again, _ := config.Load(path, config.LoadOptions{Vars: s.Vars, Env: unset})
	if again.SHA256 != cfg.SHA256 {
		return cfg // it has just changed, and is read again soon
	}
	return again
}

// former takes in what the user has approved once, as far as it restricts.
func (s *search) former(key string, approval trust.Approval, there bool) {
	if approval.Content == nil {
		return // an older toolhost kept only the hash
	}
	cfg, _ := config.Parse(key, approval.Content, config.LoadOptions{Vars: s.Vars})
	keep, root := keeps(cfg), cfg.Workspace.Root
	if !maps.Equal(approval.Leads, cfg.Judge()) {
		root = "" // a link of it leads elsewhere
	}
	if !cfg.Restrictive() && len(keep) == 0 && root == cfg.Dir {
		return
	}
	s.keep = append(s.keep, keep...)
	s.add(cfg, root)
	if _, err := os.Lstat(key); !there && errors.Is(err, fs.ErrNotExist) && s.standing.State == None {
		s.standing.State, s.standing.Path = Missing, key
	}
}

// keeps lists the files that a configuration runs with a grant, or as Taskfile:
// it may be in force again.
func keeps(cfg *config.Config) []string {
	root := cfg.Workspace.Root
	files := cfg.Keeps(root)
	if cfg.Taskfile == nil {
		return files
	}
	for _, glob := range append(taskincludes.Sources(root, cfg.Taskfile.Path), cfg.Taskfile.Path) {
		path := filepath.Join(root, filepath.FromSlash(glob))
		found, _ := filepath.Glob(path)
		files = append(append(files, path), found...)
	}
	return files
}

// add has the restrictions of a file hold. The root of one that was approved is
// given, and "" for any other.
func (s *search) add(cfg *config.Config, approved string) {
	inert := cfg.Inert()
	s.layers = append(s.layers, layer{inert, cmp.Or(approved, inert.Workspace.Root), approved != ""})
}

// result makes one configuration of what was found.
func (s *search) result() *Standing {
	if s.whole != nil {
		s.standing.Config = s.whole
		return &s.standing
	}
	start, err := realpath.Of(s.Dir)
	if err != nil {
		start = s.Dir
	}
	root := s.root(start)
	made := &config.Config{Workspace: config.Workspace{Root: root}, Keep: s.keep}
	if d := s.standing.Declared; d != nil {
		made.Path, made.Dir, made.SHA256 = d.Path, d.Dir, d.SHA256
	}
	for _, l := range s.layers {
		made.Restrict(l.cfg, rebase(l.cfg.Workspace.Protect, l.root, root))
	}
	s.standing.Config = made
	return &s.standing
}

// root is the workspace for a start: that or a directory in it, the innermost
// that the files name; or the one that was approved, if that lies elsewhere.
func (s *search) root(start string) string {
	root := start
	for _, l := range s.layers {
		if realpath.Within(l.root, root) || l.approved && !realpath.Within(root, l.root) {
			root = l.root
		}
	}
	return root
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

// Key is the name under which a file is approved: its directory's real path.
func Key(path string) string {
	dir, err := realpath.Of(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// Approve approves a file with that content for good, and the files that its
// blocks with a grant run as they are.
func Approve(store *trust.Store, path string, content []byte, vars map[string]string) error {
	return store.Approve(approval(path, content, vars))
}

// ApproveAgain approves what the user has had written into a file. Files that an
// approval was for before are approved as they were then: nobody has looked at
// them since.
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
	cfg, _ := config.Parse(path, content, config.LoadOptions{Vars: vars})
	next := trust.For(Key(path), content, cfg.Judge())
	next.Files = cfg.FileDigests()
	return next
}

// Holds reports whether a file is approved as a configuration read it and was
// judged.
func Holds(store *trust.Store, cfg *config.Config) bool {
	approval, known := store.Get(Key(cfg.Path))
	return known && approval.Holds(cfg.SHA256, cfg.Leads)
}
