package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
)

// A session that moves right after a gateway has used it goes on at its new worker:
// each call runs once, on the workspace that the call before left.
func TestSessionThatMovedMeanwhile(t *testing.T) {
	f := newInside(t, notes, "", plain, plain)
	s := session(t, f.url)
	var want []string
	for i := range 8 {
		want = append(want, fmt.Sprint("n", i))
		result := callTool(t, s, "note", note(want[i]), nil)
		require.False(t, result.IsError, text(result))
		require.Equal(t, want, strings.Fields(text(result)))
		all, err := f.gateway.Sessions(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		key := slices.Collect(maps.Keys(all))[0]
		before := all[key]
		require.NotEmpty(t, before.Worker)
		require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
		f.waitFor(func() bool {
			all, err := f.gateway.Sessions(t.Context())
			return assert.NoError(t, err) && (all[key].Worker == "" || all[key].Epoch > before.Epoch)
		})
	}
}

// A worker refuses a request for a session that it is wrongly assumed to have. The
// same request with the record opens it.
func TestKnownSessionThatIsGone(t *testing.T) {
	f := newInside(t, notes, "", plain)
	nc, err := f.link(hub.RoleGateway).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	frames, err := nc.SubscribeSync("back.gw-test.>")
	require.NoError(t, err)
	var at fleet.Worker
	for name := range f.gateway.Workers() {
		at = name
	}
	record := fleet.Record{Epoch: 3, Worker: at,
		Workspace: fleet.Workspace{Empty: true, Config: filepath.Join(f.home, "agent.hcl")}}
	first := func(id string, known bool, epoch uint64) fleet.Frame {
		record.Epoch = epoch
		data, err := json.Marshal(fleet.Envelope{ID: id, Back: at.BackSubject("gw-test", id), Session: "s", Record: record,
			Method: http.MethodPost, URL: "/mcp", Known: known, Header: http.Header{"Content-Type": {"application/json"}}})
		require.NoError(t, err)
		msg := nats.NewMsg(at.WorkSubject())
		msg.Header.Set(fleet.KindHeader, fleet.KindRequest)
		msg.Data = data
		require.NoError(t, nc.PublishMsg(msg))
		answer, err := frames.NextMsg(waits)
		require.NoError(t, err)
		var frame fleet.Frame
		require.NoError(t, json.Unmarshal(answer.Data, &frame))
		return frame
	}
	made := func() int {
		at, err := os.ReadDir(filepath.Join(f.home, "worker0", "sessions"))
		if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		return len(at)
	}
	for _, tt := range []struct {
		name  string
		known bool
		epoch uint64
		want  string
		made  int
	}{
		{"never there", true, 3, fleet.RefusedGone, 0},
		{"comes with its record", false, 3, "", 1},
		{"there", true, 3, "", 1},
		{"an earlier epoch", true, 2, fleet.RefusedGone, 1},
		{"a later epoch", true, 4, fleet.RefusedGone, 1},
	} {
		assert.Equal(t, tt.want, first(strings.ReplaceAll(tt.name, " ", "-"), tt.known, tt.epoch).Refused, tt.name)
		assert.Equal(t, tt.made, made(), tt.name)
	}
}
