package project

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/taskincludes"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// deciding is what decides in a workspace what agents may do: the Taskfile with its includes, and programs and
// arguments of blocks with a grant. Changing one could run anything with that grant.
type deciding struct {
	cfg *config.Config
	// globs are slash globs relative to the root, names those of obeyed.Relative.
	globs, names []string
	// linked are the absolute paths that symlinks among all these, and others that programs obey, lead through and to.
	linked []string
}

// deciding returns what decides in the workspace at root, as it was when the configuration was read.
func (p *Project) deciding(root string, cfg *config.Config) *deciding {
	if d := p.decided.Load(); d != nil && d.cfg == cfg {
		return d
	}
	d := &deciding{cfg: cfg}
	tasks := taskincludes.DefaultPath
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		tasks = cfg.Taskfile.Path
	}
	d.globs = taskincludes.Sources(root, tasks)
	starts := slices.Concat(workspace.Deciding(), d.globs)
	for i, glob := range d.globs {
		if glob == path.Clean(filepath.ToSlash(tasks)) {
			d.globs[i] = regexlimit.EscapeGlob(glob) // a name, whatever its characters
		} else if strings.Contains(glob, "*") {
			for _, file := range matching(root, glob) {
				name, _ := below(root, file)
				starts = append(starts, name)
			}
		}
	}
	for _, name := range obeyed.Relative(root) {
		d.names = append(d.names, regexlimit.EscapeGlob(name))
		d.globs = append(d.globs, "**/"+regexlimit.EscapeGlob(name))
		starts = append(starts, name)
	}
	files := append(obeyed.Configured(root), cfg.Path)
	for _, block := range cfg.PrivilegedBlocks(root) {
		files = append(files, block.Files...)
	}
	for _, file := range files {
		if name, ok := below(root, file); ok {
			d.globs = append(d.globs, regexlimit.EscapeGlob(name))
			starts = append(starts, name)
		}
	}
	d.linked = obeyed.Linked(treesOf(root, cfg), starts)
	p.decided.Store(d)
	return d
}

// treesOf returns the trees of a workspace with symlinks resolved.
func treesOf(root string, cfg *config.Config) []string {
	all := append([]string{root}, cfg.Workspace.Allow...)
	for i := range all {
		if real, err := realpath.Of(all[i]); err == nil {
			all[i] = real
		}
	}
	return all
}

// below returns the slash path of a file below a directory.
func below(dir, file string) (name string, ok bool) {
	rel, err := filepath.Rel(dir, file)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
}

func matching(root, glob string) []string {
	files, _ := filepath.Glob(filepath.Join(regexlimit.EscapeGlob(root), filepath.FromSlash(glob)))
	return files
}

// protectedGlobs returns the globs that file tools may not write in the workspace at root.
func (p *Project) protectedGlobs(root string, cfg *config.Config) []string {
	all := treesOf(root, cfg)
	d := p.deciding(all[0], cfg)
	globs := slices.Clone(d.globs)
	for _, file := range d.linked {
		for _, tree := range all {
			if name, ok := below(tree, file); ok {
				globs = append(globs, regexlimit.EscapeGlob(name))
			}
		}
	}
	return slices.Concat(workspace.DefaultProtect(), cfg.Workspace.Protect, globs)
}

// ownFiles returns workspace files that a confined command may not change: those that decide what
// agents may do, and toolhost's own record. Package sandbox protects what git obeys. names are globs of
// files that such a command may not make or change anywhere in the workspace.
func (p *Project) ownFiles(cfg *config.Config) (files, names []string) {
	root := p.Workspace.Root()
	for _, name := range slices.Concat(workspace.Deciding(), obeyed.Names()) {
		files = append(files, filepath.Join(root, filepath.FromSlash(name)))
	}
	d := p.deciding(root, cfg)
	files = append(files, d.linked...)
	for _, glob := range d.globs {
		if !strings.ContainsAny(glob, `*?[{\`) {
			files = append(files, filepath.Join(root, filepath.FromSlash(glob)))
			continue
		}
		files = append(files, matching(root, glob)...)
	}
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		files = append(files, filepath.Join(root, cfg.Taskfile.Path))
	}
	if path, err := filepath.Abs(cfg.Path); err == nil && cfg.Path != "" {
		files = append(files, path, config.LockPath(path))
	}
	return files, slices.Concat(workspace.DecidingAnywhere(), d.names)
}

// holder reports which of the undo store's paths decide what runs: undo restores them only if named, and no
// reviewed change goes there. A file HEAD outside of .git could make its directory a repository.
func (p *Project) holder() func(name string) bool {
	own := sync.OnceValue(func() []string { files, _ := p.ownFiles(p.Config()); return files })
	return func(name string) bool {
		at := filepath.FromSlash(name)
		if !filepath.IsAbs(at) { // absolute ones are in a tree of workspace.allow
			at = filepath.Join(p.Workspace.Root(), at)
		}
		rel := strings.Split(filepath.ToSlash(name), "/")
		return path.Base(filepath.ToSlash(name)) == "HEAD" && !slices.Contains(rel, ".git") ||
			obeyed.Git(at, there) || obeyed.ByName(rel) ||
			slices.ContainsFunc(own(), func(file string) bool { return realpath.Below(at, file) })
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
