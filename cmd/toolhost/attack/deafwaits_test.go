package attack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// SIGTERM also ends waits that cannot be interrupted: for a pipe without a writer.
func TestDeafWaitsEndAtSIGTERM(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, args := range map[string][]string{
		"a certificate": {"serve", "--http", "127.0.0.1:0", "--tls-cert", "pipe", "--tls-key", "pipe"},
		"a token":       {"serve", "--http", "127.0.0.1:0", "--token-file", "pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "processes", "SIGTERM while toolhost opens a pipe for "+name)
			a := newArena(t, nil)
			a.pipeAt("pipe")
			require.NoError(t, os.Chmod(filepath.Join(a.ws, "pipe"), 0o600))
			a.arm()
			h := newHost(a, a.program(nil, args...))
			h.begin()
			require.True(t, within(patience, func() bool { // there is a reader
				writer, err := unix.Open(filepath.Join(a.ws, "pipe"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
				if err == nil {
					t.Cleanup(func() { _ = unix.Close(writer) })
				}
				return err == nil
			}))
			require.NoError(t, h.cmd.Process.Signal(unix.SIGTERM))
			select {
			case <-h.done:
			case <-time.After(patience):
				t.Error("it goes on after SIGTERM")
				require.NoError(t, h.cmd.Process.Kill())
				testproc.Receive(h.a.t, h.done, "the end of the host")
			}
			tally.note(tally.controls, "processes", "the pipe has the program wait")
			assert.NotContains(t, h.stderr.String(), "serves MCP")
		})
	}
}
