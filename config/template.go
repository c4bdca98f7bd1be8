package config

import (
	_ "embed"
	"strings"
)

//go:embed template.hcl
var templateText string

// projectMark is where the blocks for this project go.
const projectMark = "# PROJECT\n\n"

// Template is the agent.hcl that `toolhost init` writes: what was found in the
// project, and how to go on.
func Template(found Found) []byte {
	return []byte(strings.Replace(templateText, projectMark, found.Blocks, 1))
}
