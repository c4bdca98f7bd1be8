package proc

import (
	"os"
	"path/filepath"
	"syscall"
)

// LookSibling finds a program installed with the running one: in its libexec directory, beside it, or else as
// LookPath does. The error is LookPath's.
func LookSibling(name, avoid string) (string, error) {
	if path := installedWith(ownDir(), name, avoid); path != "" {
		return path, nil
	}
	return LookPath(name, avoid)
}

func ownDir() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Dir(self)
}

// installedWith returns the program name that belongs to the one in dir, "" if there is none.
func installedWith(dir, name, avoid string) string {
	if dir == "" {
		return ""
	}
	for _, libexec := range libexecOf(dir) {
		if path := filepath.Join(libexec, name); runnable(path) && !inside(path, avoid) {
			return path
		}
	}
	if path := filepath.Join(dir, name); runnable(path) {
		return path
	}
	return ""
}

// SiblingDirs returns the directories in which LookSibling looks before PATH.
func SiblingDirs() []string {
	dir := ownDir()
	if dir == "" {
		return nil
	}
	return append(libexecOf(dir), dir)
}

// Libexec returns the existing directories of the running program alone: a package has programs in bin and
// internal ones in libexec/toolhost, or libexec lies beside the program.
func Libexec() []string {
	if dir := ownDir(); dir != "" {
		return libexecOf(dir)
	}
	return nil
}

func libexecOf(dir string) (dirs []string) {
	if filepath.Base(dir) == "bin" {
		if libexec := filepath.Join(filepath.Dir(dir), "libexec", "toolhost"); unshared(libexec, dir) {
			dirs = append(dirs, libexec)
		}
	}
	return append(dirs, filepath.Join(dir, "libexec"))
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// unshared reports whether libexec, outside the running program's directory bin, can be written only by those
// who can write bin, or by root: beside /tmp/bin, any user could make libexec.
func unshared(libexec, bin string) bool {
	own, ok := rightsOf(bin)
	if !ok {
		return false
	}
	for _, dir := range []string{libexec, filepath.Dir(libexec)} {
		r, ok := rightsOf(dir)
		if !ok || r.uid != own.uid && r.uid != 0 {
			return false
		}
		if r.writers&^own.writers != 0 || r.writers&0o020 != 0 && r.gid != own.gid {
			return false
		}
	}
	return true
}

// rights are who can write a directory besides its owner.
type rights struct {
	uid, gid uint32
	writers  os.FileMode
}

func rightsOf(path string) (r rights, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return r, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return r, false
	}
	return rights{uid: stat.Uid, gid: stat.Gid, writers: info.Mode() & 0o022}, true
}
