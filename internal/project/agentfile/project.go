package agentfile

import (
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/internal/file/homedir"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// systemTrees contain no projects; systemDirs are no projects themselves.
func systemTrees() []string {
	return []string{"/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share", "/usr/include",
		"/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/usr/local/go",
		"/var/lib", "/var/cache", "/System", "/Library", "/Applications"}
}

func systemDirs() []string {
	return []string{"/home", "/Users", "/root", "/tmp", "/private/tmp", "/var", "/var/tmp", "/opt", "/mnt", "/media",
		"/srv", "/run", "/usr", "/usr/local", "/usr/src", "/Volumes"}
}

// NoProject returns why a directory is not a project unless the user names it, or "": a client starts
// servers wherever it runs, and tools must not get all the user's files.
func NoProject(dir string) string {
	real, err := realpath.Of(dir)
	if err != nil {
		return "it cannot be looked into"
	}
	in := func(tree string) bool { return realpath.Below(real, tree) }
	if filepath.Dir(real) == real {
		return "it is the root of the file system"
	}
	for _, home := range homedir.All() {
		if h, err := realpath.Of(home); err == nil {
			home = h
		}
		switch {
		case real == home:
			return "it is your home directory"
		case realpath.Below(home, real):
			return "your home directory lies in it"
		}
	}
	switch {
	case slices.ContainsFunc(systemTrees(), in), slices.Contains(systemDirs(), real):
		return "it belongs to the system"
	case sandbox.HoldsSecrets(real):
		return "it is a place of secrets"
	}
	return ""
}
