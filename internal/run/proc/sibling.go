package proc

import (
	"os"
	"path/filepath"
	"runtime"
)

// LookSibling finds a program that is installed together with the running
// one: beside it, or else as LookPath does. The error is LookPath's.
func LookSibling(name, avoid string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path := beside(self, name); path != "" {
			return path, nil
		}
	}
	return LookPath(name, avoid)
}

// beside gives the program called name in the directory of another, "" if it
// is not there.
func beside(program, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(program), name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}
