package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

func missingParent(p *resolvedPath) error {
	dir := path.Dir(p.path())
	return tool.Errorf(tool.NotFound, "the directory %s of %s does not exist", dir, p.given).
		Suggest("Make the directory first, or check the spelling.").With("path", p.given)
}

// Remove removes a file or a symlink, not its target. Errors: not_found,
// is_directory, permission_denied for a protected file, path_outside_workspace.
func (w *Workspace) Remove(path string) error { return w.remove(path, false) }

// RemoveDir removes an empty directory. Errors: not_found, not_a_directory,
// conflict if it is not empty, permission_denied, path_outside_workspace.
func (w *Workspace) RemoveDir(path string) error { return w.remove(path, true) }

func (w *Workspace) remove(path string, dir bool) error {
	access := Remove
	if dir {
		access = RemoveEmpty
	}
	h, err := w.hold(path, access)
	if err != nil {
		return err
	}
	defer h.close()
	switch {
	case h.missing():
		return h.notThere()
	case dir && !h.info.IsDir():
		return notDirectory(path)
	case !dir && h.info.IsDir():
		return isDirectory(path)
	case !dir && h.slashed():
		return slashedFile(path)
	}
	if err := w.record(Delete, h.resolvedPath, after{}); err != nil {
		return err
	}
	return w.fail("remove", path, h.dir.Remove(h.name))
}

// Rename moves a file, a symlink itself or a directory. With replace a file at to is replaced, else it is refused
// as already_exists. Errors: not_found, already_exists, is_directory, permission_denied if something protected is
// moved or results, unsupported across file systems, path_outside_workspace.
func (w *Workspace) Rename(from, to string, replace bool) error {
	both, err := w.holdAll([]string{from, to}, []Access{Remove, Remove}, nil)
	if err != nil {
		return err
	}
	defer both.close()
	source, target := both.places[0].resolvedPath, both.places[1].resolvedPath
	if err := w.renamable(source, target, replace); err != nil {
		return err
	}
	if !target.missing() && !os.SameFile(source.info, target.info) {
		if err := w.record(Delete, target, after{}); err != nil {
			return err
		}
	}
	if err := w.record(Rename, source, after{to: target}); err != nil {
		return err
	}
	if !target.missing() {
		replace = true // checked above: replace is set, or it is the same file in another case
	}
	err = renameAt(source, target, replace)
	if errors.Is(err, fs.ErrExist) {
		return exists(to)
	}
	return w.fail("rename", from, err)
}

func (w *Workspace) renamable(source, target *resolvedPath, replace bool) error {
	switch {
	case source.missing():
		return source.notThere()
	case len(target.rest) > 0:
		return missingParent(target)
	case !target.missing() && os.SameFile(source.info, target.info) && source.path() != target.path():
		if source.tree != target.tree || fold(source.rel) != fold(target.rel) {
			return exists(target.given) // another hard link: the system would do nothing
		}
	case !target.missing() && !replace:
		return exists(target.given)
	case !target.missing() && target.info.IsDir():
		return isDirectory(target.given)
	}
	// Entries may be protected under the directory's new name.
	return w.holdsNone(source, target.rel)
}

// Mkdir creates a directory; with parents, the missing ones above it too. created lists them from the top.
// Errors: already_exists (with parents only if it is not a directory), not_found for a missing parent,
// permission_denied, path_outside_workspace.
func (w *Workspace) Mkdir(path string, parents bool) (created []string, err error) {
	for range maxRaces {
		made, done, err := w.mkdirStep(path, parents)
		created = append(created, made...)
		if done || err != nil {
			return created, err
		}
	}
	return created, changing(path)
}

// mkdirStep creates the topmost missing directory of path.
func (w *Workspace) mkdirStep(name string, parents bool) (made []string, done bool, err error) {
	p, err := w.locate(name, true)
	if err != nil {
		return nil, false, err
	}
	defer p.close()
	if !p.missing() {
		if parents && p.info.IsDir() {
			return nil, true, nil
		}
		return nil, true, exists(p.given)
	}
	if err := w.permit(p, Write); err != nil {
		return nil, false, err
	}
	if len(p.rest) > 0 && !parents {
		return nil, false, missingParent(p)
	}
	parts := components(p.rel)
	top := *p // the first missing component
	top.rel, top.rest = path.Join(parts[:len(parts)-len(p.rest)]...), nil
	if err := w.record(Mkdir, &top, after{}); err != nil {
		return nil, false, err
	}
	err = p.dir.Mkdir(p.name, newDirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil, false, nil // another process created it: try again
	}
	if err != nil {
		return nil, false, w.fail("make the directory", name, err)
	}
	return []string{top.path()}, len(p.rest) == 0, nil
}

// parentsOf creates the directories above the file at name, also through a dangling symlink, and returns those
// it created.
func (w *Workspace) parentsOf(name string) (created []string, err error) {
	p, err := w.locate(name, true)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if len(p.rest) == 0 {
		return nil, nil
	}
	if err := w.permit(p, Write); err != nil {
		return nil, err
	}
	return w.makeParents(p)
}

func (w *Workspace) makeParents(p *resolvedPath) (created []string, err error) {
	created, err = w.Mkdir(p.tree.join(path.Dir(p.rel)), true)
	if errors.Is(err, &tool.Error{Code: tool.AlreadyExists}) {
		err = notBelow(path.Dir(p.path()))
	}
	return created, err
}

// Chmod sets the permission bits of a file or directory, never set-user-id, set-group-id or sticky. A symlink is
// followed. Errors: not_found, unsupported for anything else and for a file with several names (except in a view of
// Restoring), permission_denied, path_outside_workspace.
func (w *Workspace) Chmod(path string, mode fs.FileMode) error {
	h, err := w.hold(path, Write)
	if err != nil {
		return err
	}
	defer h.close()
	switch {
	case h.missing():
		return notFound(path)
	case !h.info.Mode().IsRegular() && !h.info.IsDir():
		return special(path, h.info.Mode())
	case h.info.Mode().IsRegular() && links(h.info) > 1 && !w.restoring:
		return tool.Errorf(tool.Unsupported, "%s has other hard links, whose mode would also change", path).
			Suggest("Rewrite the file first, which makes it a file of its own.").With("path", path)
	}
	if err := w.record(Chmod, h.resolvedPath, after{mode: mode.Perm()}); err != nil {
		return err
	}
	return w.fail("change the mode of", path, h.chmod(mode.Perm()))
}

// chmod works on an open file, which no swapped symlink can change. A file its owner cannot read is changed by
// name.
func (h *held) chmod(mode fs.FileMode) error {
	f, err := h.dir.OpenFile(h.name, openFlags, 0)
	if errors.Is(err, fs.ErrPermission) {
		return h.dir.Chmod(h.name, mode)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(info, h.info) {
		return errors.Join(err, changing(h.given))
	}
	return f.Chmod(mode)
}

// removeDirs removes directories that were created, the deepest first.
func (w *Workspace) removeDirs(created []string) {
	for _, dir := range slices.Backward(created) {
		if p, err := w.locate(dir, false); err == nil {
			if !p.missing() && p.info.IsDir() {
				_ = p.dir.Remove(p.name)
			}
			p.close()
		}
	}
}
