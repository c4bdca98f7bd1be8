package sandbox

import (
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	vars "github.com/toolhost/toolhost/internal/run/variables"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Variables of package proc: the mark of a run's processes, also of the launcher, and the descriptor for its
// report, not for the program.
const (
	callMark   = "TOOLHOST_CALL"
	statusName = "TOOLHOST_STATUS_FD"
)

// environment points build tools to places that a confined process may use.
//
// The home directory is read-only, so that tools find their installations and settings. Their output goes below
// the workspace's cache directory: GOCACHE, the npm cache and XDG_CACHE_HOME (pip, ccache and many others).
//
// Go modules in the user's module cache are used from there. Others are fetched into the cache by commands with
// network, and used by all: go checks them against go.sum.
//
// A variable that already names a writable place stays.
func (p *Policy) environment(env []string, g grants, level Level) []string {
	e := variables(env)
	socket := e.get(vars.AgentSocket)
	e.drop(append(vars.Dropped(), statusName)...)
	for name, path := range p.trusting {
		if e.get(name) == "" {
			e = append(e, name+"="+path)
		}
	}
	if socket != "" && slices.Contains(p.ReadWrite, socket) {
		e = append(e, vars.AgentSocket+"="+socket)
	}
	scratch := vars.Scratch()
	writable := g.writable
	switch {
	case level == Full:
		// Private directories are empty: nothing outside is visible in them.
		if !slices.Contains(scratch, filepath.Clean(e.get("TMPDIR"))) {
			e.set("TMPDIR", "/tmp", writable)
		}
	case g.scratch != "":
		e.set("TMPDIR", g.scratch, writable)
	case g.cache != "":
		e.set("TMPDIR", filepath.Join(g.cache, "tmp"), writable)
	}
	if !p.Network && len(p.Hosts) == 0 {
		e.failFast()
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
	p.goModules(&e, g.cache, writable)
	return e
}

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

// failFast keeps package installers from trying for minutes to reach the network, unless already configured.
func (e *variables) failFast() {
	for _, pair := range []string{"npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0", "UV_HTTP_RETRIES=0",
		"BUNDLE_RETRY=0"} {
		if name, _, _ := strings.Cut(pair, "="); e.get(name) == "" {
			*e = append(*e, pair)
		}
	}
}

// set sets name to value unless it already names a place in writable.
func (e *variables) set(name, value string, writable []string) {
	if old := e.get(name); old != "" && withinAny(filepath.Clean(old), writable) {
		return
	}
	e.drop(name)
	*e = append(*e, name+"="+value)
}

// goModules configures go for the existing modules.
func (p *Policy) goModules(e *variables, cache string, writable []string) {
	users := userModules(e)
	if withinAny(users, writable) {
		return
	}
	caches := []string{users}
	if p.CacheDir == "" { // a block with grants uses nothing from another
		granted, _ := filepath.Glob(GrantedCache(regexlimit.EscapeGlob(p.Workspace), "*") + "/go-mod")
		caches = append(caches, granted...)
	}
	var proxies []string
	for _, dir := range caches {
		download := filepath.Join(dir, "cache", "download")
		if info, err := os.Stat(download); err == nil && info.IsDir() && !strings.ContainsAny(download, ",|") {
			proxies = append(proxies, fileURL(download))
		}
	}
	network := p.Network || len(p.Hosts) > 0
	if !network && len(proxies) == 1 && proxies[0] == fileURL(filepath.Join(users, "cache", "download")) {
		return // all modules are the user's
	}
	rest := "off"
	if network {
		rest = cmp.Or(e.get("GOPROXY"), goSetting("GOPROXY"), "direct")
	}
	flags := strings.TrimSpace(cmp.Or(e.get("GOFLAGS"), goSetting("GOFLAGS")) + " -modcacherw") // can be removed by rm
	e.set("GOMODCACHE", filepath.Join(cache, "go-mod"), writable)
	e.drop("GOPROXY", "GOFLAGS")
	*e = append(*e, "GOPROXY="+strings.Join(append(proxies, rest), ","), "GOFLAGS="+flags)
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func userModules(e *variables) string {
	if dir := e.get("GOMODCACHE"); dir != "" {
		return filepath.Clean(dir)
	}
	gopath, _, _ := strings.Cut(e.get("GOPATH"), string(filepath.ListSeparator))
	if gopath == "" {
		gopath = filepath.Join(homeDirectory(), "go")
	}
	return filepath.Join(gopath, "pkg", "mod")
}

// goSetting returns the user's setting of a variable, or the default of the go in PATH.
func goSetting(name string) string {
	files := []string{filepath.Join(homeDirectory(), ".config", "go", "env")}
	if program, err := exec.LookPath("go"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			files = append(files, filepath.Join(filepath.Dir(filepath.Dir(program)), "go.env"))
		}
	}
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for line := range strings.Lines(string(data)) {
			if value, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found {
				return value
			}
		}
	}
	return ""
}
