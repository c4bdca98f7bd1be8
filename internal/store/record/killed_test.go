package record_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// recordUntilKilled is the process that [TestKilledWriters] kills: it records calls, and prints each before the
// next.
func recordUntilKilled(root string) int {
	ctx := context.Background()
	r, err := record.New(record.Options{Root: root, State: stateOf(root), Keep: record.Limits{Bytes: 8 << 20}})
	for i := 0; err == nil; i++ {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		err = errors.Join(r.Event(ctx, "s", "tool_call_started", started{id, "read_file", nil}),
			r.Event(ctx, "s", "tool_call_finished", finished{RequestID: id, Tool: "read_file", Status: "success",
				Result: strings.Repeat(id, i%2000)}))
		fmt.Println("did", id)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A process killed at any point leaves a record of whole lines, with every call that it had recorded, while
// others continue to write. The call that it was in is lost.
func TestKilledWriters(t *testing.T) {
	testneed.NotShort(t, "starts writers that are killed")
	testproc.Unchanged(t)
	rounds := 25
	if os.Getenv("TOOLHOST_TEST_LONG") != "" {
		rounds = 500
	}
	root := t.TempDir()
	r := recorder(t, func(o *record.Options) { o.Root, o.Copy, o.Keep = root, false, record.Limits{Bytes: 8 << 20} })
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedEnv+"="+root)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, last := bufio.NewScanner(out), ""
		for range 1 + rand.IntN(20) {
			if !lines.Scan() {
				break
			}
			last = lines.Text()
		}
		callOf(t, r, "other", fmt.Sprint(round), "")
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond) // any point will do
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() {
			last = lines.Text()
		}
		_ = cmd.Wait()
		requireWhole(t, stateOf(root))
		id := strings.TrimPrefix(last, "did ")
		calls, err := r.Calls(t.Context(), record.Filter{Request: id})
		require.NoError(t, err)
		require.Len(t, calls, 1, id)
		assert.Equal(t, record.StatusSuccess, calls[0].Status)
	}
	running, err := r.Calls(t.Context(), record.Filter{Status: record.StatusRunning})
	require.NoError(t, err)
	assert.Empty(t, running, "nobody is there who could end them")
}

// requireWhole checks that every line of the record is an entry, numbered in order. The next writer cuts off
// what follows the last line's end.
func requireWhole(t *testing.T, state string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(state, "record", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	last := 0
	for _, segment := range segments {
		data, err := os.ReadFile(segment)
		require.NoError(t, err)
		for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
			var e struct{ N int }
			require.NoError(t, json.Unmarshal(line, &e), "%s: %s", segment, line)
			if last > 0 {
				require.Equal(t, last+1, e.N, segment)
			}
			last = e.N
		}
	}
}

// A process killed while it drops old entries leaves some of their objects, which are removed at the next drop.
func TestKilledWhileItPrunes(t *testing.T) {
	now := time.Now()
	o := record.Options{Root: t.TempDir(), Now: func() time.Time { return now }}
	o.State = stateOf(o.Root)
	r := recorder(t, func(to *record.Options) { *to = o })
	callOf(t, r, "old", "a", strings.Repeat("large ", 2000))
	now = now.Add(25 * time.Hour) // the next segment
	require.NoError(t, r.Event(t.Context(), "old", "tool_call_started", started{"spans", "read_file", nil}))
	callOf(t, r, "old", "b", strings.Repeat("larger ", 2000))
	require.NoError(t, os.Remove(filepath.Join(o.State, "record", "00000001.jsonl")))
	require.DirExists(t, filepath.Join(o.State, "record", "00000001.objects"), "control")
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	require.Len(t, calls, 2)
	now = now.Add(40 * 24 * time.Hour)
	_, err = r.Prune(record.Limits{})
	require.NoError(t, err)
	require.NoError(t, r.Event(t.Context(), "old", "tool_call_finished", finished{RequestID: "spans",
		Tool: "read_file", Status: "success"}))
	callOf(t, r, "new", "c", "")
	calls, err = r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	require.Len(t, calls, 1)
	assert.Equal(t, "c", calls[0].Request)
	left, err := filepath.Glob(filepath.Join(o.State, "record", "0000000[12]*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A call whose process lives is running, and one whose process was killed is lost.
func TestLostCalls(t *testing.T) {
	root := t.TempDir()
	r := recorder(t, func(o *record.Options) { o.Root = root })
	require.NoError(t, r.Event(t.Context(), "s", "tool_call_started", started{"here", "head", nil}))
	other := recorder(t, func(o *record.Options) { o.Root = root })
	require.NoError(t, other.Event(t.Context(), "s", "tool_call_started", started{"there", "head", nil}))
	states := func() (states []string) {
		calls, err := r.Calls(t.Context(), record.Filter{})
		require.NoError(t, err)
		for _, c := range calls {
			states = append(states, c.Request+" "+c.Status)
		}
		return states
	}
	assert.Equal(t, []string{"here running", "there running"}, states())
	require.NoError(t, other.Close())
	assert.Equal(t, []string{"here running", "there lost"}, states())
	lost, err := r.Calls(t.Context(), record.Filter{Status: record.StatusLost})
	require.NoError(t, err)
	require.Len(t, lost, 1)
	assert.Equal(t, "there", lost[0].Request)
}
