package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

type fault struct {
	err        error
	code       tool.Code
	what       string
	suggestion string
}

// faults returns the narrow kinds first, since some errors match several.
func faults() []fault {
	return []fault{
		{syscall.ENOSPC, tool.Unavailable, "no space left on the device",
			"Free some space and try again. Nothing was changed."},
		{syscall.EDQUOT, tool.Unavailable, "the disk quota is used up",
			"Free some space and try again. Nothing was changed."},
		{syscall.EFBIG, tool.TooLarge, "the file would be larger than the system allows",
			"Write less, or into several files. Nothing was changed."},
		{syscall.EROFS, tool.PermissionDenied, "the file system is read-only", "Write to another place."},
		{syscall.ENAMETOOLONG, tool.InvalidArgument, "the name is too long",
			"Use a shorter path: names have at most 255 bytes."},
		{syscall.ELOOP, tool.InvalidArgument, "too many symbolic links",
			"Look for a link that points to itself, and use the real path."},
		{syscall.ENOTDIR, tool.NotADirectory, "not a directory",
			"A part of the path is a file; look at the directory above it."},
		{syscall.EISDIR, tool.IsDirectory, "is a directory", "Name a file."},
		{syscall.ENOTEMPTY, tool.Conflict, "the directory is not empty", "Remove what is in it first."},
		{syscall.EBUSY, tool.Unsupported, "it is a mount, or the system uses it",
			"Leave it where it is, or unmount it first."},
		{syscall.ETXTBSY, tool.Unavailable, "it is a running program", "End the program first."},
		{syscall.EXDEV, tool.Unsupported, "the places are on different file systems",
			"Copy the file and remove the old one."},
		{syscall.EMFILE, tool.Unavailable, "too many open files", "Try again with fewer calls at once."},
		{syscall.ENFILE, tool.Unavailable, "too many open files", "Try again with fewer calls at once."},
		{syscall.ENXIO, tool.Unsupported, "not a regular file", "Only regular files can be opened."},
		{syscall.EINVAL, tool.InvalidArgument, "the system refuses this path",
			"Use a plain path; a directory cannot go into itself."},
		{fs.ErrNotExist, tool.NotFound, "no such file or directory",
			lookThere},
		{fs.ErrExist, tool.AlreadyExists, "it already exists", "Choose another name, or remove it first."},
		{fs.ErrPermission, tool.PermissionDenied, "permission denied",
			"Check the permissions of the path."},
		{fs.ErrInvalid, tool.InvalidArgument, "the system refuses this path or mode", "Use a plain path."},
		{fs.ErrClosed, tool.Unavailable, "the workspace is closed", "Open it again."},
		{context.DeadlineExceeded, tool.Timeout, "the time is up", "Try again, or allow more time."},
		{context.Canceled, tool.Cancelled, "cancelled", "Call again if it is still wanted."},
	}
}

func classify(err error) (code tool.Code, what, suggestion string) {
	for _, f := range faults() {
		if errors.Is(err, f.err) {
			return f.code, f.what, f.suggestion
		}
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return tool.Internal, err.Error(), "Check the file system, then try again."
}

// fail returns the error for a failed operation at path. doing is a verb such as "write".
func (c *core) fail(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	var own *tool.Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, c.escape) {
		return outside(path)
	}
	code, what, suggestion := classify(err)
	e := tool.Errorf(code, "cannot %s %s: %s", doing, path, what).Suggest("%s", suggestion).With("path", path)
	return wrap(e, err)
}

// wrap makes cause reachable for errors.Is without changing the text of e.
func wrap(e *tool.Error, cause error) error {
	w := tool.Errorf(e.Code, "%w", &caused{text: e.Message, cause: cause})
	w.Suggestion, w.Details = e.Suggestion, e.Details
	return w
}

type caused struct {
	text  string
	cause error
}

func (c *caused) Error() string { return c.text }
func (c *caused) Unwrap() error { return c.cause }

func outside(path string) *tool.Error {
	return tool.Errorf(tool.PathOutsideWorkspace, "%s is outside the workspace", path).
		Suggest("Use a path inside the workspace. The user can add a directory with workspace.allow in agent.hcl.").
		With("path", path)
}

const lookThere = "Check the spelling, or list the directory to see what is there."

func notFound(path string) *tool.Error {
	return tool.Errorf(tool.NotFound, "%s does not exist", path).Suggest(lookThere).With("path", path)
}

// notThere is notFound with the similar names beside the place.
func (p *resolvedPath) notThere() *tool.Error {
	items, _ := readNames(p.dir, nearest.MaxNames)
	var names []string
	for _, e := range items {
		if !p.tree.hides(filepath.Join(p.parent(), e.name)) {
			names = append(names, e.name)
		}
	}
	return notFound(p.given).Suggest("%s", nearest.Hint(p.name, names, lookThere))
}

func exists(path string) *tool.Error {
	return tool.Errorf(tool.AlreadyExists, "%s already exists", path).
		Suggest("Choose another name, or remove it first.").With("path", path)
}

func isDirectory(path string) *tool.Error {
	return tool.Errorf(tool.IsDirectory, "%s is a directory", path).
		Suggest("Name a file.").With("path", path)
}

func notDirectory(path string) *tool.Error {
	return tool.Errorf(tool.NotADirectory, "%s is not a directory", path).
		Suggest("Name a directory.").With("path", path)
}

// notBelow returns the error for a path that continues below the file part.
func notBelow(part string) *tool.Error {
	return tool.Errorf(tool.NotADirectory, "%s is not a directory", part).
		Suggest("It is a file, so nothing is below it; check the path.").With("path", part)
}

func slashedFile(path string) *tool.Error {
	return tool.Errorf(tool.NotADirectory, "%s is not a directory", path).
		Suggest("Leave the slash at the end out to name the file.").With("path", path)
}

func special(path string, mode fs.FileMode) *tool.Error {
	return tool.Errorf(tool.Unsupported, "%s is %s, not a regular file", path, kindName(mode)).
		Suggest("Only regular files can be used.").With("path", path)
}

func kindName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	default:
		return "a special file"
	}
}

func changing(path string) *tool.Error {
	return tool.Errorf(tool.Conflict, "%s was changed by somebody else at the same time", path).
		Suggest("Read it again and repeat the change.").With("path", path)
}

func linkBlocked(path, link string) *tool.Error {
	return tool.Errorf(tool.Blocked, "%s leads through the symbolic link %s, and links are not followed here", path,
		link).
		Suggest("Use the real path. The user can have links followed inside the workspace in agent.hcl.").
		With("path", path).With("reason", "symlink").With("link", link)
}
