package proc

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// inherited are the variables that every process gets from the host. Any other may be a secret.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "PWD",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN",
	"GOPRIVATE",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
}

// fixed disables questions, pagers and colours for every process.
var fixed = []string{"GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_PAGER=cat", "NO_COLOR=1"}

// Environ returns an environment: the host's variables that any program needs, those named in allow (a trailing
// * matches the rest), the fixed settings, and extra, which wins.
func Environ(extra map[string]string, allow ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if _, replaced := extra[name]; !replaced && passes(name, allow) {
			env = append(env, pair)
		}
	}
	for _, pair := range fixed {
		name, _, _ := strings.Cut(pair, "=")
		if _, replaced := extra[name]; !replaced {
			env = append(env, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		env = append(env, name+"="+extra[name])
	}
	return env
}

func passes(name string, allow []string) bool {
	if slices.Contains(inherited, strings.ToUpper(name)) || strings.HasPrefix(name, "LC_") ||
		slices.Contains(network.CertificateVariables, name) {
		return true
	}
	return slices.ContainsFunc(allow, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// LookPath returns the absolute path of a program. Relative directories of PATH and those inside avoid, the
// workspace, are skipped: what an agent can write must not become what it can run. The error is a *tool.Error
// of code command_not_found.
func LookPath(name, avoid string) (string, error) {
	if name != filepath.Base(name) {
		return absolute(name, avoid)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil && !inside(path, avoid) {
			return path, nil
		}
	}
	return "", tool.Errorf(tool.CommandNotFound, "the program %s is not installed", name).
		Suggest("Install %s, or put its directory on PATH.", name)
}

const throughAnother = `A program of the project is run by one that is installed: ["bash", "scripts/x.sh"], ` +
	`["npx", "--no-install", "x"], ["python3", "-m", "x"].`

func absolute(name, avoid string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", tool.Errorf(tool.CommandNotFound, "the program %s is given by a relative path", name).
			Suggest("Name a program on PATH, or an absolute path outside the workspace. %s", throughAnother)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", programError(name, err)
	}
	if inside(path, avoid) {
		return "", tool.Errorf(tool.PermissionDenied,
			"the program %s lies inside the workspace, where tools can change it", name).
			Suggest("Install it outside the workspace. %s", throughAnother)
	}
	return path, nil
}

func inside(path, dir string) bool {
	if dir == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for _, p := range []string{path, follow(path)} {
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func follow(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
