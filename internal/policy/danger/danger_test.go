package danger_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy/danger"
)

const root = "/home/me/project"

func commands(t testing.TB) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/commands.txt")
	require.NoError(t, err)
	table := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		class, command, found := strings.Cut(line, " ")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		if unquoted, err := strconv.Unquote(command); err == nil && strings.HasPrefix(command, `"`) {
			command = unquoted
		}
		command = strings.ReplaceAll(command, "CANARYDIR", "/home/me/other")
		table[class] = append(table[class], strings.ReplaceAll(command, "CANARY", "/home/me/other/file"))
	}
	return table
}

func scripts(name string) (string, bool) {
	switch name {
	case root + "/cleanup.sh":
		return "#!/bin/sh\necho cleaning\nrm -rf build\n", true
	case root + "/build.sh":
		return "#!/usr/bin/env bash\ngo build ./...\n", true
	case root + "/env.sh":
		return "export A=b\n", true
	case root + "/farm.sh":
		return "#!/bin/sh\necho animals\n", true
	}
	return "", false
}

func judge(command string) danger.Verdict {
	return danger.Judge(command, danger.Options{Root: root, ReadFile: scripts})
}

func TestTable(t *testing.T) {
	table := commands(t)
	assert.GreaterOrEqual(t, len(table["blocked"])+len(table["caution"]), 120)
	assert.GreaterOrEqual(t, len(table["fine"]), 120)
	for name, class := range map[string]danger.Class{"blocked": danger.Blocked, "caution": danger.Caution,
		"fine": danger.Fine} {
		for _, command := range table[name] {
			verdict := judge(command)
			assert.Equal(t, class, verdict.Class, "%s\n%+v", command, verdict)
			assert.Equal(t, class != danger.Fine, verdict.Reason != "", command)
		}
	}
}

func TestReasons(t *testing.T) {
	for command, reason := range map[string]string{
		"rm -rf /":      "recursive delete on root",
		":(){ :|:& };:": "fork bomb",
		"rm -rf target": "deletes files",
		"./cleanup.sh":  "deletes files (in the script /home/me/project/cleanup.sh)",
		"echo 'x":       "the command cannot be read for certain: 1:6: reached EOF without closing quote `'`",
	} {
		assert.Equal(t, reason, judge(command).Reason, command)
	}
}

// Files in the workspace are the agent's, wherever the workspace is.
func TestWorkspaceInASystemDirectory(t *testing.T) {
	o := danger.Options{Root: "/usr/src/app"}
	for command, class := range map[string]danger.Class{
		"echo x > /usr/src/app/out": danger.Fine,
		"rm -rf /usr/src/app/out":   danger.Caution,
		"rm -rf /usr/src":           danger.Blocked,
		"rm -rf ../..":              danger.Blocked,
		"cd ../.. && rm -rf *":      danger.Blocked,
	} {
		assert.Equal(t, class, danger.Judge(command, o).Class, command)
	}
}

// Scripts that run themselves, or each other, end.
func TestScriptsThatRunEachOther(t *testing.T) {
	o := danger.Options{Root: root,
		ReadFile: func(string) (string, bool) { return "#!/bin/sh\n./again.sh; ./again.sh\n", true }}
	assert.Equal(t, danger.Fine, danger.Judge("./again.sh", o).Class)
}

// No line crashes the judge, and a plain rm of the root is found in any context.
func FuzzJudge(f *testing.F) {
	for _, list := range commands(f) {
		for _, command := range list {
			f.Add(command)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		judge(command)
		if strings.Trim(command, "abcdefghijklmnopqrstuvwxyz -") == "" &&
			!strings.HasPrefix(strings.TrimSpace(command), "cd") {
			assert.Equal(t, danger.Blocked, judge("true "+command+"\nrm -rf /").Class, command)
		}
	})
}
