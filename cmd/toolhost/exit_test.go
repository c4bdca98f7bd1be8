package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runIn runs the built program in a directory and returns its output.
func runIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t, dir, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), code
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	config := `
tool "nap" {
  description = "Sleep. Returns: nothing."
  risk        = "read_only"
  command {
    argv    = ["sleep", "60"]
    timeout = "200ms"
  }
}
tool "no" {
  description = "Fail. Returns: nothing."
  risk        = "read_only"
  command {
    argv = ["false"]
  }
}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(config), 0o644))
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "agent.hcl"), []byte("tool {\n"), 0o644))
	tests := map[string]struct {
		dir  string
		args []string
		code int
	}{
		"success":           {dir, []string{"call", "list_files"}, 0},
		"the tool failed":   {dir, []string{"call", "no"}, 1},
		"a missing file":    {dir, []string{"call", "read_file", "path=none"}, 1},
		"unknown tool":      {dir, []string{"call", "none"}, 2},
		"unknown to undo":   {dir, []string{"undo", "none"}, 2},
		"nothing to undo":   {t.TempDir(), []string{"undo"}, 1},
		"unknown task":      {dir, []string{"kill", "none"}, 2},
		"unknown session":   {dir, []string{"events", "--session", "none"}, 2},
		"unknown plugin":    {dir, []string{"plugin", "describe", "none"}, 2},
		"unknown rule":      {dir, []string{"rules", "remove", "none"}, 2},
		"wrong parameters":  {dir, []string{"call", "read_file"}, 2},
		"unknown flag":      {dir, []string{"list", "--none"}, 2},
		"no such command":   {dir, []string{"none"}, 2},
		"missing argument":  {dir, []string{"call"}, 2},
		"broken agent.hcl":  {broken, []string{"list"}, 2},
		"validate broken":   {broken, []string{"validate"}, 2},
		"timeout":           {dir, []string{"call", "nap"}, 124},
		"fmt of no file":    {dir, []string{"fmt", "none.hcl"}, 2},
		"no toolset":        {dir, []string{"list", "--toolset", "none"}, 2},
		"missing workspace": {dir, []string{"list", "--workspace", "none"}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := runIn(t, tt.dir, tt.args...)
			assert.Equal(t, tt.code, code, stderr)
			if tt.code != 0 {
				assert.NotEmpty(t, stderr)
			}
		})
	}
}
