package standard

import _ "embed"

//go:embed standard.hcl
var source []byte

// Source is the text of an agent.hcl that declares what Specs gives, for a
// project to start from. The caller may change what it gets.
func Source() []byte { return append([]byte(nil), source...) }
