package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/inplace"
)

// BackupSuffix ends the name of Write's backup.
const BackupSuffix = ".before-toolhost"

// Choose returns the first file that exists, or else the first.
func Choose(files []string) string {
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return files[0]
}

// Read returns a file's content, nil if missing. The error is a *tool.Error.
func Read(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, failed("read", file, err)
	}
	return text, nil
}

// ReadOriginal returns a file's content before Write's last change, nil if there was no file.
func ReadOriginal(file string) ([]byte, error) {
	real, err := target(file)
	if err != nil {
		return nil, failed("read", file, err)
	}
	return Read(real + BackupSuffix)
}

// Write writes a change atomically, through symlinks, with the file's permissions, and keeps a backup
// of the old file (BackupSuffix), also if it is removed. If the file has changed meanwhile, nothing is
// written and the error is of code conflict. The error is a *tool.Error.
func (c *Change) Write() error {
	file, err := target(c.File)
	if err != nil {
		return failed("write", c.File, err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return failed("write", c.File, err)
	}
	takeBack := func(error) {}
	if c.Before != nil {
		if takeBack, err = backUpFile(file, BackupSuffix, c.Before); err != nil {
			return failed("write", c.File+BackupSuffix, err)
		}
	}
	if now, err := Read(file); err != nil || string(now) != string(c.Before) {
		takeBack(err)
		return tool.Errorf(tool.Conflict, "%s has been changed meanwhile", c.File).
			Suggest("Nothing was written. Close the client if it is running, and try again.")
	}
	if c.After == nil {
		if err := os.Remove(file); err != nil {
			takeBack(err)
			return failed("remove", c.File, err)
		}
		return nil
	}
	if err := atomicfile.Write(file, c.After, mode); err != nil {
		takeBack(err)
		return failed("write", c.File, err)
	}
	return nil
}

// backUpFile makes a backup. takeBack undoes that, unless the error of writing the file says that the backup
// is needed.
func backUpFile(file, suffix string, text []byte) (takeBack func(error), err error) {
	backup := file + suffix
	was, readErr := os.ReadFile(backup)
	if err := atomicfile.WriteBeside(backup, text, file); err != nil {
		return nil, err
	}
	return func(err error) {
		var damaged *inplace.Damaged
		if errors.As(err, &damaged) {
			return
		}
		if readErr != nil {
			_ = os.Remove(backup)
			return
		}
		_ = atomicfile.WriteBeside(backup, was, file)
	}, nil
}

// target follows symlinks to a file that need not exist.
func target(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	link, err := os.Readlink(file)
	if err != nil {
		return file, nil // no link either
	}
	if !filepath.IsAbs(link) {
		link = filepath.Join(filepath.Dir(file), link)
	}
	return link, nil
}

func failed(what, file string, err error) *tool.Error {
	code, next := tool.Unavailable, "Check the path and its permissions."
	if errors.Is(err, fs.ErrPermission) {
		code = tool.PermissionDenied
	}
	var fixed *inplace.Fixed
	var damaged *inplace.Damaged
	switch {
	case errors.As(err, &damaged):
		next = "Repair what is wrong with the disk, and put back the copy that ends in " + BackupSuffix + "."
	case errors.As(err, &fixed):
		next = "Nothing was changed. Make the directory writable: the old file is also kept there."
	}
	return tool.Errorf(code, "cannot %s %s: %w", what, file, err).Suggest("%s", next)
}
