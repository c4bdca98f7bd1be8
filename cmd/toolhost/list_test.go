package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestRowsAreWrittenAsByATabwriter(t *testing.T) {
	rows := [][4]string{
		{"NAME", "SOURCE", "RISK", "DESCRIPTION"}, {"a", "plugin ü", "", "Do  it."},
		{"a_longer_name", "", "read_only", ""}, {"日本", "x", "y", "日本"},
	}
	var want, got bytes.Buffer
	w := tabwriter.NewWriter(&want, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r[0], r[1], r[2], r[3])
	}
	require.NoError(t, w.Flush())
	out := bufio.NewWriter(&got)
	writeRows(out, rows)
	require.NoError(t, out.Flush())
	assert.Equal(t, want.String(), got.String())
}

// TestLinesFitATerminal cuts only what is too long for a line, by characters and not by bytes.
func TestLinesFitATerminal(t *testing.T) {
	for _, c := range []struct {
		width      int
		text, want string
	}{
		{0, "a long line\nb  \n", "a long line\nb  \n"},
		{7, "a long line\nshort\n", "a long…\nshort\n"},
		{7, "1234567\n12345678\n\n", "1234567\n123456…\n\n"},
		{4, "äöüß\näöüßx", "äöüß\näöü…"},
		{5, "abc       \n", "abc\n"},
		{1, "ab\n", "…\n"},
	} {
		var got bytes.Buffer
		require.NoError(t, writeFitting(&got, []byte(c.text), c.width))
		assert.Equal(t, c.want, got.String(), "%q at %d", c.text, c.width)
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text          string
		width, margin int
		want          string
	}{
		{"one two three", 0, 4, "one two three"},
		{"one two three", 22, 10, "one two three"}, // too narrow
		{"alpha beta gamma delta", 30, 10, "alpha beta gamma\n          delta"},
		{"a line\nand another one of them", 30, 8, "a line\nand another one of\n        them"},
		{strings.Repeat("x", 40) + " y", 30, 2, strings.Repeat("x", 40) + "\n  y"},
	} {
		assert.Equal(t, c.want, wrapped(c.text, c.width, c.margin), "%q", c.text)
	}
}

// TestListOnANarrowTerminal keeps each tool on one line.
func TestListOnANarrowTerminal(t *testing.T) {
	testneed.Program(t, "script")
	testneed.Program(t, "stty")
	cmd := exec.Command("script", "-qefc", "stty cols 60; exec toolhost list", os.DevNull)
	cmd.Dir = t.TempDir()
	cmd.Env = append(environment(t.TempDir()), "TERM=xterm", "SHELL=/bin/sh",
		"PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n")
	assert.Greater(t, len(lines), 20)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 60, line)
	}
	assert.Regexp(t, `^[0-9]+ tools, about [0-9]+ tokens`, lines[len(lines)-1])
}
