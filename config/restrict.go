package config

import (
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
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
	for _, t := range other.Toolsets {
		if !slices.ContainsFunc(c.Toolsets, func(own Toolset) bool { return own.Name == t.Name }) {
			c.Toolsets = append(slices.Clip(c.Toolsets), t)
		}
	}
}

// Restrictive reports whether a configuration restricts anything.
func (c *Config) Restrictive() bool {
	c = c.Inert()
	policy := c.Policy != nil && len(c.Policy.Risks)+len(c.Policy.Permissions)+len(c.Policy.Rules) > 0
	sandbox := c.Sandbox != nil && (c.Sandbox.Level == "full" || len(c.Sandbox.Mask) > 0)
	limits := c.Limits.Output != 0 || c.Limits.Timeout != 0 || c.Limits.Processes != 0 || c.Web.Timeout != 0 || c.Web.MaxSize != 0
	return policy || sandbox || limits || c.Granted != nil || len(c.Workspace.Protect) > 0 || len(c.Further) > 0
}

// both are the permissions that are in both lists. Nil is all of them.
func both(a, b []tool.Permission) []tool.Permission {
	if a == nil || b == nil {
		return append(slices.Clone(a), b...)
	}
	return slices.DeleteFunc(slices.Clone(a), func(p tool.Permission) bool { return !slices.Contains(b, p) })
}

// stricter is the lower of two limits. Zero is none.
func stricter[N int | int64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
