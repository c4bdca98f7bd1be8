// Package standard declares the wrappers of every project: head, tail, wc, cloc, cp, mv, rm, touch and mkdir. They
// accept those options of GNU coreutils 9 and cloc 1.9x that can neither reach outside the workspace nor run
// forever.
//
// They are written in standard.hcl. specs.go is its parsed form, since reading HCL would take a third of a start.
package standard

import (
	"bytes"
	_ "embed"
)

//go:embed standard.hcl
var source []byte

// Block returns the text of a wrapper's tool block, for a project to change; nil if there is no such
// wrapper.
func Block(name string) []byte {
	begin := []byte("tool \"" + name + "\" {\n")
	end := []byte("\n}\n")
	start := bytes.Index(source, begin)
	if start < 0 {
		return nil
	}
	length := bytes.Index(source[start:], end)
	return append([]byte(nil), source[start:start+length+len(end)]...)
}

// Source returns the text of an agent.hcl that declares Specs. The caller may change it.
func Source() []byte { return append([]byte(nil), source...) }
