package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// What stays just below the bounds takes bounded time and stack.
func TestNearBounds(t *testing.T) {
	testneed.NotShort(t, "tries hostile inputs of many sizes")
	tool := func(params, item string) string {
		return "tool \"x\" {\n description = \"x\"\n" + params + "\n command { argv = [\"x\", " + item + "] }\n}\n"
	}
	deep := func(open, middle, shut string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	local := func(expr string) string { return "locals { a = " + expr + " }\n" }
	cases := map[string]string{
		"negations":         local(deep("!", "true", "", 9900)),
		"minuses":           local(deep("-", "1", "", 9900)),
		"sums":              local(deep("1+", "1", "", 9900)),
		"conditionals":      local(deep("true?1:", "1", "", 9900)),
		"nested":            local(deep("true?", "1", ":1", 9900)),
		"indexes":           "locals {\n l=[0]\n a = " + deep("", "local.l", "[local.l[0]]", 4000) + "\n}\n",
		"splats":            local(deep("", "[1]", "[*]", 4900)),
		"if directives":     local("\"" + deep("%{if true}", "x", "%{endif}", 4900) + "\""),
		"calls":             local(deep("upper(", "\"x\"", ")", 90)),
		"argv conditionals": tool("param \"p\" { type = bool }", deep("param.p ? \"a\" : ", "\"b\"", "", 3300)),
		"argv nested":       tool("param \"p\" { type = bool }", deep("param.p ? ", "\"b\"", " : \"a\"", 3300)),
		"argv constants":    tool("", deep("true ? \"a\" : ", "\"b\"", "", 9900)),
		"argv false":        tool("", deep("false ? \"a\" : ", "\"b\"", "", 9900)),
		"argv directives": tool("param \"p\" { type = bool }",
			"\""+deep("%{if param.p}", "x", "%{endif}", 2400)+"\""),
		"argv negations": tool("param \"p\" { type = bool }", deep("!", "param.p", "", 9000)+" ? \"a\" : \"b\""),
		"interpolations": tool("param \"p\" {}", "\""+strings.Repeat("${param.p}x", 4000)+"\""),
		"many args":      tool("param \"p\" {}", strings.Repeat("\"a\", ", 30_000)+"param.p"),
		"many params":    tool(manyBlocks("param \"p%d\" {}\n", 9000), "\"a\""),
		"many options": "tool \"x\" {\ndescription = \"d\"\npassthrough {\ncommand = \"x\"\n" +
			manyBlocks("option \"--o%d\" {}\n", 8000) + "}\n}\n",
		"many tools": "toolset \"x\" {\ntools = [" + manyBlocks("\"t%d\",", 10000) + "]\nrename = {" +
			manyBlocks("t%d = \"x\",", 9000) + "}\n}\n",
		"many variables":  manyBlocks("variable \"v%d\" { default = 1 }\n", 7000),
		"many locals":     "locals {\n" + manyBlocks("v%d = 1\n", 20000) + "}\n",
		"chain of locals": "locals {\nv0 = 1\n" + chain(4000) + "}\n",
		"many references": "locals {\na = \"x\"\nb = \"" + strings.Repeat("${local.a}", 4900) + "\"\n}\n",
		"many env":        "mcp \"x\" {\ncommand = [" + manyBlocks("env(\"HOME%d\"),", 4900) + "]\n}\n",
		"many keys":       "mcp \"x\" {\ncommand = [\"x\"]\nenv = {" + manyBlocks("k%d = \"x\",", 15000) + "}\n}\n",
		"many labels": "plugin \"p\" {\nsource = \"x\"\nconfig {\n" + manyBlocks("b \"l%d\" {}\n", 8000) +
			"}\n}\n",
		"many blocks":        "plugin \"p\" {\nsource = \"x\"\nconfig {\n" + manyBlocks("b%d {}\n", 8000) + "}\n}\n",
		"long mistakes":      "web { allow = [" + strings.Repeat("\"//\",", 30_000) + "] }",
		"unknown references": local("[" + manyBlocks("local.x%d,", 4900) + "]"),
		"misspelt": "locals {\n" + manyBlocks("name%d = 1\n", 10000) + "\nz = [" +
			strings.Repeat("local.nam,", 4000) + "]\n}\n",
	}
	for name, src := range cases {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(src), maxSize)
			start := time.Now()
			cfg, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: env(map[string]string{})})
			parsed := time.Since(start)
			var b strings.Builder
			require.NoError(t, diags.Write(&b, false))
			cfg.Grants()
			for _, p := range cfg.Plugins {
				p.Config.JSON(nil)
			}
			assert.Less(t, time.Since(start), time.Minute)
			first := "-"
			if len(diags) > 0 {
				first = diags[0].Summary + " " + diags[0].Detail
			}
			t.Log(parsed, time.Since(start)-parsed, len(src), len(diags), b.Len(), first[:min(len(first), 80)])
		})
	}
}

func manyBlocks(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d = local.v%d\n", i+1, i)
	}
	return b.String()
}
