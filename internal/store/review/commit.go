package review

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Limits of a commit: of a file, which is held in memory, and of a batch.
const (
	mostOfContent = 256 << 20
	mostOfBatch   = 256 << 20
)

// Commit applies the changes to the workspace; ws is a view of Restoring, with a recorder of the undo store. It
// follows no symlinks, even new ones, and has no protection: the sandbox decided what may change. Each file is
// old or new at any moment.
//
// If a path no longer holds what the view saw, nothing is done and the error is a conflict. left are
// directories that stay because others have added files. done reports whether anything was changed before an
// error: it can be undone.
func (c *Changes) Commit(ctx context.Context, ws *workspace.Workspace) (left []string, done bool, err error) {
	if err := c.verify(); err != nil {
		return nil, false, err
	}
	p := &commit{ctx: ctx, ws: ws.WithContext(ctx), list: c.List}
	err = p.run()
	return p.left, p.done, err
}

// verify refuses changes of paths that no longer hold what the view saw.
func (c *Changes) verify() error {
	var paths []string
	stands := make(dirCache)
	for i := range c.List {
		change := &c.List[i]
		if change.After.Size > mostOfContent && change.After.Mode.IsRegular() {
			return tool.Errorf(tool.TooLarge, "%s has %d bytes, more than can be put into the workspace from a view",
				change.Path, change.After.Size).
				Suggest("Nothing was changed. Let the call run without review.").With("path", change.Path)
		}
		if change.untouched != nil && !change.Raced && change.untouched(stands) {
			continue // the batch compares the content under the lock
		}
		now, err := change.now()
		if err != nil {
			return unreadable(change.Path, err)
		}
		if change.Raced || !now.Same(change.Before) {
			paths = append(paths, change.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return Conflict(paths)
}

// Conflict returns the error for paths that were changed by others.
func Conflict(paths []string) *tool.Error {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = shown(path)
	}
	return tool.Errorf(tool.Conflict, "files that the call changes were changed since it began: %s",
		strings.Join(names, ", ")).
		Suggest("Nothing was changed. Look at the files and make the call again.").With("paths", paths)
}

type commit struct {
	ctx  context.Context
	ws   *workspace.Workspace
	list []Change
	left []string
	done bool
}

func (c *Change) retyped() bool {
	return c.Before.Exists && c.After.Exists && c.Before.Mode.Type() != c.After.Mode.Type()
}

// goes reports whether a file or link is removed, perhaps for another type; comes whether a file is created.
func (c *Change) goes() bool {
	link := c.Before.Mode&fs.ModeSymlink != 0
	return holds(c.Before) && (!c.After.Exists || c.retyped() || link)
}

func (c *Change) comes() bool {
	return c.After.Exists && c.After.Mode.IsRegular() && (c.Before.Hash != c.After.Hash || !c.Before.Mode.IsRegular())
}

// run applies the changes in steps: removals come first only where something else takes the place.
func (p *commit) run() error {
	first := slices.ContainsFunc(p.list, func(c Change) bool { return c.retyped() })
	if first {
		if err := p.files(true, false); err != nil {
			return err
		}
		if err := p.directoriesGo(); err != nil {
			return err
		}
	}
	if err := p.directoriesCome(); err != nil {
		return err
	}
	if err := p.files(!first, true); err != nil {
		return err
	}
	if !first {
		if err := p.directoriesGo(); err != nil {
			return err
		}
	}
	if err := p.linksCome(); err != nil {
		return err
	}
	return p.modes()
}

// files removes and writes files, in one batch if that is not too large.
func (p *commit) files(going, coming bool) error {
	var batch []workspace.Change
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := p.ws.Batch(p.ctx, batch)
		p.done = p.done || err == nil
		batch, size = nil, 0
		return err
	}
	for i := range p.list {
		c := &p.list[i]
		if going && c.goes() {
			batch = append(batch, workspace.Change{Kind: workspace.Delete, Path: c.Path, Expect: c.Before.Hash})
		}
		if !coming || !c.comes() {
			continue
		}
		change := workspace.Change{Kind: workspace.Create, Path: c.Path, Read: c.content, Mode: c.After.Mode.Perm()}
		if c.Before.Mode.IsRegular() && c.Before.Exists {
			change.Kind, change.Expect = workspace.Replace, c.Before.Hash
		}
		batch = append(batch, change)
		if size += c.After.Size; size > mostOfBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (c *Change) content() ([]byte, error) {
	data, err := c.new()
	if err != nil {
		return nil, unreadable(c.Path, err)
	}
	return data, nil
}

func isDir(s undo.State) bool { return s.Exists && s.Mode.IsDir() }

// directoriesGo removes directories, deepest first.
func (p *commit) directoriesGo() error {
	for i := range slices.Backward(p.list) {
		c := &p.list[i]
		if !isDir(c.Before) || isDir(c.After) {
			continue
		}
		err := p.ws.RemoveDir(c.Path)
		if tool.CodeOf(err) == tool.Conflict && !c.After.Exists {
			p.left = append(p.left, c.Path)
			continue
		}
		if err != nil {
			return err
		}
		p.done = true
	}
	return nil
}

// directoriesCome makes directories, uppermost first.
func (p *commit) directoriesCome() error {
	for i := range p.list {
		c := &p.list[i]
		if isDir(c.Before) || !isDir(c.After) {
			continue
		}
		if _, err := p.ws.Mkdir(c.Path, false); err != nil {
			return err
		}
		p.done = true
	}
	return nil
}

func (p *commit) linksCome() error {
	for i := range p.list {
		c := &p.list[i]
		if !c.After.Exists || c.After.Mode&fs.ModeSymlink == 0 {
			continue
		}
		target, err := c.new()
		if err == nil {
			err = p.ws.Symlink(string(target), c.Path)
		}
		if err != nil {
			return err
		}
		p.done = true
	}
	return nil
}

// moded reports whether the batch sets the file's mode: it replaces one.
func (c *Change) moded() bool {
	return c.comes() && c.Before.Exists && c.Before.Mode.IsRegular()
}

// modes sets modes despite the umask: directories last, deepest first, since a mode may lock them.
func (p *commit) modes() error {
	for i := range slices.Backward(p.list) {
		c := &p.list[i]
		if !c.After.Exists || c.moded() || !c.After.Mode.IsRegular() && !c.After.Mode.IsDir() {
			continue
		}
		info, err := p.ws.Lstat(c.Path)
		if err != nil {
			return err
		}
		if info.Mode().Perm() == c.After.Mode.Perm() {
			continue
		}
		if err := p.ws.Chmod(c.Path, c.After.Mode); err != nil {
			return err
		}
		p.done = true
	}
	return nil
}
