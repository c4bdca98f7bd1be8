package sandbox

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// heededByGit are the places in a repository's directory that git takes
// configuration or programs from, for the user and outside of any sandbox. Those
// that end in a slash are directories.
//
// What is missing is made, empty, where git does not mind: a name can only be
// kept where something is.
var heededByGit = [...]struct {
	name string
	make bool
}{
	{"config", false}, {"commondir", false}, {"gitdir", false}, {"config.worktree", true}, {"hooks/", true},
	{"info/attributes", true}, {"objects/info/alternates", true}, {"objects/info/http-alternates", false},
}

// mostRepositories bounds how many repositories of one tree are looked at, and
// deepestModule how deep the directory of a submodule may lie.
const (
	mostRepositories = 64
	deepestModule    = 6
)

// gitPlaces lists what git reads of the repository in root and its submodules,
// whether it exists or not. Each is a path that confined commands may read only.
func gitPlaces(root string) []string {
	if info, err := os.Lstat(root); err != nil || !info.IsDir() {
		return nil
	}
	handle, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer handle.Close()
	r := repositories{root: root, handle: handle, left: mostRepositories}
	r.workTree(".", 0)
	return r.places
}

// repositories collects the places of the repositories below a root. All is
// looked at by a handle, so that no planted link leads out.
type repositories struct {
	root   string
	handle *os.Root
	places []string
	left   int
}

func (r *repositories) add(name string) { r.places = append(r.places, filepath.Join(r.root, name)) }

// workTree adds the repository of a work tree and of its submodules.
func (r *repositories) workTree(dir string, depth int) {
	git := filepath.Join(dir, ".git")
	info, err := r.handle.Lstat(git)
	switch {
	case err != nil || r.left == 0 || depth > deepestModule:
		return
	case info.Mode().IsRegular(): // says where the repository lies
		r.left--
		r.add(git)
	case info.IsDir():
		r.repository(git, true)
		r.below(filepath.Join(git, "modules"), true, 0)
		r.below(filepath.Join(git, "worktrees"), false, deepestModule)
	}
	for _, path := range r.submodules(dir) {
		r.workTree(filepath.Join(dir, path), depth+1)
	}
}

// below adds the repositories that lie below dir: whole ones of submodules, or
// what each linked work tree has of its own.
func (r *repositories) below(dir string, whole bool, depth int) {
	if depth > deepestModule {
		return
	}
	entries, err := fs.ReadDir(r.handle.FS(), filepath.ToSlash(dir))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if name := filepath.Join(dir, entry.Name()); entry.IsDir() {
			if r.repository(name, whole) {
				name = filepath.Join(name, "modules")
			}
			r.below(name, whole, depth+1)
		}
	}
}

// repository adds the places of the repository in dir, if that is one.
func (r *repositories) repository(dir string, whole bool) bool {
	if info, err := r.handle.Lstat(filepath.Join(dir, "HEAD")); err != nil || info.IsDir() || r.left == 0 {
		return false
	}
	r.left--
	for _, place := range heededByGit {
		name := filepath.Join(dir, filepath.FromSlash(place.name))
		if place.make && (whole || place.name == "config.worktree") {
			r.make(name, strings.HasSuffix(place.name, "/"))
		}
		r.add(name)
	}
	return true
}

// make makes what is missing. Where that fails, so does everything else that tries.
func (r *repositories) make(name string, dir bool) {
	if _, err := r.handle.Lstat(name); err == nil {
		return
	}
	if dir {
		_ = r.handle.Mkdir(name, 0o755)
		return
	}
	_ = r.handle.Mkdir(filepath.Dir(name), 0o755)
	if file, err := r.handle.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
		_ = file.Close()
	}
}

// submodules lists the paths of a work tree's submodules.
func (r *repositories) submodules(dir string) (paths []string) {
	name := filepath.Join(dir, ".gitmodules")
	if info, err := r.handle.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := r.handle.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan() && len(paths) < mostRepositories; {
		key, value, _ := strings.Cut(lines.Text(), "=")
		if path := strings.Trim(strings.TrimSpace(value), `"`); strings.TrimSpace(key) == "path" &&
			filepath.IsLocal(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
