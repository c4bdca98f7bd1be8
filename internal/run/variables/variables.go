// Package variables says which environment variables do not reach a confined process
// as they are set.
package variables

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/internal/file/realpath"
)

// AgentSocket is the variable that leads to the socket of ssh's agent. It is passed
// on to a process that is granted the socket by its own name.
const AgentSocket = "SSH_AUTH_SOCK"

// Dropped lists variables that lead to what the sandbox hides.
func Dropped() []string {
	return []string{"XDG_RUNTIME_DIR", AgentSocket, "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
		"DOCKER_HOST", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL"}
}

// Scratch are directories for temporary files, which a process may have of its own.
func Scratch() []string { return []string{"/tmp", "/var/tmp", "/dev/shm"} }

// caches are set to another place where they name one that may not be written.
var caches = []string{"GOCACHE", "GOMODCACHE", "TMPDIR", "XDG_CACHE_HOME", "npm_config_cache"}

// Withheld says of those in env that do not reach a process as they are set, in a few
// words each. Write are the paths that it is granted by name, in trees are those that it
// may change anyway.
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
