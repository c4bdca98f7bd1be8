package project

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/matching"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/taskincludes"
)

// deciding lists the slash globs, relative to root, of the files in a workspace
// that a configuration makes decide what agents may do: the Taskfile with what
// it includes, and what blocks with a grant name as program or argument. Who
// could change one of them could run anything, with that grant.
func deciding(root string, cfg *config.Config) []string {
	tasks := taskincludes.DefaultPath
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		tasks = cfg.Taskfile.Path
	}
	globs := taskincludes.Sources(root, tasks)
	for i, glob := range globs {
		if glob == path.Clean(filepath.ToSlash(tasks)) {
			globs[i] = matching.Literal(glob) // a name, whatever is in it
		}
	}
	files := slices.Clone(cfg.Keep)
	for _, block := range cfg.Granting(root) {
		files = append(files, block.Files...)
	}
	for _, file := range files {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) && rel != "." {
			globs = append(globs, matching.Literal(filepath.ToSlash(rel)))
		}
	}
	return globs
}

// protectedGlobs are what file tools may not write in the workspace at root.
func protectedGlobs(root string, cfg *config.Config) []string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return slices.Concat(workspace.DefaultProtect(), cfg.Workspace.Protect, deciding(root, cfg))
}

// ownFiles are what a confined command may not change although it lies in the
// workspace: what decides what agents may do, and toolhost's own account of what
// they did. What git heeds is protected by package sandbox.
func (p *Project) ownFiles(cfg *config.Config) []string {
	root := p.Workspace.Root()
	var files []string
	for _, name := range workspace.Deciding() {
		files = append(files, filepath.Join(root, filepath.FromSlash(name)))
	}
	for _, glob := range deciding(root, cfg) {
		if !strings.ContainsAny(glob, `*?[{\`) {
			files = append(files, filepath.Join(root, filepath.FromSlash(glob)))
			continue
		}
		found, _ := filepath.Glob(filepath.Join(matching.Literal(root), filepath.FromSlash(glob)))
		files = append(files, found...)
	}
	files = append(files, cfg.Keep...)
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		files = append(files, filepath.Join(root, cfg.Taskfile.Path))
	}
	if path, err := filepath.Abs(cfg.Path); err == nil && cfg.Path != "" {
		files = append(files, path, config.LockPath(path))
	}
	return files
}

// holder tells which of the undo store's paths decide what runs: undo brings
// nothing there that was not named.
func (p *Project) holder() func(name string) bool {
	own := sync.OnceValue(func() []string { return p.ownFiles(p.Config()) })
	return func(name string) bool {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) { // else it is in a tree of workspace.allow
			path = filepath.Join(p.Workspace.Root(), path)
		}
		return sandbox.HeededByGit(path) ||
			slices.ContainsFunc(own(), func(file string) bool { return realpath.Below(path, file) })
	}
}
