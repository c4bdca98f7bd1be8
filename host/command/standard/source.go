package standard

import (
	"bytes"
	_ "embed"
)

//go:embed standard.hcl
var source []byte

// Source is the text of an agent.hcl that declares what Specs gives, for a
// project to start from. The caller may change what it gets.
func Source() []byte { return append([]byte(nil), source...) }

// Block is the text of the tool block of a wrapper, for a project to change;
// nil where there is no wrapper of that name.
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
