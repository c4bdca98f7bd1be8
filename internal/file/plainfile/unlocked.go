package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Unlocked runs look, which reads the slash path name below root. If the modes of the user's own files forbid that,
// it runs look again with name and the directories above opened to their owner, and restores the modes.
func Unlocked(root *os.Root, name string, look func() error) error {
	err := look()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var restore []func()
	defer func() {
		for i := range restore {
			restore[len(restore)-1-i]()
		}
	}()
	name = path.Clean(name)
	for end := 1; end <= len(name); end++ {
		if end < len(name) && name[end] != '/' {
			continue
		}
		part := name[:end]
		info, statErr := root.Lstat(part)
		if statErr != nil {
			break
		}
		mode, needed := info.Mode(), fs.FileMode(0o400)
		if mode.IsDir() {
			needed = 0o700
		}
		if mode&needed == needed || !mode.IsDir() && !mode.IsRegular() {
			continue
		}
		if root.Chmod(part, mode|needed) != nil {
			return err
		}
		restore = append(restore, func() { _ = root.Chmod(part, mode) })
	}
	if len(restore) == 0 {
		return err
	}
	return look()
}

// UnlockedIn is Unlocked for an absolute path below the directory dir.
func UnlockedIn(dir, name string, look func() error) error {
	err := look()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, openErr := Root(dir)
	if openErr != nil {
		return err
	}
	defer root.Close()
	rel, below := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	if !below {
		return err
	}
	return Unlocked(root, rel, look)
}
