package config

import (
	_ "embed"
	"strings"
)

//go:embed template.hcl
var templateText string

// templateMark is where the standard tools go in the template.
const templateMark = "# STANDARD TOOLS\n"

// projectMark is where the blocks for this project go.
const projectMark = "# PROJECT\n\n"

// Template is the agent.hcl that `toolhost init` writes: what was found in the
// project, and every block with an example, as comments, around the text of
// the standard tools.
func Template(standard []byte, found Found) []byte {
	text := strings.TrimSpace(string(standard))
	if text != "" {
		text += "\n"
	}
	text = strings.Replace(templateText, templateMark, text, 1)
	return []byte(strings.Replace(text, projectMark, found.Blocks, 1))
}
