package host

import (
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// LeftOut is a tool, resource or prompt that is not offered, or not as declared, and why.
type LeftOut struct {
	// Name is the name that it would have.
	Name   string
	Source string
	Err    *tool.Error
}

// Foreign marks the source of others: a plugin or another MCP server, which may change its tools at any time. A
// foreign tool whose name is taken is left out and reported; two other tools of the same name are an error.
//
// A tool that admit returns an error for is left out. Nil admits all.
func Foreign(source Source, admit func(tool.Tool) *tool.Error) Source { return foreign{source, admit} }

type foreign struct {
	Source
	admit func(tool.Tool) *tool.Error
}

// refusal returns why a tool of source is not offered, or nil.
func refusal(source Source, t tool.Tool) *tool.Error {
	if f, ok := find[foreign](source); ok && f.admit != nil {
		return f.admit(t)
	}
	return nil
}

func (f foreign) KnownTools() ([]tool.Tool, bool) { return known(f.Source) }

func isForeign(source Source) bool {
	_, ok := find[foreign](source)
	return ok
}

// wrapper is a source that changes another one.
type wrapper interface{ wrapped() Source }

func (f foreign) wrapped() Source  { return f.Source }
func (p prefixed) wrapped() Source { return p.Source }
func (o offering) wrapped() Source { return o.Source }

// find returns the first T among a source and those that it wraps.
func find[T any](source Source) (found T, ok bool) {
	for {
		if found, ok = source.(T); ok {
			return found, true
		}
		w, wraps := source.(wrapper)
		if !wraps {
			return found, false
		}
		source = w.wrapped()
	}
}

// prefixOf returns the prefixes that a source and those that it wraps put before names.
func prefixOf(source Source) string {
	p, ok := find[prefixed](source)
	if !ok {
		return ""
	}
	return p.prefix + prefixOf(p.Source)
}

// ownFirst orders own tools before foreign ones, so that they keep their names.
func ownFirst(a, b Source) int {
	switch {
	case isForeign(a) == isForeign(b):
		return 0
	case isForeign(a):
		return 1
	}
	return -1
}

func (c *Catalog) leaveOut(name string, from Source, why *tool.Error) {
	c.leftOut = append(c.leftOut, LeftOut{name, from.Name(), why})
}

// Warnings returns what is to be known of offered tools.
func (c *Catalog) Warnings() []LeftOut { return c.warnings }

func (c *Catalog) isLeftOut(name string) bool {
	return slices.ContainsFunc(c.leftOut, func(l LeftOut) bool { return l.Name == name })
}

func nameTaken(kind, name string, from Source, other string) *tool.Error {
	return tool.Errorf(tool.Conflict, "the %s %q of %s is left out: %s has one of that name", kind, name, from.Name(),
		other).
		Suggest("To have both, give one another name: in agent.hcl set prefix in the block of %s, or use rename in "+
			"a toolset block.", from.Name())
}
