package config

import (
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// accessAttrs are the attributes of every block whose process the sandbox
// confines.
const accessAttrs = "network read write"

// access reads what a block grants its process; what it does not say is as the
// sandbox block says.
func (b block) access() Access {
	a := Access{}
	if b.cfg.Sandbox != nil {
		a.Network = b.cfg.Sandbox.Network
	}
	a.Network = b.network(a.Network)
	a.Read, a.Write = b.paths("read"), b.paths("write")
	return a
}

func (b block) network(fallback bool) bool {
	var s string
	if !b.oneOf("network", &s, string(Allow), string(Deny)) {
		return fallback
	}
	return s == string(Allow)
}

// paths reads a list of paths and resolves each.
func (b block) paths(name string) []string {
	var list []string
	b.texts(name, &list)
	for i, p := range list {
		list[i] = b.path(p, b.where(name))
	}
	return list
}

// path resolves a path of the file against the file's directory. "~/" is the
// home directory.
func (r *reader) path(p string, at hcl.Range) string {
	switch {
	case p == "":
		r.fail(at, "Empty path", `Name a file or directory, "." for this one.`, "A path is empty.")
	case strings.IndexByte(p, 0) >= 0:
		r.fail(at, "Invalid path", "", "A path holds a NUL byte.")
	case p == "~" || strings.HasPrefix(p, "~/"):
		if home, ok := r.opts.Env("HOME"); ok && filepath.IsAbs(home) {
			return filepath.Join(home, p[1:])
		}
		r.fail(at, "No home directory", "Write the path out.", "HOME is not set.")
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(r.cfg.Dir, p)
}

// envName checks the name of an environment variable.
func (r *reader) envName(name string, at hcl.Range) bool {
	if name != "" && !strings.ContainsAny(name, "=\x00 ") {
		return true
	}
	r.fail(at, "Invalid name", "", "%q cannot be the name of an environment variable.", name)
	return false
}

// environment reads an env attribute whose values are known at load time.
func (b block) environment(to *map[string]string) {
	for _, e := range b.entries("env") {
		b.envName(e.key, e.at)
	}
	b.textMap("env", to)
}
