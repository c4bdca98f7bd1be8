package config

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
)

// Unknown is the target of a path that cannot be followed.
const Unknown = "?"

// Judge stores where symlinks in the file's paths lead now, for Verify.
func (c *Config) Judge() map[string]string {
	c.Leads = nil
	for _, path := range c.paths() {
		if name, real := c.leads(path); name != real {
			if c.Leads == nil {
				c.Leads = make(map[string]string)
			}
			c.Leads[name] = real
		}
	}
	return c.Leads
}

// Verify refuses paths of the file in which a symlink was placed since it was judged.
func (c *Config) Verify(paths ...string) error {
	for _, path := range paths {
		name, real := c.leads(path)
		judged, linked := c.Leads[name]
		if !linked {
			judged = name
		}
		if real != judged {
			return tool.Errorf(tool.PermissionDenied, "%s leads to %s now, and led to %s when agent.hcl was approved",
				path, real, judged).
				Suggest("Take the symlink away, or approve agent.hcl again with toolhost trust.").With("path", path)
		}
	}
	return nil
}

// Judged returns where paths of the file led when it was judged: the grant is not for a place behind a later
// symlink.
func (c *Config) Judged(paths ...string) []string {
	judged := make([]string, 0, len(paths))
	for _, path := range paths {
		name, _ := c.leads(path)
		if real, linked := c.Leads[name]; linked && real != Unknown {
			name = real
		}
		judged = append(judged, name)
	}
	return judged
}

// leads returns the name of a path, relative to the real directory of the file if in it, and where it leads.
func (c *Config) leads(path string) (name, real string) {
	name = path
	if dir, err := realpath.Of(c.Dir); err == nil && c.Dir != "" && realpath.Below(path, c.Dir) {
		rel, _ := filepath.Rel(c.Dir, path)
		name = filepath.Join(dir, rel)
	}
	real, err := realpath.Of(name)
	if err != nil {
		return name, Unknown
	}
	return name, real
}

// paths returns those used outside of calls: the workspace, and the sandbox's grants.
func (c *Config) paths() []string {
	all := append([]string{c.Workspace.Root}, c.Workspace.Allow...)
	grant := func(a Access) { all = append(append(all, a.Read...), a.Write...) }
	for i := range c.Tools {
		grant(c.Tools[i].Access)
	}
	for i := range c.Resources {
		grant(c.Resources[i].Access)
	}
	for _, p := range c.Plugins {
		grant(p.Access)
	}
	for _, s := range c.Servers {
		grant(s.Access)
		all = append(all, s.Roots...)
	}
	for _, a := range c.Agents {
		grant(a.Access)
	}
	if c.Taskfile != nil {
		grant(c.Taskfile.Access)
	}
	if c.Sandbox != nil {
		grant(Access{Read: c.Sandbox.Read, Write: c.Sandbox.Write})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// CheckTrees checks the directories of the workspace block. A missing root is an error; a missing further
// directory is a warning, since the rest works.
func (c *Config) CheckTrees() Diagnostics {
	var diags Diagnostics
	w := c.Workspace
	if why := noDirectory(w.Root); why != "" {
		diags = append(diags,
			c.Report("error", c.At("workspace.root", w.Pos), "No workspace", "The directory "+w.Root+" "+why,
				"Create it, or name another as root."))
	}
	for i, dir := range w.Allow {
		severity := "warning"
		if _, err := os.Stat(dir); err == nil {
			severity = "error"
		}
		if why := noDirectory(dir); why != "" {
			diags = append(diags, c.Report(severity, c.At(item("workspace.allow", i), w.Pos), "No such directory",
				"The directory "+dir+" "+why,
				"Create it, or take it out; until then tools cannot use it."))
		}
	}
	return diags
}

// noDirectory returns why a path is not a directory to work in.
func noDirectory(path string) string {
	switch info, err := os.Stat(path); {
	case path == "":
		return "" // the working directory
	case os.IsNotExist(err):
		return "does not exist"
	case err != nil:
		return "cannot be used: " + err.Error()
	case !info.IsDir():
		return "is a file"
	}
	return ""
}
