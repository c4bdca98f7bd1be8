package config

import (
	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// risks reads the risks of an upstream server's tools, by globs on their names.
func (b block) risks(to *map[string]tool.Risk) {
	for _, e := range b.entries("risk") {
		risk := tool.Risk(e.value)
		switch {
		case e.key == "" || !doublestar.ValidatePattern(e.key):
			b.fail(e.at, "Invalid glob", "Check its brackets and braces.", "%q is no glob.", e.key)
		case !risk.Valid():
			b.fail(e.at, "Invalid risk", "The risks are read_only, safe_write and dangerous.", "%q is none.", e.value)
		default:
			if *to == nil {
				*to = make(map[string]tool.Risk)
			}
			(*to)[e.key] = risk
		}
	}
}
