package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// gatedHCL declares an MCP server (toolhost itself) that is silent until the file open exists.
const gatedHCL = `sandbox { level = "off" }
mcp "slow" {
  command = ["sh", "-c", "while [ ! -e open ]; do sleep 0.02; done; exec '%s' serve --toolset agent --workspace ."]
  env     = { TOOLHOST_TRUST = "1" }
  prefix  = "up_"
  include = ["head"]
}
`

// served is a serve within this process, with a line-based client.
type served struct {
	t       *testing.T
	in      *io.PipeWriter
	answers chan map[string]any
	ended   chan struct{}
	code    int // valid after ended is closed
}

// locked is a log that can be read while it is written.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveHere serves dir, with its own bound for the first list.
func serveHere(t *testing.T, dir string, firstList time.Duration, log io.Writer) *served {
	t.Helper()
	t.Setenv("TOOLHOST_TRUST", "1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	in, clientEnd := io.Pipe()
	read, out := io.Pipe()
	s := &served{t: t, in: clientEnd, answers: make(chan map[string]any, 16), ended: make(chan struct{})}
	a := &app{in: in, out: out, err: log, firstList: firstList}
	go func() {
		s.code = a.execute(t.Context(), []string{"serve", "--config", filepath.Join(dir, "agent.hcl")})
		_ = out.Close()
		close(s.ended)
	}()
	t.Cleanup(s.hangUp) // it writes into directories that are removed later
	go func() {
		lines := bufio.NewScanner(read)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var message map[string]any
			if json.Unmarshal(lines.Bytes(), &message) == nil && message["id"] != nil && message["method"] == nil {
				s.answers <- message
			}
		}
		close(s.answers)
	}()
	return s
}

func (s *served) send(id int, method, params string) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	require.NoError(s.t, err)
}

func (s *served) begin() {
	s.t.Helper()
	s.send(1, "initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	require.EqualValues(s.t, 1, s.next()["id"])
	_, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(s.t, err)
}

func (s *served) next() map[string]any {
	s.t.Helper()
	answer := testproc.Receive(s.t, s.answers, "an answer")
	require.NotNil(s.t, answer, "the server goes on")
	return answer
}

func (s *served) hangUp() {
	_ = s.in.Close()
	for testproc.Receive(s.t, s.answers, "the end") != nil { //nolint:revive // what was still on its way
	}
	testproc.Receive(s.t, s.ended, "the end")
}

// end hangs up and checks that the server ends well.
func (s *served) end() {
	s.t.Helper()
	s.hangUp()
	require.Zero(s.t, s.code)
}

func listedNames(answer map[string]any) (names []string) {
	result, _ := answer["result"].(map[string]any)
	tools, _ := result["tools"].([]any)
	for _, t := range tools {
		names = append(names, t.(map[string]any)["name"].(string))
	}
	return names
}

// TestOnlyTheFirstListWaits has an MCP server that is silent at first: the session begins and a call of
// another tool is answered; the list and a call of its tool wait.
func TestOnlyTheFirstListWaits(t *testing.T) {
	for name, hangUp := range map[string]bool{"client that stays": false, "script that has hung up": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, texts{"agent.hcl": fmt.Sprintf(gatedHCL, filepath.Join(binaries, "toolhost")),
				"note.txt": "first\nsecond\n"})
			s := serveHere(t, dir, time.Minute, io.Discard)
			s.begin()
			s.send(2, "tools/list", `{}`)
			s.send(3, "tools/call", `{"name":"up_head","arguments":{"args":"-n 1 note.txt"}}`)
			s.send(4, "tools/call", `{"name":"read_file","arguments":{"path":"note.txt"}}`)
			local := s.next()
			require.EqualValues(t, 4, local["id"], "the tool that is there does not wait")
			assert.Contains(t, fmt.Sprint(local["result"]), "second")
			require.Empty(t, s.answers, "the others wait")
			if hangUp {
				_ = s.in.Close()
			}
			plant(t, dir, texts{"open": ""})
			answers := map[float64]map[string]any{}
			for range 2 {
				answer := s.next()
				answers[answer["id"].(float64)] = answer
			}
			assert.Contains(t, listedNames(answers[2]), "up_head")
			assert.Contains(t, listedNames(answers[2]), "read_file")
			if !hangUp { // a call in progress at the end is cancelled
				assert.Contains(t, fmt.Sprint(answers[3]["result"]), "first")
				s.end()
			}
		})
	}
}

// TestTheFirstListWaitsNoLonger has a server that stays silent.
func TestTheFirstListWaitsNoLonger(t *testing.T) {
	assert.Equal(t, 10*time.Second, project.FirstList)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": fmt.Sprintf(gatedHCL, "never")})
	log := new(locked)
	s := serveHere(t, dir, 50*time.Millisecond, log)
	s.begin()
	s.send(2, "tools/list", `{}`)
	names := listedNames(s.next())
	assert.Contains(t, names, "read_file")
	assert.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "up_") }))
	s.send(3, "tools/call", `{"name":"up_head","arguments":{}}`)
	assert.Contains(t, fmt.Sprint(s.next()["error"]),
		"mcp slow gives no tools now: the MCP server slow gives no tools yet: it is still starting")
	assert.Contains(t, log.String(), "it is still starting")
	s.end()
}
