package host

import (
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// maxName is the length that model APIs allow for a tool's name.
const maxName = 64

// PortableName returns the name of a tool for models: its own, if it is at most 64 of the characters A-Z a-z
// 0-9 _ and -, which every model API accepts. Otherwise it is truncated and ends with 8 characters derived from
// the whole name.
func PortableName(name string) string { return tool.PortableName(name, maxName) }

// MaxForeignName leaves room for the prefixes of clients: the longest, "mcp__toolhost__", has 15 characters,
// and model APIs refuse a request for one name that is too long.
const MaxForeignName = 48

// foreignName is PortableName for a tool that agent.hcl does not name itself.
func foreignName(name string) string { return tool.PortableName(name, MaxForeignName) }

// Offered reports whether a name in a toolset can be one of known.
func Offered(name string, known []string) bool {
	return slices.Contains(known, PortableName(name)) || slices.Contains(known, foreignName(name))
}
