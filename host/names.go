package host

import (
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// maxName is the length that model APIs allow for a tool's name.
const maxName = 64

// PortableName is the name under which a tool is offered: its own, where that
// has at most 64 of the characters A-Z a-z 0-9 _ and -, which every model API
// takes. Otherwise it is as much of it as fits, and 8 characters that depend
// on the whole name, so that it is always the same and no other tool's.
func PortableName(name string) string { return tool.PortableName(name, maxName) }

// MaxForeignName is how long a name may be that clients put a prefix before:
// the longest there is, "mcp__toolhost__", has 15 characters, and model APIs
// refuse a whole request for one name that is too long.
const MaxForeignName = 48

// foreignName is PortableName for a tool that the project's agent.hcl does not
// name itself.
func foreignName(name string) string { return tool.PortableName(name, MaxForeignName) }

// Offered reports whether a tool that a toolset names so can be one of known.
func Offered(name string, known []string) bool {
	return slices.Contains(known, PortableName(name)) || slices.Contains(known, foreignName(name))
}
