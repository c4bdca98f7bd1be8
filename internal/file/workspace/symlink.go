package workspace

import (
	"errors"
	"io/fs"

	"github.com/toolhost/toolhost/host/tool"
)

// Symlink creates a symlink at path with exactly that target, which may dangle or lead outside: following it is
// refused then. Errors: already_exists, not_found for a missing directory, blocked if symlinks are not followed
// (except in a view of Restoring), permission_denied, path_outside_workspace.
func (w *Workspace) Symlink(target, path string) error {
	if w.symlinks == Block && !w.restoring {
		return linkBlocked(path, path)
	}
	h, err := w.hold(path, Remove)
	if err != nil {
		return err
	}
	defer h.close()
	switch {
	case !h.missing():
		return exists(path)
	case len(h.rest) > 0:
		return missingParent(h.resolvedPath)
	case target == "":
		return tool.Errorf(tool.InvalidArgument, "the symbolic link %s needs a target", path).
			Suggest("Name what it is to lead to.").With("path", path)
	}
	if err := w.record(Create, h.resolvedPath, after{hash: w.hash([]byte(target)), mode: fs.ModeSymlink}); err != nil {
		return err
	}
	err = h.dir.Symlink(target, h.name)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	return w.fail("make the symbolic link", path, err)
}

// Readlink returns the target of the symlink at path, as written. Errors: not_found, invalid_argument for
// anything else, those of Lstat.
func (w *Workspace) Readlink(path string) (string, error) {
	p, err := w.locate(path, false)
	if err != nil {
		return "", err
	}
	defer p.close()
	switch {
	case p.missing():
		return "", notFound(path)
	case p.info.Mode()&fs.ModeSymlink == 0:
		return "", tool.Errorf(tool.InvalidArgument, "%s is not a symbolic link", path).
			Suggest("Read it as the file or directory that it is.").With("path", path)
	}
	target, err := p.dir.Readlink(p.name)
	return target, w.fail("read", path, err)
}
