package config

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
)

func TestPlain(t *testing.T) {
	for _, yes := range []string{
		"", "\n\n", "# a { [ (\n", "// x\r\n", "plugin \"a\" {\n  source = \"./a b\"\n}\n", "a {\nb \"c\" \"d\" {\ne = 12\n}\n}", "a = true\nb=false\n\tc\t=\t\"\"",
	} {
		assert.True(t, plain([]byte(yes)), "%q", yes)
	}
	for _, no := range []string{
		"a = [1]", "a = \"${b}\"", "a = \"%{if b}\"", "a = \"\\u0041\"", "a = b", "a = 1 + 1", "a = \"b\" # c", "a {", "}", "a { b = 1 }", "a = <<E\nE",
		"/* a", "a = \"ü\"", "a = -1", "a = 12345678901234567890", "é = 1", "a = \"b", "a \"b", strings.Repeat("a {\n", 9) + strings.Repeat("}\n", 9), "a = \"b\" \"c\"", "= 1", "a =",
	} {
		assert.False(t, plain([]byte(no)), "%q", no)
	}
}

// What is taken for plain without looking at its tokens, is nothing that
// looking at them would refuse.
func FuzzPlain(f *testing.F) {
	f.Add([]byte("plugin \"a\" {\n  source = \"./a\"\n}\n"))
	f.Add([]byte("a = 1\n// }\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if !plain(src) {
			return
		}
		tokens, _ := hclsyntax.LexConfig(src, "f", hcl.InitialPos)
		if diag := new(guard).checkTokens(tokens); diag != nil {
			t.Fatalf("%q: %s", src, diag.Error())
		}
	})
}
