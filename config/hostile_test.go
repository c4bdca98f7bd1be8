package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// hostile are files that would exhaust the machine if simply parsed and evaluated. Each must be refused.
func hostile() map[string]string {
	deep := func(open, middle, shut string, n int) string {
		return "locals {\n  a = " + strings.Repeat(open, n) + middle + strings.Repeat(shut, n) + "\n}\n"
	}
	doubling := func(format string) string {
		var b strings.Builder
		b.WriteString("locals {\n  a0 = \"xxxxxxxxxxxxxxxx\"\n")
		for i := range 60 {
			fmt.Fprintf(&b, "  a%d = "+format+"\n", i+1, i)
		}
		return b.String() + "}\n"
	}
	list := "[" + strings.Repeat("1,", 9000) + "1]"
	return map[string]string{
		"too large":           "# " + strings.Repeat("x", maxSize),
		"brackets":            deep("[", "1", "]", 60_000),
		"unclosed brackets":   deep("[", "1", "", 60_000),
		"parentheses":         deep("(", "1", ")", 60_000),
		"objects":             deep("{a=", "1", "}", 60_000),
		"calls":               deep("f(", "1", ")", 60_000),
		"templates":           deep(`"${`, "1", `}"`, 50_000),
		"unclosed templates":  deep(`"${`, "1", "", 60_000),
		"blocks":              strings.Repeat("a {\n", 40_000) + strings.Repeat("}\n", 40_000),
		"heredocs":            deep("<<A\n${", "1", "}\nA\n", 20_000),
		"negations":           deep("!", "true", "", 250_000),
		"minuses":             deep("-", "1", "", 250_000),
		"sums":                deep("1+", "1", "", 120_000),
		"conditionals":        deep("true?1:", "1", "", 35_000),
		"nested conditionals": deep("true?", "1", ":1", 35_000),
		"indexes":             deep("", "x", "[y]", 80_000),
		"splats":              deep("", "x", "[*]", 80_000),
		"attributes":          deep("", "x", ".a", 120_000),
		"if directives": "locals {\n  a = \"" + strings.Repeat("%{if true}", 14_000) +
			strings.Repeat("%{endif}", 14_000) + "\"\n}\n",
		"for in for": "locals {\n  l = " + list +
			"\n  a = [for x in local.l : [for y in local.l : [for z in local.l : x]]]\n}\n",
		"for in object":       "locals {\n  a = {\n# c\n  for x in [1] : x => [\n  for y in [1] : y] }\n}\n",
		"for directives":      "locals {\n  a = \"%{for x in [1]}%{for y in [1]}z%{endfor}%{endfor}\"\n}\n",
		"for in directive":    "locals {\n  a = \"%{~ for x in [1] }${[for y in [1] : y]}%{endfor}\"\n}\n",
		"costly for":          "locals {\n  l = " + list + "\n  a = [for x in local.l : local.l]\n}\n",
		"doubling":            doubling(`"${local.a%[2]d}${local.a%[2]d}"`),
		"doubling by replace": doubling(`replace(local.a%[2]d, "x", "xx")`),
		"doubling by join":    doubling(`join(local.a%[2]d, [local.a%[2]d, local.a%[2]d])`),
		"doubling by format":  doubling(`format("%%s%%s", local.a%[2]d, local.a%[2]d)`),
		"doubling lists":      doubling(`[local.a%[2]d, local.a%[2]d]`),
		"doubling by concat": "locals {\n  l = [1,1,1,1]\n}\n" +
			strings.ReplaceAll(doubling(`concat(local.a%[2]d, local.a%[2]d)`), `"xxxxxxxxxxxxxxxx"`, "[1]"),
		"replace everything": "locals {\n  x = \"" + strings.Repeat("x", 250_000) +
			"\"\n  a = replace(local.x, \"x\", local.x)\n}\n",
		"wide format":    "locals {\n  a = format(\"%999999999d\", 1)\n}\n",
		"wide precision": "locals {\n  a = format(\"%.999999999f\", 1)\n}\n",
		"many lines":     "locals {\n  a = <<A\n" + strings.Repeat("x\n", 120_000) + "A\n}\n",
		"many lines and more": "locals {\n  a = <<A\n" + strings.Repeat("\n\n${1}", 9_000) +
			strings.Repeat("x\n", 80_000) + "A\n}\n",
		"many signs":         "locals {\n  a = \"" + strings.Repeat("$ ", 120_000) + "\"\n}\n",
		"exponent":           "locals {\n  a = \"${1e100000000}\"\n}\n",
		"negative exponent":  "locals {\n  a = \"x${1e-100000000}\"\n}\n",
		"exponent in a text": "locals {\n  a = \"x${tonumber(\"1e100000000\")}\"\n}\n",
		"exponent of a text": "locals {\n  e = \"1e\"\n  a = format(\"%d\", \"${local.e}100000000\")\n}\n",
		"exponent converted": "locals {\n  a = \"x${-\"1e100000000\"}\"\n}\n",
		"exponent by a sum":  "locals {\n  a = \"x${\"1e100000000\" + 0}\"\n}\n",
		"powers":             "locals {\n  a0 = 1e99\n" + powers(40) + "  z = \"x${local.a40}\"\n}\n",
		"powers in a text":   "locals {\n  a = \"x${1" + strings.Repeat(" * 1e99", 9000) + "}\"\n}\n",
		"circle":             "locals {\n  a = local.b\n  b = local.a\n}\n",
	}
}

func powers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d = local.a%d * local.a%d\n", i+1, i, i)
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	testneed.NotShort(t, "tries hostile inputs of many sizes")
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, name == "too large", len(src) > maxSize, "%d bytes", len(src))
			refused(t, "agent.hcl", src)
		})
	}
}

// refused parses src, which must be refused, in bounded time and with few and short words.
func refused(t *testing.T, name, src string) {
	t.Helper()
	start := time.Now()
	_, diags := Parse(name, []byte(src), LoadOptions{Env: noEnv})
	elapsed := time.Since(start)
	assert.True(t, diags.HasErrors())
	assert.LessOrEqual(t, len(diags), maxDiagnostics+1)
	// Some 300 times what it takes, for slow and busy machines and the race detector.
	assert.Less(t, elapsed, time.Minute)
	t.Log(elapsed, len(src), diags[0].Summary)
}

// A large valid file passes.
func TestLarge(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `
			tool "tool_%d" {
			  description = "Count lines. Returns: a line per file."
			  risk        = "read_only"
			  param "dir" { default = "." }
			  command { argv = ["wc", "-l", "${param.dir}/x", param.dir] }
			}`, i)
	}
	b.WriteString("\nlocals {\n  text = <<A\n" + strings.Repeat("a line of text\n", 2000) + "A\n}\n")
	cfg := parse(t, "agent.hcl", b.String(), LoadOptions{})
	assert.Len(t, cfg.Tools, 300)
}

// A text has 10,000 lines, and no more; what stands in ${} is not one of its lines.
func TestLinesOfAText(t *testing.T) {
	for _, c := range []struct {
		lines string
		fits  bool
	}{
		{strings.Repeat("x\n", 10_000), true},
		{strings.Repeat("x\n", 10_001), false},
		{strings.Repeat("x\n", 9_998) + "x${\"y\"}z\n", true},
	} {
		_, diags := Parse("agent.hcl", []byte("locals {\n  a = <<A\n"+c.lines+"A\n}\n"), LoadOptions{Env: noEnv})
		if c.fits {
			assert.NoError(t, diags.Err())
			continue
		}
		require.Len(t, diags, 1)
		assert.Equal(t, "Text too long", diags[0].Summary)
		assert.Contains(t, diags[0].Detail, "Keep a longer one in a file.")
	}
}

func TestManyMistakes(t *testing.T) {
	_, diags := Parse("agent.hcl", []byte(strings.Repeat("x {}\n", 5000)), LoadOptions{Env: noEnv})
	require.Len(t, diags, maxDiagnostics+1)
	assert.Equal(t, "4900 more from here on are not shown.", diags[maxDiagnostics].Detail)
}

func TestInvalidEncoding(t *testing.T) {
	for _, src := range []string{"a = \"\xff\"", "\xef\xbb\xbfworkspace {}\n\xff", "\x00", "tool \"\xff\" {}",
		"{\"a\":\"\xff\"}"} {
		_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
		assert.True(t, diags.HasErrors(), "%q", src)
	}
	_, diags := Parse("agent.hcl", []byte("\xef\xbb\xbfworkspace { root = \"caf\u0065\u0301\" }\n"),
		LoadOptions{Env: noEnv})
	assert.NoError(t, diags.Err())
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*")
	require.NoError(f, err)
	packs, err := filepath.Glob("packs/*.hcl")
	require.NoError(f, err)
	for _, file := range append(files, packs...) {
		if strings.HasSuffix(file, ".diag") {
			continue
		}
		src, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Add([]byte("locals { a = <<-A\n  ${~ \"x\" ~}\n  A\n}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		cfg, diags := Parse("agent.hcl", src, LoadOptions{Env: env(map[string]string{"HOME": "/home/me"})})
		require.NotNil(t, cfg)
		for _, d := range diags {
			require.NotEmpty(t, d.Summary)
		}
		require.NoError(t, diags.Write(new(strings.Builder), true))
		cfg.Grants()
		for _, p := range cfg.Plugins {
			p.Config.JSON(nil)
		}
		if !diags.HasErrors() {
			CheckExamples(cfg, nil)
		}
		once, diags := Format(src)
		if !diags.HasErrors() {
			twice, diags := Format(once)
			require.NoError(t, diags.Err())
			require.Equal(t, string(once), string(twice))
		}
		require.Less(t, time.Since(start), time.Minute)
	})
}
