// Package variables lists the environment variables that do not reach a confined process unchanged.
package variables

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/internal/file/realpath"
)

// AgentSocket is the variable for ssh-agent's socket. It is passed to a process that is granted the socket by
// its own name.
const AgentSocket = "SSH_AUTH_SOCK"

// Dropped returns variables for what the sandbox hides.
func Dropped() []string {
	return []string{"XDG_RUNTIME_DIR", AgentSocket, "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
		"DOCKER_HOST", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL"}
}

// Scratch returns temporary directories, of which a process may have private ones.
func Scratch() []string { return []string{"/tmp", "/var/tmp", "/dev/shm"} }

// caches are replaced if they name a place that is not writable.
var caches = []string{"GOCACHE", "GOMODCACHE", "TMPDIR", "XDG_CACHE_HOME", "npm_config_cache"}

// Withheld describes those of env that do not reach a process unchanged, in a few words each. write are the
// paths granted by name, trees those that it may change anyway.
func Withheld(env map[string]string, write []string, trees ...string) (said []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		below := func(dir string) bool { return realpath.Below(filepath.Clean(value), dir) }
		switch {
		case name == AgentSocket && (value == "" || slices.Contains(write, value)):
		case slices.Contains(Dropped(), name):
			said = append(said, name+" is dropped: the sandbox hides what it leads to")
		case slices.Contains(caches, name) && value != "" && !slices.ContainsFunc(slices.Concat(write, trees, Scratch()), below):
			said = append(said, name+" is replaced: the sandbox lets nothing be written there")
		}
	}
	return said
}
