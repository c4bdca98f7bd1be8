package sandbox

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const promiseHead = `# What a confined process can do

At the levels ` + "`full` and `landlock`" + `, on Linux and without a grant, for the root user as for any other. ` +
	"`make probe`" + ` tries
each act; [SECURITY.md](SECURITY.md) has the rest. What it changes in the workspace is watched, to be undone. That allows and
refuses nothing besides: [LAUNCHER.md](LAUNCHER.md#what-watching-does).

`

// TestPromiseIsDocumented keeps docs/SANDBOX.md to what TestProbe tries.
func TestPromiseIsDocumented(t *testing.T) {
	const file = "../../../docs/SANDBOX.md"
	want := promiseHead + PromiseTable()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "go test ./internal/run/sandbox -run Promise -update writes it anew")
	assert.GreaterOrEqual(t, len(Promises()), 25)
}
