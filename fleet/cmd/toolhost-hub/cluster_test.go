package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// The leading hub is killed while calls run, and comes back. No reader gets an
// answer from a hub that does not yet know the last write.
func TestLeaderOfHubsIsKilled(t *testing.T) {
	s := newStorm(t, shape{seed: 1, hubs: 3, workers: 2, gateways: 1, sessions: 12})
	link := fleet.Link{URL: s.reach(false), KeyFile: s.key("gateway"), Inbox: "_INBOX.gateway.test"}
	nc, err := link.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	var leader string
	s.waitFor(func() bool {
		for _, name := range []string{"KV_sessions", "KV_calls", "OBJ_packs-" + fleet.Digest("default")} {
			stream, err := js.Stream(t.Context(), name)
			if err != nil || stream.CachedInfo().Cluster == nil {
				return false
			}
			config := stream.CachedInfo().Config
			assert.Equal(t, 3, config.Replicas, name)
			assert.False(t, config.AllowDirect, "any hub answers who reads %s", name)
			if name == "KV_calls" {
				leader = stream.CachedInfo().Cluster.Leader
			}
		}
		return leader != ""
	})
	s.began, s.longest = time.Now(), 2*waits
	const calls = 60
	each(8, func(i int) {
		random := s.randomOf(i)
		for n := int(s.next.Add(1)); n <= calls && !t.Failed(); n = int(s.next.Add(1)) {
			if n == calls/3 {
				s.killHub(leader)
			}
			s.call(random, n)
		}
	})
	assert.False(t, s.over(), "the calls do not end without the hub that led")
	s.check()
	s.askAgain(calls)
}

func (s *storm) killHub(name string) {
	for _, h := range s.hubs {
		if strings.HasSuffix(h.args[4], name) {
			h.process.kill()
			h.process = s.startAs(name, h.args...)
			return
		}
	}
	s.t.Errorf("there is no hub %s", name)
}
