package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/run/network"
)

// accessAttrs are the attributes of blocks whose process the sandbox confines.
const accessAttrs = "network read write"

// access reads what a block grants its process; the default is the sandbox block's.
func (b block) access() Access {
	a := Access{}
	if b.cfg.Sandbox != nil {
		a.Network, a.Hosts = b.cfg.Sandbox.Network, b.cfg.Sandbox.Hosts
	}
	b.network(&a.Network, &a.Hosts)
	a.Read, a.Write = b.paths("read"), b.paths("write")
	return a
}

// network reads what may be reached: everything, nothing, what the user allows, or a list of hosts.
func (b block) network(all *bool, hosts *[]string) {
	a := b.attrs["network"]
	if a == nil {
		return
	}
	if b.bare("network") == "" && b.isList(a.Expr) {
		var list []string
		if b.texts("network", &list) && b.hosts(a.Expr, list) {
			*all, *hosts = false, list
		}
		return
	}
	var s string
	if text, _ := literalText(a.Expr); strings.ContainsAny(text, ".:*/") {
		b.fail(a.Expr.Range(), "Wrong type", fmt.Sprintf("Write a list: [%q].", text), "Hosts are a list.")
		return
	}
	if b.oneOf("network", &s, string(Allow), string(Deny), network.AskEntry) {
		*all, *hosts = s == string(Allow), nil
		if s == network.AskEntry {
			*hosts = []string{network.AskEntry}
		}
	}
}

func (b block) isList(e hcl.Expression) bool {
	if _, ok := concatenation(e); ok {
		return true
	}
	if _, diags := hcl.ExprList(e); !diags.HasErrors() {
		return true
	}
	if _, written := literalText(e); written {
		return false
	}
	v, ok := b.value(e)
	v, _ = v.Unmark()
	return ok && isList(v)
}

func (b block) hosts(e hcl.Expression, list []string) bool {
	_, err := network.Parse(list)
	items, diags := hcl.ExprList(e)
	for _, mistake := range network.Mistakes(err) {
		at := e.Range()
		if !diags.HasErrors() && mistake.Index >= 0 && mistake.Index < len(items) {
			at = items[mistake.Index].Range()
		}
		b.fail(at, "Invalid host", mistake.Fix, "%s.", mistake.What)
	}
	return err == nil
}

func (b block) paths(name string) []string {
	var list []string
	b.texts(name, &list)
	for i, p := range list {
		list[i] = b.path(p, b.where(name))
	}
	return list
}

// path resolves a path against the file's directory. "~/" is the home directory.
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
