package proc

import (
	"os"
	"path/filepath"
	"runtime"
)

// LookSibling finds a program that is installed together with the running
// one: in its libexec directory, beside it, or else as LookPath does. The
// error is LookPath's.
func LookSibling(name, avoid string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path := installedWith(filepath.Dir(self), name, avoid); path != "" {
			return path, nil
		}
	}
	return LookPath(name, avoid)
}

// installedWith gives the program called name that belongs to one in the
// directory dir, "" if there is none. A package has programs in bin and what
// only they start in libexec/toolhost; an archive for Windows has libexec
// beside the program.
func installedWith(dir, name, avoid string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if filepath.Base(dir) == "bin" {
		path := filepath.Join(filepath.Dir(dir), "libexec", "toolhost", name)
		if runnable(path) && unshared(filepath.Dir(path), dir) && !inside(path, avoid) {
			return path
		}
	}
	if path := filepath.Join(dir, "libexec", name); runnable(path) && !inside(path, avoid) {
		return path
	}
	if path := filepath.Join(dir, name); runnable(path) {
		return path
	}
	return ""
}

// runnable reports whether path is a file that can be run.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}
