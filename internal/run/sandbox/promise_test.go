package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const promiseHead = `# What a confined process can do

At the levels ` + "`full` and `landlock`" + `, on Linux and without a grant, for the root user as for any other. ` +
	"`make probe`" + ` tries
each act; [SECURITY.md](SECURITY.md) has the rest. Changes in the workspace are watched, to be undone
([how](#what-the-supervisor-does)). A list of hosts in ` + "`network`" + ` needs level ` + "`full`" + `: at ` +
	"`landlock` and `off`" + ` a process whose
block (` + "`tool`, `resource`, `plugin`, `mcp`, `agent`, `taskfile`, `sandbox`" + `) has one is refused, never run with more.

`

// TestPromiseIsDocumented compares docs/SANDBOX.md with what TestProbe tries and what is shown of the home
// directory.
func TestPromiseIsDocumented(t *testing.T) {
	const file = "../../../docs/SANDBOX.md"
	want := promiseHead + PromiseTable() + homeSection()
	const rest = "\n## Git\n"
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	listed, programs, _ := strings.Cut(string(got), rest)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want+rest+programs), 0o644))
		listed = want
	}
	assert.Equal(t, want, listed, "go test ./internal/run/sandbox -run Promise -update rewrites it")
	assert.GreaterOrEqual(t, len(Promises()), 25)
}

// The repository of a linked worktree is writable at both levels, and said to be.
func TestGapsNameTheRepository(t *testing.T) {
	for _, level := range []Level{Full, Landlock} {
		_, gaps := Report{}.Promised(level)
		assert.Contains(t, gaps, repositories, level)
		assert.Contains(t, repositories, "can be changed")
	}
}
