package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// recipes returns the cookbook's pieces of agent.hcl, by their first line.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/COOKBOOK.md")
	require.NoError(t, err)
	found := make(map[string]string)
	for _, block := range fenced(string(page), "hcl") {
		first, _, _ := strings.Cut(block, "\n")
		require.NotContains(t, found, first, "two recipes begin alike")
		found[first] = block
	}
	return found
}

// installed skips the test if a program is missing. The test then uses no program in the user's home:
// confined processes cannot see it, because the test has another home.
func installed(t *testing.T, programs ...string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return len(home) > 1 && strings.HasPrefix(dir, home+string(filepath.Separator))
	})
	t.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator)))
	for _, program := range programs {
		testneed.Program(t, program)
	}
}

// TestCookbook validates every recipe, with its examples and rejects.
func TestCookbook(t *testing.T) {
	for first, recipe := range recipes(t) {
		t.Run(strings.Trim(first, " {"), func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, texts{"agent.hcl": recipe})
			stdout, stderr, code := runIn(t, dir, "validate")
			assert.Zero(t, code, stderr)
			assert.Contains(t, stdout, "is valid")
			_, stderr, code = runIn(t, dir, "fmt", "--check")
			assert.Zero(t, code, stderr)
		})
	}
}

// TestEveryRecipeIsCalled requires a test to name, and thus call, every recipe.
func TestEveryRecipeIsCalled(t *testing.T) {
	var tests strings.Builder
	for _, name := range []string{"cookbook_test.go", "cookbook_linux_test.go"} {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		tests.Write(source)
	}
	for first := range recipes(t) {
		assert.True(t, strings.Contains(tests.String(), "`"+first+"`") ||
			strings.Contains(tests.String(), `"`+first+`"`), first)
	}
}

// TestCookbookRuns calls the recipes with the programs that they wrap.
func TestCookbookRuns(t *testing.T) {
	testneed.NotShort(t, "runs each recipe of the cookbook")
	tests := map[string]struct {
		files texts
		calls [][2]string       // args and output
		fails map[string]string // args and error text
	}{
		`tool "jq" {`: {
			texts{"x.json": `{"a":[1,2],"n":"-5"}`, "more.json": `{"b":3}`},
			[][2]string{
				{"-c .a x.json", "[1,2]\n"},
				{"-c --arg k v '{k: $k}' x.json", "{\"k\":\"v\"}\n"},
				{"-c --slurpfile m more.json '$m[0].b' x.json", "3\n"},
				{"--indent 1 .a x.json", "[\n 1,\n 2\n]\n"},
				{"-c '.a[0], .a[1]' *x.json", "1\n2\n"},
				{"-n -r '\"x\"'", "x\n"},
			},
			map[string]string{
				". /etc/passwd":    "outside",
				"-- -f x.json":     "for an option",
				"--arg k":          "needs 2 values",
				"--from-file p x":  "not among",
				"-L /tmp . x.json": "not among",
			},
		},
	}
	all := recipes(t)
	for recipe, tt := range tests {
		name := strings.Split(recipe, `"`)[1]
		t.Run(name, func(t *testing.T) {
			installed(t, name)
			dir := t.TempDir()
			tt.files["agent.hcl"] = all[recipe]
			plant(t, dir, tt.files)
			for _, call := range tt.calls {
				stdout, stderr, code := runIn(t, dir, "call", name, "args="+call[0])
				require.Zero(t, code, "%s: %s", call[0], stderr)
				assert.Equal(t, call[1], stdout, call[0])
			}
			for args, want := range tt.fails {
				_, stderr, code := runIn(t, dir, "call", name, "args="+args)
				assert.Equal(t, exitFailed, code, args)
				assert.Contains(t, stderr, want, args)
			}
			assert.NoFileExists(t, filepath.Join(filepath.Dir(dir), "app.db"))
		})
	}
}
