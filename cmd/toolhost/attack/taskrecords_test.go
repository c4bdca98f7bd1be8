package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Commands cannot change the records of background tasks.
func TestRecordsOfTasksAreOutOfReach(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const forge = "echo to forge; D=$(echo {HOME}/.local/state/toolhost/*/tasks); for f in $D/*/*; do echo forged " +
		">>$f; done; mv $D t; mv {HOME}/.local/state u; mkdir -p $D/forged; ln -s . $D/l; rm -rf $D; true"
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": s.block()})
			a.arm()
			h := a.serve(nil, "--toolset", "clemini")
			started := h.call("bash", `{"command":"sleep 1000","run_in_background":true}`)
			require.Contains(t, started.text, "running")
			records, err := filepath.Glob(filepath.Join(a.home, ".local/state/toolhost/*/tasks/*/task.json"))
			require.NoError(t, err)
			require.Len(t, records, 1)
			before, err := os.ReadFile(records[0])
			require.NoError(t, err)
			tally.note(tally.cases, "processes", s.String()+" forge records of tasks")
			r := a.cli(nil, "cliagent", "run_in_terminal", command(t, a.fill(forge)))
			assert.Contains(t, r.said[0], "forge", "it ran")
			after, err := os.ReadFile(records[0])
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after))
			kept, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(records[0])), "*"))
			require.NoError(t, err)
			for _, path := range kept {
				assert.NotContains(t, []string{"forged", "l"}, filepath.Base(path))
			}
			assert.Empty(t, h.stop())
			tally.note(tally.controls, "processes", s.String()+" forge records unconfined")
			a.shell("rm " + records[0])
			assert.NoFileExists(t, records[0], "without a sandbox it works")
		})
	}
}
