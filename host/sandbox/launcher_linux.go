package sandbox

import (
	"os"
	"path/filepath"
	"sync"
)

// self is the host's own binary, the very file that runs, whatever has become
// of its name.
const self = "/proc/self/exe"

// launcher is the program that is put in front of the command: the small one
// where it lies beside the host's own, which starts in a third of the time, and
// otherwise the host's own. One that confined commands may write to is not
// used.
func (p *Policy) launcher(g grants) string {
	path := p.Launcher
	if path == "" {
		path = besideSelf()
	}
	if path == "" || withinAny(path, g.writable) {
		return self
	}
	return path
}

// besideSelf is the small launcher's path, with symlinks followed, or empty.
var besideSelf = sync.OnceValue(func() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	path, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(own), LauncherName))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return path
})
