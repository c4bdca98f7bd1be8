package attack

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// odd is a secret that JSON writes in many ways.
const odd = "pä\"ss\\word/x&y"

// saysOdd is a tool that has the secret and prints it as writers of JSON do.
const saysOdd = `
tool "say" {
  description = "Say it. Returns: JSON."
  risk        = "read_only"
  command {
    argv = ["printf", "%s", "{\"a\":\"p\\u00e4\\\"ss\\\\word/x&y\",\"b\":\"p\\u00E4\\u0022ss\\u005cword\\/x\\u0026y\"}"]
    SECRET
  }
}
`

var anyEscape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// unescaped takes one layer of JSON's escapes off.
func unescaped(text string) string {
	return anyEscape.ReplaceAllStringFunc(text, func(e string) string {
		var plain string
		if json.Unmarshal([]byte(`"`+e+`"`), &plain) != nil {
			return e
		}
		return plain
	})
}

// tells reports whether a text holds the secret under any number of escapes.
func tells(text string) (found []violation) {
	for range 4 {
		if strings.Contains(text, odd) {
			return []violation{{checkSecret, "the secret, escaped"}}
		}
		text = unescaped(text)
	}
	return nil
}

// A secret does not get out by being escaped.
func TestEscapedSecrets(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": strings.ReplaceAll(saysOdd, "SECRET", `env = { ODD = env("ODD") }`)})
	a.arm()
	r := onCommandLine(t, a, []string{"ODD=" + odd}, "", attack{group: "secrets", name: "escaped", tool: "say", params: `{}`, want: []string{""}})
	assert.Contains(t, strings.Join(r.said, ""), "[redacted]")
	assert.Empty(t, tells(strings.Join(r.said, "")), "%s", r.said)
}

func TestEscapedSecretControls(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": strings.ReplaceAll(saysOdd, "SECRET", "")})
	a.arm()
	r := a.cli(nil, "", "say", `{}`)
	control(t, "secrets", "escaped", checkSecret, tells(strings.Join(r.said, "")))
}
