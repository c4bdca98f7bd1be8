package config

import (
	_ "embed"
	"strings"
)

//go:embed template.hcl
var templateText string

// templateMark is where the standard tools go in the template.
const templateMark = "# STANDARD TOOLS\n"

// Template is the agent.hcl that `toolhost init` writes: every block with an
// example, as comments, around the text of the standard tools.
func Template(standard []byte) []byte {
	text := strings.TrimSpace(string(standard))
	if text != "" {
		text += "\n"
	}
	return []byte(strings.Replace(templateText, templateMark, text, 1))
}
