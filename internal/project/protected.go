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

// deciding returns slash globs, relative to root, of files by which a configuration decides what agents may do:
// the Taskfile with its includes, and programs and arguments of blocks with a grant. Changing one could run
// anything with that grant. names are those of obeyed.Relative, as globs.
func (p *Project) deciding(root string, cfg *config.Config) (globs, names []string) {
	tasks := taskincludes.DefaultPath
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		tasks = cfg.Taskfile.Path
	}
	globs = p.taskIncludes.Sources(root, tasks)
	for i, glob := range globs {
		if glob == path.Clean(filepath.ToSlash(tasks)) {
			globs[i] = regexlimit.EscapeGlob(glob) // a name, whatever its characters
		}
	}
	for _, name := range obeyed.Relative(root) {
		names = append(names, regexlimit.EscapeGlob(name))
		globs = append(globs, "**/"+regexlimit.EscapeGlob(name))
	}
	files := obeyed.Configured(root)
	for _, block := range cfg.PrivilegedBlocks(root) {
		files = append(files, block.Files...)
	}
	for _, file := range files {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) && rel != "." {
			globs = append(globs, regexlimit.EscapeGlob(filepath.ToSlash(rel)))
		}
	}
	return globs, names
}

// protectedGlobs returns the globs that file tools may not write in the workspace at root.
func (p *Project) protectedGlobs(root string, cfg *config.Config) []string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	globs, _ := p.deciding(root, cfg)
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
	globs, names := p.deciding(root, cfg)
	for _, glob := range globs {
		if !strings.ContainsAny(glob, `*?[{\`) {
			files = append(files, filepath.Join(root, filepath.FromSlash(glob)))
			continue
		}
		found, _ := filepath.Glob(filepath.Join(regexlimit.EscapeGlob(root), filepath.FromSlash(glob)))
		files = append(files, found...)
	}
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		files = append(files, filepath.Join(root, cfg.Taskfile.Path))
	}
	if path, err := filepath.Abs(cfg.Path); err == nil && cfg.Path != "" {
		files = append(files, path, config.LockPath(path))
	}
	return files, slices.Concat(workspace.DecidingAnywhere(), names)
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
