package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/testneed"
)

// At level landlock a command makes no repository in another one. The error says
// so, and what to do; what it says works.
func TestARefusedRepositoryIsNamed(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	testneed.Program(t, "git")
	if verdict := sandbox.Detect(t.Context()).Landlock; !verdict.Works {
		testneed.Missing(t, "sandbox level landlock does not work here: "+verdict.Reason)
	}
	dir := testneed.VisibleDir(t)
	plant(t, dir, texts{"agent.hcl": `tool "run" {
  description = "Run. Returns: it."
  param "line" { type = string }
  command { argv = ["sh", "-c", param.line] }
}
sandbox { level = "landlock" }
policy { dangerous = "allow" }
`})
	initialize := exec.Command("git", "init", "-q", dir)
	out, err := initialize.CombinedOutput()
	require.NoError(t, err, "%s", out)
	call := func(line string) string {
		out, _ := program(t, dir, "call", "run", "line="+line).CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " ")
	}
	for _, line := range []string{"git init sub", "mkdir deep; cd deep; git init -q", "git clone -q . copy",
		"mkdir sub; mkdir sub/.git"} {
		said := call(line)
		assert.Contains(t, said, "a command makes no repository in another one", line)
		assert.Contains(t, said, "below $TMPDIR", line)
	}
	for _, line := range []string{"mv .git away", "git config core.editor evil", "echo x > agent.hcl",
		"echo 'gone: .git: no such thing'; false", "echo x > /usr/x.git; false"} {
		assert.NotContains(t, call(line), "makes no repository", line)
	}
	assert.Contains(t, call(`git init -q "$TMPDIR/sub" && test -d "$TMPDIR/sub/.git" && echo made`), "made")
	_, err = os.Lstat(filepath.Join(dir, "sub", ".git"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
