package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

func writeManPages(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "man1")
	_, stderr, code := runIn(t, t.TempDir(), "docs", "man", dir)
	require.Zero(t, code, stderr)
	return dir
}

func TestEveryCommandHasAManualPage(t *testing.T) {
	dir, again := writeManPages(t), writeManPages(t)
	pages, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Greater(t, len(pages), 30)
	for _, page := range pages {
		one, err := os.ReadFile(filepath.Join(dir, page.Name()))
		require.NoError(t, err)
		two, err := os.ReadFile(filepath.Join(again, page.Name()))
		require.NoError(t, err)
		assert.Equal(t, string(one), string(two), "the same pages every time")
		// The page names what it points to, and that exists.
		_, also, _ := strings.Cut(string(one), ".SH SEE ALSO\n")
		for _, name := range strings.Split(strings.TrimSpace(also), ", ") {
			assert.FileExists(t,
				filepath.Join(dir, strings.ReplaceAll(strings.TrimSuffix(name, "(1)"), `\-`, "-")+".1"))
		}
	}
	call, err := os.ReadFile(filepath.Join(dir, "toolhost-call.1"))
	require.NoError(t, err)
	for _, want := range []string{".SH NAME\ntoolhost\\-call \\- ", ".B toolhost call\n", `\fB\-\-params\fR`,
		`\fB\-\-workspace\fR`} {
		assert.Contains(t, string(call), want)
	}
}

func TestManualPagesHaveNoMistakes(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	groff := testneed.Program(t, "groff")
	pages, err := filepath.Glob(filepath.Join(writeManPages(t), "*.1"))
	require.NoError(t, err)
	out, err := exec.Command(groff, append([]string{"-man", "-Tascii", "-ww", "-z"}, pages...)...).CombinedOutput()
	assert.NoError(t, err)
	assert.Empty(t, string(out))
}

// What is a command of roff in a description stays text.
func TestManualPageOfAnyText(t *testing.T) {
	page := manPage(&cobra.Command{Use: "x", Short: `.so /etc/passwd`, Long: "'br\n.br \\fBbold\n\n  .nf kept\n  \\",
		Run: func(*cobra.Command, []string) {}})
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ".") {
			assert.Regexp(t, `^\.(TH|SH|B|nf|fi|PP|TP)\b`, line)
		}
		assert.False(t, strings.HasPrefix(line, "'"), line)
	}
	assert.Contains(t, page, `\&.so /etc/passwd`)
	assert.Contains(t, page, `  \&.nf kept`)
}

func TestCompletionsAreTheSameEveryTime(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		one, _, code := runIn(t, t.TempDir(), "completion", shell)
		two, _, _ := runIn(t, t.TempDir(), "completion", shell)
		assert.Zero(t, code, shell)
		assert.Greater(t, len(one), 1000, shell)
		assert.Equal(t, one, two, shell)
	}
}
