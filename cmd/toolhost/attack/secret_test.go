package attack

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// odd is a secret that JSON can encode in many ways.
const odd = "pä\"ss\\word/x&y"

// saysOdd is a tool that prints the secret as JSON encoders do.
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

// unescaped removes one layer of JSON escapes.
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

// Escaping does not reveal a secret.
func TestEscapedSecrets(t *testing.T) {
	t.Parallel()
	a := newArena(t,
		map[string]string{"agent.hcl": strings.ReplaceAll(saysOdd, "SECRET", `env = { ODD = env("ODD") }`)})
	a.arm()
	r := onCommandLine(t, a, []string{"ODD=" + odd}, "",
		attack{group: "secrets", name: "escaped", tool: "say", params: `{}`, want: []string{""}})
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

// saysLonger is a server that fails with a secret that begins like another.
const saysLonger = `
mcp "up" {
  command = ["sh", "-c", "echo failed with $LONGER >&2; exit 1"]
  env     = { SHORT = VALUE_SHORT, LONGER = VALUE_LONGER }
}
`

// A secret that begins like another is redacted completely.
func TestOverlappingSecrets(t *testing.T) {
	t.Parallel()
	const short, rest = "hunter2", "-and-the-rest-of-a-longer-token"
	env := []string{"SHORT=" + short, "LONGER=" + short + rest}
	run := func(values ...string) string {
		a := newArena(t, map[string]string{"agent.hcl": strings.NewReplacer(values...).Replace(saysLonger)})
		a.arm()
		out, _ := a.run(env, "list")
		return out
	}
	out := run("VALUE_SHORT", `env("SHORT")`, "VALUE_LONGER", `env("LONGER")`)
	assert.Contains(t, out, "failed with [redacted]")
	assert.NotContains(t, out, rest)
	var found []violation
	if strings.Contains(run("VALUE_SHORT", `"no secret"`, "VALUE_LONGER", `"`+short+rest+`"`), rest) {
		found = append(found, violation{checkSecret, rest})
	}
	control(t, "secrets", "what a server fails with", checkSecret, found)
}
