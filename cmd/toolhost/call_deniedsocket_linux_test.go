package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestHiddenSocketsAreNamed has a command fail at the unix socket of a program outside. It needs a
// grant for the directory, not the network.
func TestHiddenSocketsAreNamed(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	report := sandbox.Detect(t.Context())
	for level, verdict := range map[sandbox.Level]sandbox.Verdict{sandbox.Full: report.Full,
		sandbox.Landlock: report.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			if !verdict.Works {
				testneed.Missing(t, "sandbox level "+string(level)+" does not work here: "+verdict.Reason)
			}
			base := testneed.VisibleDir(t)
			sockets := filepath.Join(base, "run")
			require.NoError(t, os.Mkdir(sockets, 0o700))
			socket := filepath.Join(sockets, "s")
			listener, err := net.Listen("unix", socket)
			require.NoError(t, err)
			defer listener.Close()
			block := func(name, more string) string {
				return "tool \"" + name +
					"\" {\n  description = \"Ask. Returns: it.\"\n  param \"said\" { type = string }\n" + more +
					"  command { argv = [\"sh\", \"-c\", \"echo \\\"$0\\\" >&2; exit 1\", param.said] }\n}\n"
			}
			plant(t, base,
				texts{"project/agent.hcl": block("plain", "") + block("granted", "write = [\""+sockets+"\"]\n") +
					"sandbox { level = \"" + string(level) + "\" }\npolicy {\n  dangerous = \"allow\"\n}\n"})
			call := func(tool, said string) string {
				cmd := program(t, filepath.Join(base, "project"), "call", "--yes", tool, "said="+said)
				cmd.Env = append(environment(t.TempDir()), "TOOLHOST_TRUST=1")
				out, err := cmd.CombinedOutput()
				require.Error(t, err, string(out))
				return strings.Join(strings.Fields(string(out)), " ")
			}
			helps := `The sandbox hides the unix socket ` + socket + `, on which a program`
			for what, said := range map[string]string{
				"PostgreSQL": `connection to server on socket "` + socket + `" failed: Connection refused`,
				"Docker": `Cannot connect to the Docker daemon at unix://` + socket +
					`. Is the docker daemon running?`,
				"MySQL":  `Can't connect to local MySQL server through socket '` + socket + `' (111)`,
				"Go":     `dial unix ` + socket + `: connect: connection refused`,
				"absent": `dial unix ` + socket + `: connect: no such file or directory`,
			} {
				out := call("plain", said)
				assert.Contains(t, out, helps, what)
				assert.NotContains(t, out, "network =", what)
			}
			assert.NotContains(t, call("granted", `dial unix `+socket+`: connect: permission denied`),
				"The sandbox hides")
			assert.NotContains(t, call("plain", `open `+base+`/project/agent.hcl: no such table`), "The sandbox hides")
			refused := call("plain", "ConnectionRefusedError: [Errno 111] Connection refused")
			assert.Contains(t, refused, "The sandbox has no network but its own")
			assert.NotContains(t, refused, "write =")
		})
	}
}
