package mcpclient_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// lives reports whether a process exists, zombies included.
func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestASuccessorKeepsTheServersThatAreTheSame(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(t *testing.T, s *mcpclient.Spec)
		kept   bool
	}{
		"nothing": {func(*testing.T, *mcpclient.Spec) {}, true},
		"environment": {func(_ *testing.T, s *mcpclient.Spec) {
			s.Env = map[string]string{"TEST_MCP_SERVER": "raw", "MORE": "1"}
		}, false},
		"arguments": {func(_ *testing.T, s *mcpclient.Spec) { s.Command = append(s.Command, "x") }, false},
		"grants":    {func(_ *testing.T, s *mcpclient.Spec) { s.Network = true }, false},
		"sandbox":   {func(_ *testing.T, s *mcpclient.Spec) { s.Confinement = "other" }, false},
		"program": {func(t *testing.T, s *mcpclient.Spec) {
			require.NoError(t, os.Chtimes(s.Command[0], time.Now(), time.Now().Add(time.Hour)))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := upstream("raw")
			script := filepath.Join(t.TempDir(), "server")
			require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec '"+spec.Command[0]+"'\n"), 0o700))
			spec.Command = []string{script}
			client := open(t, mcpclient.Options{}, spec)
			client.Connect(t.Context())
			pid := client.Status()[0].PID
			require.NotZero(t, pid)

			tt.change(t, &spec)
			next := client.Succeed(mcpclient.Options{})
			require.NoError(t, next.Add(spec))
			assert.Equal(t, tt.kept, next.Status()[0].PID == pid)
			assert.Equal(t, tt.kept, len(client.HandOver(next)) == 0)
			require.NoError(t, client.Close())
			next.Connect(t.Context())
			assert.Equal(t, tt.kept, next.Status()[0].PID == pid)
			assert.Equal(t, tt.kept, lives(pid))
			require.NoError(t, next.Close())
			assert.False(t, lives(pid))
		})
	}
}

// A call continues in the server that it began with, kept or not; a change that fails is not applied.
func TestACallOutlivesTheClientItCameFrom(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	for _, kept := range []bool{true, false} {
		spec := upstream("sdk")
		client := open(t, mcpclient.Options{}, spec)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		user := &caller{progress: make(chan tool.Progress, 1000)}
		call := newCall("{}")
		call.Host = user
		ended := make(chan error, 1)
		go func() {
			result, err := client.Call(ctx, "up", "progress", nil, call)
			if err == nil {
				assert.Equal(t, "over", result.Text())
			}
			ended <- err
		}()
		testproc.Receive(t, user.progress)

		broken := client.Succeed(mcpclient.Options{})
		require.NoError(t, broken.Add(upstream("exit")))
		require.ErrorContains(t, broken.TryChanged(t.Context()), "no licence found")
		require.NoError(t, broken.Close())

		next := client.Succeed(mcpclient.Options{})
		if !kept {
			spec.Env = map[string]string{"TEST_MCP_SERVER": "sdk", "MORE": "1"}
		}
		require.NoError(t, next.Add(spec))
		require.NoError(t, next.TryChanged(t.Context()))
		left := client.HandOver(next)
		assert.Equal(t, kept, len(left) == 0)
		if kept {
			require.NoError(t, client.Close())
		}
		require.NoError(t, testproc.Receive(t, ended))
		result, err := next.Call(t.Context(), "up", "grow", nil, newCall("{}"))
		require.NoError(t, err)
		assert.Equal(t, "ok", result.Text())
		require.NoError(t, next.Close())
	}
}
