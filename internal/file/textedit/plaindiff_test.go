package textedit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func realDiff(t *testing.T, old, new string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte(old), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte(new), 0o644))
	cmd := exec.Command("diff", append(args, "a", "b")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := cmd.ProcessState.ExitCode(); exit > 1 {
		require.NoError(t, err, out.String())
	}
	return out.String()
}

func pairs() map[string][2]string {
	return map[string][2]string{
		"equal":                 {"a\nb\n", "a\nb\n"},
		"one line changed":      {"a\nb\nc\n", "a\nB\nc\n"},
		"line added":            {"a\nc\n", "a\nb\nc\n"},
		"line removed":          {"a\nb\nc\n", "a\nc\n"},
		"first empty":           {"", "a\nb\n"},
		"second empty":          {"a\nb\n", ""},
		"no newline at the end": {"a\nb", "a\nc"},
		"newline at the end":    {"a\nb", "a\nb\n"},
		"newline gone":          {"a\nb\n", "a\nb"},
		"far apart": {numberedLines(40, 0),
			strings.Replace(strings.Replace(numberedLines(40, 0), "line 3\n", "LINE 3\n", 1), "line 35\n", "", 1)},
		"repeated lines":         {"x\n}\n\nx\n}\n", "x\n}\n\nx\n}\n\nx\n}\n"},
		"tabs":                   {"a\tb\n\tc\n", "a\tB\n\tc\td\n"},
		"long lines":             {strings.Repeat("long ", 60) + "\nb\n", strings.Repeat("Long ", 60) + "\nb\n"},
		"not ASCII":              {"grün\nblau\n", "grün\nblaü\n"},
		"blank lines":            {"a\n\nb\n", "a\n\n\nb\n"},
		"all different":          {"a\nb\nc\n", "1\n2\n3\n4\n"},
		"carriage return at end": {"a\r\nb\r\n", "a\nb\r\n"},
	}
}

func numberedLines(n, from int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", from+i)
	}
	return b.String()
}

func TestUnifiedIsWhatDiffPrints(t *testing.T) {
	testneed.Program(t, "diff")
	for name, pair := range pairs() {
		for _, context := range []int{0, 1, 3, 10} {
			t.Run(fmt.Sprintf("%s/%d", name, context), func(t *testing.T) {
				want := realDiff(t, pair[0], pair[1], "--label", "a", "--label", "b", fmt.Sprintf("-U%d", context))
				assert.Equal(t, want, textedit.Unified("a", "b", []byte(pair[0]), []byte(pair[1]), context))
			})
		}
	}
}

func TestSideBySideIsWhatDiffPrints(t *testing.T) {
	testneed.Program(t, "diff")
	for name, pair := range pairs() {
		if name == "carriage return at end" || name == "not ASCII" {
			continue // diff's columns depend on the locale, and a carriage return restarts them
		}
		for _, width := range []int{130, 80, 41, 20} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				want := realDiff(t, pair[0], pair[1], "-y", "-t", fmt.Sprintf("-W%d", width))
				assert.Equal(t, want, textedit.SideBySide([]byte(pair[0]), []byte(pair[1]), width))
			})
		}
	}
}

// Real texts are edited at random places.
func TestUnifiedOfEditedFiles(t *testing.T) {
	testneed.Program(t, "diff")
	source, err := os.ReadFile("replace.go")
	require.NoError(t, err)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := strings.SplitAfter(string(source), "\n")
		for range 1 + r.IntN(12) {
			at := r.IntN(len(lines) - 1)
			switch r.IntN(3) {
			case 0:
				lines[at] = fmt.Sprintf("changed %d\n", r.IntN(1000))
			case 1:
				lines = append(lines[:at:at], lines[at+1:]...)
			default:
				lines = append(lines[:at:at], append([]string{lines[r.IntN(len(lines)-1)]}, lines[at:]...)...)
			}
		}
		edited := strings.Join(lines, "")
		want := realDiff(t, string(source), edited, "-u", "--label", "a", "--label", "b")
		assert.Equal(t, want, textedit.Unified("a", "b", source, []byte(edited), 3), "seed %d", seed)
	}
}
