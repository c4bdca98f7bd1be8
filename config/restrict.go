package config

import (
	"path/filepath"
	"slices"
	"time"
)

// Restrict has the restrictions of another file hold beside those of this one:
// whatever either forbids is forbidden. What the other one says beyond
// restrictions is left out. Its protected paths are given apart, because they
// are relative to another directory.
func (c *Config) Restrict(other *Config, protect []string) {
	other = other.Inert()
	c.Workspace.Protect = append(slices.Clip(c.Workspace.Protect), protect...)
	if other.Policy != nil {
		c.Further = append(slices.Clip(c.Further), other.Policy)
	}
	c.Granted = both(c.Granted, other.Granted)
	c.Limits.Output = stricter(c.Limits.Output, other.Limits.Output)
	c.Limits.Timeout = stricter(c.Limits.Timeout, other.Limits.Timeout)
	c.Limits.Processes = stricter(c.Limits.Processes, other.Limits.Processes)
	c.Web.Timeout = stricter(c.Web.Timeout, other.Web.Timeout)
	c.Web.MaxSize = stricter(c.Web.MaxSize, other.Web.MaxSize)
	c.Record.Required = c.Record.Required || other.Record.Required
	if s := other.Sandbox; s != nil {
		if c.Sandbox == nil {
			c.Sandbox = &Sandbox{Level: "auto", Pos: s.Pos}
		} else {
			own := *c.Sandbox
			c.Sandbox = &own
		}
		if s.Level == "full" {
			c.Sandbox.Level = s.Level
		}
		c.Sandbox.Mask = append(slices.Clip(c.Sandbox.Mask), s.Mask...)
	}
	c.Toolsets = slices.Clone(c.Toolsets)
	for _, t := range other.Toolsets {
		i := slices.IndexFunc(c.Toolsets, func(own Toolset) bool { return own.Name == t.Name })
		if i < 0 {
			c.Toolsets = append(c.Toolsets, t)
			continue
		}
		c.Toolsets[i] = c.Toolsets[i].among(t)
	}
}

// MaskCopy has what is masked below a directory be masked in a copy of it, too.
func (c *Config) MaskCopy(of, dir string) {
	if c.Sandbox == nil {
		return
	}
	own := *c.Sandbox
	own.Mask = slices.Clone(own.Mask)
	for _, path := range c.Sandbox.Mask {
		for _, name := range []string{path, realRoot(path)} {
			if rel, err := filepath.Rel(of, name); err == nil && filepath.IsLocal(rel) && rel != "." {
				own.Mask = append(own.Mask, filepath.Join(dir, rel))
			}
		}
	}
	slices.Sort(own.Mask)
	own.Mask = slices.Compact(own.Mask)
	c.Sandbox = &own
}

// among is what of a toolset another one of that name has, too.
func (t Toolset) among(other Toolset) Toolset {
	tools, places := t.Tools, t.ToolPos
	t.Tools, t.ToolPos = []string{}, nil
	for i, name := range tools {
		if slices.Contains(other.Tools, name) {
			t.Tools, t.ToolPos = append(t.Tools, name), append(t.ToolPos, places[i])
		}
	}
	t.Resources, t.Prompts = both(t.Resources, other.Resources), both(t.Prompts, other.Prompts)
	return t
}

// Restrictive reports whether a configuration restricts anything.
func (c *Config) Restrictive() bool {
	c = c.Inert()
	policy := c.Policy != nil && len(c.Policy.Risks)+len(c.Policy.Permissions)+len(c.Policy.Rules) > 0
	sandbox := c.Sandbox != nil && (c.Sandbox.Level == "full" || len(c.Sandbox.Mask) > 0)
	limits := c.Limits.Output != 0 || c.Limits.Timeout != 0 || c.Limits.Processes != 0 || c.Web.Timeout != 0 ||
		c.Web.MaxSize != 0 || c.Record.Required
	return policy || sandbox || limits || len(c.Toolsets) > 0 || c.Granted != nil || len(c.Workspace.Protect) > 0 ||
		len(c.Further) > 0
}

// both is what is in both lists. Nil is all that there is.
func both[T comparable](a, b []T) []T {
	switch {
	case a == nil:
		return slices.Clone(b) // an empty list grants nothing, and stays one
	case b == nil:
		return slices.Clone(a)
	}
	return slices.DeleteFunc(slices.Clone(a), func(item T) bool { return !slices.Contains(b, item) })
}

// stricter is the lower of two limits. Zero is none.
func stricter[N int | int64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
