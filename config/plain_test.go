package config

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
)

var plainFiles = []string{
	"", "\n\n", "  \n", "\t# a { [ (\n", "// x\r\n", "# ü\n \na = 1", "plugin \"a\" {\n  source = \"./a b\"\n}\n",
	"a {\nb \"c\" \"d\" {\ne = 12\n}\n}", "a = true\nb=false\n\tc\t=\t\"\" \t\n\n", "a{\n}\nb \"\"{\r\n  x=\"y\"\r\n  # z\r\n  }  \r\n \t",
	"a = 007\na_1 = 123456789012345678\nT = \"true\"\n", strings.Repeat("a {\n", 8) + strings.Repeat("}\n", 8),
}

func TestPlain(t *testing.T) {
	for _, src := range plainFiles {
		_, ok := parsePlain([]byte(src), "f")
		assert.True(t, ok, "%q", src)
		comparePlain(t, []byte(src))
	}
	for _, src := range []string{
		"a = [1]", "a = \"${b}\"", "a = \"%{if b}\"", "a = \"\\u0041\"", "a = b", "a = 1 + 1", "a = \"b\" # c", "a {", "}", "a { b = 1 }", "a = <<E\nE",
		"/* a", "a = \"ü\"", "a = -1", "a = 12345678901234567890", "é = 1", "a = \"b", "a \"b", strings.Repeat("a {\n", 9) + strings.Repeat("}\n", 9), "a = \"b\" \"c\"", "= 1", "a =",
		"a = 1\na = 2\n", "a\n", "a b {\n}\n", "a {}\n", "a = 1.5", "# no end", "#\xec0\n", "# \r \n", "a = 1\r", "1 {\n}\n", "a = trues", "a \"$\" {\n}\n",
	} {
		_, ok := parsePlain([]byte(src), "f")
		assert.False(t, ok, "%q", src)
	}
}

// Mistakes in a plain file are told as in any other.
func TestMistakesInAPlainFile(t *testing.T) {
	const plain = `workspace {
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
	_, ok := parsePlain([]byte(plain), "agent.hcl")
	assert.True(t, ok)
	_, ok = parsePlain([]byte(plain+"/**/"), "agent.hcl")
	assert.False(t, ok)
	var texts [2]strings.Builder
	for i, src := range []string{plain, plain + "/**/"} {
		_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
		assert.Len(t, diags, 8) // a misspelt source is not missing as well
		assert.NoError(t, diags.Write(&texts[i], false))
	}
	assert.Equal(t, texts[1].String(), texts[0].String())
	assert.Contains(t, texts[0].String(), `on agent.hcl:5:3, in plugin "a b":`)
}

// comparePlain compares with the parser of all of HCL, where src is plain.
func comparePlain(t *testing.T, src []byte) {
	got, ok := parsePlain(src, "f")
	if !ok {
		return
	}
	tokens, _ := hclsyntax.LexConfig(src, "f", hcl.InitialPos)
	if diag := new(guard).checkTokens(tokens); diag != nil {
		t.Fatalf("%q: %s", src, diag.Error())
	}
	want, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%q: %s", src, diags)
	}
	assert.Equal(t, want.Body, got.Body, "%q", src)
	assert.Equal(t, want.Bytes, got.Bytes)
	type context interface{ ContextString(int) string }
	for i := 0; i < len(src); i += 1 + len(src)/16 {
		assert.Equal(t, want.Nav.(context).ContextString(i), got.Nav.(context).ContextString(i))
	}
}

// What is taken for plain is read as the parser of all of HCL reads it.
func FuzzPlain(f *testing.F) {
	for _, src := range plainFiles {
		f.Add([]byte(src))
	}
	f.Fuzz(comparePlain)
}
