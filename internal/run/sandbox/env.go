package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Variables of package proc: the mark by which processes of a run are found,
// which the launcher carries, too, and the descriptor that it reports to, which
// is no business of the program's.
const (
	callMark   = "TOOLHOST_CALL"
	statusName = "TOOLHOST_STATUS_FD"
)

// environment points build tools to places that a confined process may use.
//
// The home directory stays where it is, but can only be read, so that tools
// find their installations and settings. What they write goes below the cache
// directory: GOCACHE, the npm cache and XDG_CACHE_HOME (pip, ccache and many
// others). The cache belongs to the workspace: what a confined command puts
// there is used by confined commands of this workspace alone.
//
// Go modules that are in the user's module cache are used from there; with
// network, further ones are fetched into the workspace's cache, which takes
// the user's as its first proxy.
//
// A variable that already points into a writable place is left alone.
func (p *Policy) environment(env []string, g grants, level Level) []string {
	e := variables(env)
	e.drop("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY",
		"WAYLAND_DISPLAY",
		"DOCKER_HOST", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", statusName)
	scratch := []string{"/tmp", "/var/tmp", "/dev/shm"}
	writable := g.writable
	switch {
	case level == Full:
		// Private directories are empty: of what lies in them outside, nothing is there.
		if !slices.Contains(scratch, filepath.Clean(e.get("TMPDIR"))) {
			e.set("TMPDIR", "/tmp", writable)
		}
	case g.scratch != "":
		e.set("TMPDIR", g.scratch, writable)
	case g.cache != "":
		e.set("TMPDIR", filepath.Join(g.cache, "tmp"), writable)
	}
	if g.cache == "" {
		if level == Full {
			e.set("GOCACHE", "/tmp/.go-build", append(scratch, writable...))
			e.set("XDG_CACHE_HOME", "/tmp/.cache", append(scratch, writable...))
			e.set("npm_config_cache", "/tmp/.npm", append(scratch, writable...))
		}
		return e
	}
	e.set("GOCACHE", filepath.Join(g.cache, "go-build"), writable)
	e.set("XDG_CACHE_HOME", filepath.Join(g.cache, "xdg"), writable)
	e.set("npm_config_cache", filepath.Join(g.cache, "npm"), writable)
	if p.Network {
		e.shareModules(g.cache, writable)
	}
	return e
}

// variables are an environment, one NAME=value each.
type variables []string

func (e *variables) drop(names ...string) {
	*e = slices.DeleteFunc(slices.Clone(*e), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(names, name)
	})
}

func (e *variables) get(name string) string {
	// The last one of a name counts.
	for _, pair := range slices.Backward(*e) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// set sets name to value unless it names a place in one of writable.
func (e *variables) set(name, value string, writable []string) {
	if old := e.get(name); old != "" && withinAny(filepath.Clean(old), writable) {
		return
	}
	e.drop(name)
	*e = append(*e, name+"="+value)
}

func (e *variables) shareModules(cache string, writable []string) {
	users := e.get("GOMODCACHE")
	if users == "" {
		gopath, _, _ := strings.Cut(e.get("GOPATH"), string(filepath.ListSeparator))
		if gopath == "" {
			gopath = filepath.Join(homeDirectory(), "go")
		}
		users = filepath.Join(gopath, "pkg", "mod")
	}
	if withinAny(filepath.Clean(users), writable) {
		return
	}
	e.set("GOMODCACHE", filepath.Join(cache, "go-mod"), writable)
	proxy := e.get("GOPROXY")
	if proxy == "" {
		return
	}
	e.drop("GOPROXY")
	*e = append(*e, "GOPROXY=file://"+filepath.Join(users, "cache", "download")+","+proxy)
}
