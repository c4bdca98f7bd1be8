package record

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkIndex is what an entry of 1 KB costs until it can be found.
func BenchmarkIndex(b *testing.B) {
	l := &ledger{dir: b.TempDir(), limits: Limits{}.withDefaults(), now: time.Now}
	for range b.N {
		e := &entry{At: time.Now().UTC().Format(timeFormat), Session: "s", Event: startedEvent, By: "me",
			Body:    json.RawMessage(`{"request_id":"tool_step_0001","tool":"read_file"}`),
			Content: marshalText(string(make([]byte, 200)))}
		_, err := l.append(e, nil)
		require.NoError(b, err)
	}
	l.indexer.stop()
	b.ResetTimer()
	db, err := l.index(context.Background())
	require.NoError(b, err)
	require.NoError(b, db.Close())
}
