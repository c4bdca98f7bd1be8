package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// wipe is a command that reads the record and removes its traces, wherever it is.
const wipe = `find {HOME}/.local/state/toolhost {WS}/.agent/runs -name '*.jsonl' -exec cat {} + > seen;
find {HOME}/.local/state/toolhost {WS}/.agent/runs -name '*.jsonl' -exec sh -c ': > "$1"' sh {} \;`

// No process can remove its traces from the record, or read others', even with access to the whole home
// directory.
func TestNobodyChangesTheRecord(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	wiped := func(t *testing.T, a *arena) (found []violation) {
		out, err := a.run(nil, "call", "--request-id", "the-call-before", "todoread")
		require.NoError(t, err, out)
		params, err := json.Marshal(map[string]string{"script": a.fill(wipe)})
		require.NoError(t, err)
		a.cli([]string{"TOOLHOST_UNDO=optional"}, "", "plant", string(params))
		events, err := a.run(nil, "events")
		require.NoError(t, err)
		if !strings.Contains(events, "the-call-before") {
			found = append(found, violation{checkWhole, "the record no longer has the call"})
		}
		if seen, err := os.ReadFile(filepath.Join(a.ws, "seen")); err == nil && strings.Contains(string(seen), "the-call-before") {
			found = append(found, violation{checkSecret, "the record was read"})
		}
		return found
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "sandbox", "the record, "+s.String())
			a := homeArena(t, s, string(s.level), true)
			assert.Empty(t, wiped(t, a))
			for _, log := range a.recorded() {
				read, err := json.Marshal(map[string]string{"path": log})
				require.NoError(t, err)
				r := a.cli(nil, "", "read_file", string(read))
				assert.True(t, r.failed, r.text)
				write, err := json.Marshal(map[string]string{"path": log, "content": ""})
				require.NoError(t, err)
				r = a.cli(nil, "", "write_file", string(write))
				assert.True(t, r.failed, r.text)
			}
			out, err := a.run(nil, "events")
			assert.NoError(t, err, out)
			assert.Contains(t, out, "the-call-before")
		})
	}
	a := homeArena(t, stance{sandbox.Off, os.Geteuid()}, "off", true)
	control(t, "sandbox", "the record where nothing is confined", checkWhole, wiped(t, a))
}
