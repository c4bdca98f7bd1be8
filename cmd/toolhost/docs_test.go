package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/face/export"
)

// TestPages checks what all pages show: each toolhost line in a code block is a valid call, each one in
// the text names an existing command and flags, and each piece of agent.hcl is valid.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	lines, pieces := 0, 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			data, err := os.ReadFile(page)
			require.NoError(t, err)
			text := string(data)
			for _, block := range append(fenced(text, "sh"), sessionLines(fenced(text, ""))...) {
				for _, words := range toolhostCalls(t, block) {
					parsesAsCall(t, words)
					lines++
				}
			}
			for _, match := range regexp.MustCompile("`(toolhost [^`\n]+)`").FindAllStringSubmatch(text, -1) {
				namesCommand(t, strings.Fields(match[1]))
			}
			if filepath.Base(page) == "FLEET.md" {
				return // its hcl is a fleet.hcl, for toolhost-hub
			}
			for _, block := range fenced(text, "hcl") {
				parsesAsConfig(t, block)
				pieces++
			}
		})
	}
	assert.Greater(t, lines, 40)
	assert.Greater(t, pieces, 20)
}

func fenced(page, language string) (blocks []string) {
	blocksOfPage := regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	for _, match := range blocksOfPage.FindAllStringSubmatch(page, -1) {
		if match[1] == language {
			blocks = append(blocks, match[2])
		}
	}
	return blocks
}

// sessionLines returns the typed lines of recorded terminal sessions.
func sessionLines(blocks []string) (lines []string) {
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			if typed, ok := strings.CutPrefix(line, "$ "); ok {
				lines = append(lines, typed)
			}
		}
	}
	return lines
}

// toolhostCalls returns the words of each toolhost call in a script.
func toolhostCalls(t *testing.T, script string) (calls [][]string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	require.NoError(t, err, script)
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "toolhost" {
			words, err := expand.Fields(&expand.Config{Env: expand.ListEnviron(os.Environ()...)}, call.Args...)
			require.NoError(t, err, script)
			calls = append(calls, words)
		}
		return true
	})
	return calls
}

// parsesAsCall checks for an existing command with valid flags and arguments.
func parsesAsCall(t *testing.T, words []string) {
	t.Helper()
	found, rest, err := commandTree().Find(words[1:])
	require.NoError(t, err, words)
	require.True(t, found.HasParent(), "%s names no command", words)
	require.NoError(t, found.ParseFlags(rest), words)
	assert.NoError(t, found.ValidateArgs(found.Flags().Args()), words)
}

func namesCommand(t *testing.T, words []string) {
	t.Helper()
	found, rest, err := commandTree().Find(words[1:])
	require.NoError(t, err, words)
	assert.True(t, found.HasParent(), "%s names no command", words)
	if slices.Contains(rest, "--hub") {
		return // toolhost-hub parses the rest
	}
	for _, word := range rest {
		if name, ok := strings.CutPrefix(word, "--"); ok && !found.DisableFlagParsing {
			assert.NotNil(t, found.Flag(name), "%s has no flag %s", words, word)
		}
	}
}

// parsesAsConfig checks that a piece of agent.hcl is valid. A piece of a tool is put into one.
func parsesAsConfig(t *testing.T, piece string) {
	t.Helper()
	around := map[string]string{
		"option":        "tool \"x\" {\n  passthrough {\n    command = \"x\"\nHERE\n  }\n}\n",
		"params_schema": "tool \"x\" {\nHERE\n}\n",
		"output": "tool \"x\" {\n  param \"to\" { path = \"write\" }\n" +
			"  params_schema = \"{\\\"type\\\":\\\"object\\\"," +
			"\\\"properties\\\":{\\\"to\\\":{\\\"type\\\":\\\"string\\\"}}," +
			"\\\"required\\\":[\\\"to\\\"]}\"\n  command { argv = [\"x\", param.to] }\nHERE\n}\n",
		"ask": "tool \"x\" {\n  param \"to\" { type = string }\nHERE\n}\n",
	}
	word, _, _ := strings.Cut(strings.TrimSpace(piece), " ")
	if frame, ok := around[word]; ok {
		piece = strings.Replace(frame, "HERE", piece, 1)
	}
	env := func(name string) (string, bool) { return "/home/me", !strings.HasPrefix(name, "TOOLHOST_") }
	cfg, diags := config.Parse("agent.hcl", []byte(piece), config.LoadOptions{Env: env})
	assert.NoError(t, diags.Err(), piece)
	for i := range cfg.Tools {
		assert.Empty(t, export.Refused(cfg.Tools[i].Schema()), piece)
	}
}
