package project

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
)

var (
	formOfGrammar = regexp.MustCompile(`(?s)("[^"]+"|fileForm):\s+schema\((.*?)\),\n`)
	wordsInSource = regexp.MustCompile(`"[^"]*"|\w+Attrs`)
	wordsOfConst  = regexp.MustCompile(`const (\w+Attrs) = "([^"]*)"`)
)

// grammarInSource reads from the source of config which attributes and blocks each
// type of block may hold; "" is the file itself.
func grammarInSource(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "*.go"))
	require.NoError(t, err)
	var source strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(data)
	}
	shared := make(map[string]string)
	for _, found := range wordsOfConst.FindAllStringSubmatch(source.String(), -1) {
		shared[found[1]] = found[2]
	}
	all := make(map[string][]string)
	for _, form := range formOfGrammar.FindAllStringSubmatch(source.String(), -1) {
		if strings.Contains(form[1], "lock file") {
			continue
		}
		kind, _, _ := strings.Cut(strings.Trim(form[1], `"`), " ")
		if kind == "fileForm" {
			kind = ""
		}
		for i, word := range wordsInSource.FindAllString(form[2], -1) {
			names := strings.Fields(strings.Trim(word, `"`))
			switch {
			case shared[word] != "":
				names = strings.Fields(shared[word])
			case i > 0 && len(names) == 2 && (names[1] == "name" || names[1] == "names" || names[1] == "role"):
				names = names[:1] // a block and its label
			}
			all[kind] = append(all[kind], names...)
		}
	}
	return all
}

// The generator of random files has all that an agent.hcl may hold: what is added to
// the grammar and not to what it tries fails here.
func TestTrustFilesHaveTheWholeGrammar(t *testing.T) {
	want := grammarInSource(t)
	require.Greater(t, len(want), 30, "forms in the source")
	require.Contains(t, want["record"], "ignore")
	require.Contains(t, want["rule"], "beyond")
	top := whole(t)
	have := make(map[string]map[string]int) // how many values each has
	var walk func(kind string, g *grammar)
	walk = func(kind string, g *grammar) {
		if have[kind] == nil {
			have[kind] = make(map[string]int)
		}
		for name, values := range g.attrs {
			have[kind][name] += len(values)
		}
		for name, inner := range g.blocks {
			have[kind][name]++
			walk(name, inner)
		}
	}
	walk("", top)
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		for _, name := range want[kind] {
			assert.Positive(t, have[kind][name], "no file has %s in %q: no value of candidates fits there", name, kind)
		}
	}
	for path, value := range map[string]string{
		"rule.action": `"review"`, "policy.dangerous": `"review"`, "rule.beyond": `"deny"`, "rule.deletes": "true",
		"record.required": "true", "record.keep": `"24h"`, "record.ignore": `["**"]`, "tool.task": `"x"`,
	} {
		kind, name, _ := strings.Cut(path, ".")
		g := top.blocks[kind]
		if kind == "rule" {
			g = top.blocks["policy"].blocks["rule"]
		}
		assert.Contains(t, g.attrs[name], value, path)
	}
}

// The comparison knows which review is looser than another, or than what asks.
func TestTrustDecisionSeesLooserReviews(t *testing.T) {
	p := newPlace(t)
	f := &trustFuzz{T: t, place: p}
	const five = `rule "r" {
  tool   = "rm"
  action = "review"
  files  = 5
}`
	tests := []struct {
		name, was, is string
		looser        bool
	}{
		{"review, then nothing", `dangerous = "review"`, ``, true},
		{"asked, then reviewed", `dangerous = "ask"`, `dangerous = "review"`, true},
		{"other limits", five, strings.Replace(five, "5", "6", 1), true},
		{"limits instead of a question", `dangerous = "review"`, five, true},
		{"the same", five, five, false},
		{"reviewed, then asked", five, `dangerous = "ask"
safe_write = "ask"
read_only  = "ask"`, false},
		{"reviewed, then denied", `dangerous = "review"`, `dangerous = "deny"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parse := func(block string) *config.Config {
				cfg, diags := config.Parse("agent.hcl", []byte("policy {\n"+block+"\n}\n"), config.LoadOptions{})
				require.False(t, diags.HasErrors(), "%v", diags)
				return cfg
			}
			assert.Equal(t, tt.looser, len(f.decisions(parse(tt.was), parse(tt.is))) > 0)
		})
	}
}
