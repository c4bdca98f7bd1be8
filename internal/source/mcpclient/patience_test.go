package mcpclient_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// TestToolsAreWaitedFor has a server that is not ready at first: with patience the first list has its
// tools; without, it comes earlier and the change is reported.
func TestToolsAreWaitedFor(t *testing.T) {
	for name, patience := range map[string]time.Duration{"patient": time.Minute, "impatient": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			gate, starts := filepath.Join(dir, "gate"), filepath.Join(dir, "starts")
			spec := upstream("gated")
			spec.StartTimeout = time.Minute
			spec.Env["TEST_MCP_GATE"], spec.Env["TEST_MCP_STARTS"] = gate, starts
			changed := make(chan string, 8)
			client := open(t, mcpclient.Options{Patience: patience, OnChange: func(name string) { changed <- name }},
				spec)
			type answer struct {
				tools []tool.Tool
				err   error
			}
			first := make(chan answer, 1)
			go func() {
				tools, err := client.Sources()[0].Tools(t.Context())
				first <- answer{tools, err}
			}()
			require.Eventually(t, func() bool { return exists(starts) }, time.Minute, 5*time.Millisecond,
				"the server is started")
			if name == "impatient" {
				assert.Empty(t, testproc.Receive(t, first).tools, "the list does not wait")
				require.NoError(t, os.WriteFile(gate, nil, 0o600))
				assert.Equal(t, "up", testproc.Receive(t, changed))
				assert.NotEmpty(t, toolsOf(t, client.Sources()[0]))
				return
			}
			assert.Empty(t, first, "the list waits")
			require.NoError(t, os.WriteFile(gate, nil, 0o600))
			got := testproc.Receive(t, first)
			require.NoError(t, got.err)
			assert.NotEmpty(t, got.tools)
		})
	}
}
