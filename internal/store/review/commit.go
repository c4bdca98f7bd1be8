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

// Bounds of a commit: of a file, which is held in memory, and of a batch.
const (
	mostOfContent = 256 << 20
	mostOfBatch   = 256 << 20
)

// Commit puts the changes into the workspace, which ws is in its form for restoring,
// with a recorder of the undo store. It follows no symlinks, not even those that
// come to lie on the way, and has no protection: what may change was the sandbox's
// to say. Each file is as it was or as it is to be at any moment.
//
// Nothing is done, and the error is a conflict, where a path no longer holds what
// the view saw. left are directories that stay because others have put something
// into them. done reports whether anything was changed before an error: it is
// recorded, and can be undone.
func (c *Changes) Commit(ctx context.Context, ws *workspace.Workspace) (left []string, done bool, err error) {
	if err := c.verify(); err != nil {
		return nil, false, err
	}
	p := &commit{ctx: ctx, ws: ws.WithContext(ctx), list: c.List}
	err = p.run()
	return p.left, p.done, err
}

// verify refuses changes of what is no longer what the view saw.
func (c *Changes) verify() error {
	var paths []string
	stands := make(standing)
	for i := range c.List {
		change := &c.List[i]
		if change.After.Size > mostOfContent && change.After.Mode.IsRegular() {
			return tool.Errorf(tool.TooLarge, "%s has %d bytes, more than can be put into the workspace from a view",
				change.Path, change.After.Size).
				Suggest("Nothing was changed. Have the call run without review.").With("path", change.Path)
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

// Conflict is the error of changes that somebody else has come before.
func Conflict(paths []string) *tool.Error {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = shown(path)
	}
	return tool.Errorf(tool.Conflict, "somebody has changed what the call changes since it began: %s",
		strings.Join(names, ", ")).
		Suggest("Nothing was changed. Look at the files and make the call again.").With("paths", paths)
}

// commit is a commit on its way.
type commit struct {
	ctx  context.Context
	ws   *workspace.Workspace
	list []Change
	left []string
	done bool
}

// retyped reports that one kind of thing takes the place of another.
func (c *Change) retyped() bool {
	return c.Before.Exists && c.After.Exists && c.Before.Mode.Type() != c.After.Mode.Type()
}

// goes reports that a file or link goes, be it for another kind of thing; comes
// that a file comes.
func (c *Change) goes() bool {
	link := c.Before.Mode&fs.ModeSymlink != 0
	return holds(c.Before) && (!c.After.Exists || c.retyped() || link)
}

func (c *Change) comes() bool {
	return c.After.Exists && c.After.Mode.IsRegular() && (c.Before.Hash != c.After.Hash || !c.Before.Mode.IsRegular())
}

// run does it in steps: what goes has to go first only where something else takes
// its place.
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

// files removes and writes files, in one batch where they are not too large for
// that.
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

// content is what the file is to hold.
func (c *Change) content() ([]byte, error) {
	data, err := c.new()
	if err != nil {
		return nil, unreadable(c.Path, err)
	}
	return data, nil
}

func isDir(s undo.State) bool { return s.Exists && s.Mode.IsDir() }

// directoriesGo removes directories, the deepest first.
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

// directoriesCome makes directories, the uppermost first.
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

// moded reports that the batch gives the file the mode that it is to have: it
// replaces one.
func (c *Change) moded() bool {
	return c.comes() && c.Before.Exists && c.Before.Mode.IsRegular()
}

// modes gives what was made, against the umask, and what was there the mode that
// it is to have: directories last, the deepest first, since a mode may lock them.
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
