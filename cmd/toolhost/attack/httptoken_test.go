package attack

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A local program finds the port of a server started without a token option, and calls a tool to read a
// file.
func TestOtherProgramsHaveNoToken(t *testing.T) {
	t.Parallel()
	tally.note(tally.cases, "mcp", "another program of this machine uses a server over HTTP")
	a := newArena(t, map[string]string{"notes.txt": "words of the workspace\n"})
	cmd := a.program(nil, "serve", "--http", "127.0.0.1:0")
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var url, token string
	address, bearer := regexp.MustCompile(`http://127\.0\.0\.1:\d+`), regexp.MustCompile(`Bearer (\S+)`)
	lines := bufio.NewScanner(errs)
	for token == "" && lines.Scan() {
		if m := address.FindString(lines.Text()); m != "" {
			url = m
			status, answer := readOverHTTP(url, "")
			require.Equal(t, http.StatusUnauthorized, status, answer)
			assert.NotContains(t, answer, "words of the workspace")
		}
		if m := bearer.FindStringSubmatch(lines.Text()); m != nil {
			token = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	require.NotEmpty(t, url)
	require.NotEmpty(t, token)
	status, answer := readOverHTTP(url, token)
	assert.Equal(t, http.StatusOK, status, "control: who has the token reads: %s", answer)
	assert.Contains(t, answer, "words of the workspace")
}

// readOverHTTP has read_file read notes.txt, in one request of the revision without sessions.
func readOverHTTP(url, token string) (int, string) {
	return post(url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file",`+
		`"arguments":{"path":"notes.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		func(r *http.Request) {
			r.Header.Set("MCP-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "read_file")
		})
}
