package config

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSuspect: what is valid and hardly meant is warned of, at the word that it
// is about, and what looks like it and is meant is not.
func TestSuspect(t *testing.T) {
	for name, tt := range map[string]struct {
		argv, more string
		summary    string // "" for no warning
		column     int
	}{
		"shell": {argv: `["bash", "-c", "ls ${param.d}"]`, summary: "Parameter inside code", column: 27},
		"shell, by its path": {argv: `["env", "/bin/sh", "-ec", "ls ${param.d}"]`, summary: "Parameter inside code",
			column: 38},
		"python": {argv: `["python3", "-c", "print('${param.d}')"]`, summary: "Parameter inside code",
			column: 30},
		"node": {argv: `["node", "--eval", "f('${param.d}')"]`, summary: "Parameter inside code",
			column: 31},
		"passed on":           {argv: `["bash", "-c", "ls \"$1\"", "bash", param.d]`},
		"one of a list":       {argv: `["bash", "-c", "ls ${param.d}"]`, more: `enum = ["a"]`},
		"by a pattern":        {argv: `["bash", "-c", "ls ${param.d}"]`, more: `pattern = "^[a-z]+$"`},
		"a number":            {argv: `["bash", "-c", "seq ${param.d}"]`, more: `type = integer`},
		"no code":             {argv: `["rg", "-c", "x${param.d}"]`},
		"an option of python": {argv: `["python3", "-m", "x${param.d}"]`},
		"a pipe":              {argv: `["ls", param.d, "|", "wc"]`, summary: "Shell operator", column: 28},
		"a redirection":       {argv: `["ls", param.d, ">", "x"]`, summary: "Shell operator", column: 28},
		"an own operator":     {argv: `["expr", param.d, "|", "1"]`},
		"no braces":           {argv: `["ls", "x/$param.d"]`, summary: "Reference without braces", column: 19},
		"of a variable":       {argv: `["ls", "$var.v", param.d]`, summary: "Reference without braces", column: 19},
		"a shell's variable":  {argv: `["sh", "-c", "echo $var.txt", param.d]`},
		"escaped":             {argv: `["echo", "$${param.d}", param.d]`},
		"bare list":           {argv: `["ls", param.d]`, more: `type = list`, summary: "List of what", column: 22},
		"code in quotes": {argv: `["ls", param.d]
  success = ["0"]`, summary: "Number in quotes", column: 14},
	} {
		t.Run(name, func(t *testing.T) {
			src := fmt.Sprintf("variable \"v\" { default = \"x\" }\ntool \"x\" {\n"+
				"  description = \"x. Returns: y.\"\n  param \"d\" { %s }\n  command {\n    argv = %s\n}\n}\n", tt.more, tt.argv)
			_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
			assert.False(t, diags.HasErrors(), "%v", diags.Err())
			if tt.summary == "" {
				assert.Empty(t, diags)
				return
			}
			if assert.Len(t, diags, 1) {
				assert.Equal(t, "warning", diags[0].Severity)
				assert.Equal(t, tt.summary, diags[0].Summary)
				assert.Equal(t, tt.column, diags[0].Column)
				assert.NotEmpty(t, diags[0].Suggestion)
			}
		})
	}
}
