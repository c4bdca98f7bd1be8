package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSeveralMistakes(t *testing.T) {
	const src = `workspace {
  root = 5
}
plugin "a b" {
  sauce = "x"
  timeout = "soon"
}
plugin {
  source = "./x"
}
plugin "c" {
  source = "./x"
  config {
    a = true
  }
  config {
  }
}
plugin "c" {
  source = "https://x"
}
server "x" {
}
`
	var text strings.Builder
	_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
	assert.Len(t, diags, 9)
	assert.NoError(t, diags.Write(&text, false))
	assert.Contains(t, text.String(), `on agent.hcl:5:3, in plugin "a b":`)
}
