package fork

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// repository is the .git directory that a path lies in, "" for none.
func repository(name string) string {
	for at := 0; ; {
		end := strings.IndexByte(name[at:], '/')
		if end < 0 {
			return ""
		}
		if name[at:at+end] == ".git" {
			return name[:at+end]
		}
		at += end + 1
	}
}

// passing are files of a repository that git writes by the way, also for git status.
var passing = []string{"index", "FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "gc.log", "logs"}

// repositories plans what lies in repositories, and says which paths it has dealt
// with. Objects come to those that are there. What else a repository has is merged
// as one: a branch without its index, or with marks of conflicts in it, would be of
// no use.
func (m *Merge) repositories(names []string) (dealt map[string]bool) {
	dealt = make(map[string]bool)
	own := make(map[string][]string)
	for _, name := range names {
		git := repository(name)
		if git == "" {
			continue
		}
		if strings.HasPrefix(name+"/", git+"/objects/info/") || m.fork.sandboxMade(name) {
			dealt[name] = true
			continue
		}
		if strings.HasPrefix(name, git+"/objects/") {
			dealt[name] = !m.object(name)
			continue
		}
		own[git] = append(own[git], name)
	}
	for git, list := range own {
		moved, raced := false, false
		for _, name := range list {
			v, ok := m.versions(name)
			if !ok || v.is.Mode.IsDir() {
				continue
			}
			first, _, _ := strings.Cut(strings.TrimPrefix(name, git+"/"), "/")
			moved = moved || !slices.Contains(passing, first)
			raced = raced || v.base.unknown || !v.was.Same(v.base.State) && !v.was.Same(v.is)
		}
		if moved && raced {
			m.leave(git, "the fork and others have changed the repository itself (branches, index): its new objects are "+
				"merged, the rest stays in the fork")
		}
		for _, name := range list {
			dealt[name] = !moved || raced
		}
	}
	return dealt
}

// sandboxMade reports an empty file in a repository that was not there before: the
// sandbox makes it to hold a name fast by which git would do something.
func (f *Fork) sandboxMade(name string) bool {
	if repository(name) == "" || f.known[name].Exists {
		return false
	}
	stat, there, err := f.upper.lstat(name)
	return err == nil && there && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Size == 0
}

// object reports that an object of a repository is to come.
func (m *Merge) object(name string) bool {
	v, ok := m.versions(name)
	return ok && v.is.Exists && !v.was.Exists && path.Base(name) != "multi-pack-index"
}
