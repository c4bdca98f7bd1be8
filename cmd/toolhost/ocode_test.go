package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

type ocodeResult struct {
	Success  bool           `json:"success"`
	Output   string         `json:"output"`
	Error    string         `json:"error"`
	Metadata map[string]any `json:"metadata"`
}

// ocode calls a tool and returns the object and its MCP result.
func (s *rpcServer) ocode(name string, params map[string]any) (ocodeResult, *toolResult) {
	s.t.Helper()
	m := s.request("tools/call", map[string]any{"name": name, "arguments": params})
	var r toolResult
	var o ocodeResult
	if assert.Nil(s.t, m.Error) && assert.NoError(s.t, json.Unmarshal(m.Result, &r)) {
		assert.NoError(s.t, json.Unmarshal(r.Structured, &o), r.text())
	}
	return o, &r
}

// TestOcodeOverMCP has the object as structured content, and the output or error as text.
func TestOcodeOverMCP(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"file.py": strings.Repeat("\n", 9) + "def process():\n    pass\n",
		"a.json": `{"a": [1, 2.50]}`})
	s := serve(t, dir, "--toolset", "ocode")
	assert.ElementsMatch(t, []string{
		"file_read", "file_write", "file_edit", "file_ops", "grep", "diff", "bash", "env", "git_status", "test_runner",
		"architect", "think", "memory_read", "memory_write", "json_yaml", "mcp", "agent",
	}, s.offered())
	o, r := s.ocode("file_read", map[string]any{"path": "file.py", "start_line": 10, "end_line": 20})
	assert.Equal(t, ocodeResult{true, "10 | def process():\n11 |     pass", "", o.Metadata}, o)
	assert.Equal(t, o.Output, r.Content[0].Text)
	assert.False(t, r.IsError)
	assert.EqualValues(t, 11, o.Metadata["total_lines"])

	o, r = s.ocode("file_read", map[string]any{"path": "none"})
	assert.Equal(t, ocodeResult{false, "", "File not found: none", o.Metadata}, o)
	assert.Equal(t, o.Error, r.Content[0].Text)
	assert.True(t, r.IsError)

	o, _ = s.ocode("grep", map[string]any{"pattern": "process"})
	assert.Equal(t, "file.py:10: def process():", o.Output)
	o, _ = s.ocode("json_yaml", map[string]any{"action": "query", "input": "a.json", "query": "$.a[1]"})
	assert.Equal(t, "[2.50]", o.Output)
	o, r = s.ocode("diff", map[string]any{"source1": "nothing.txt", "source2": "a text\n"})
	assert.True(t, o.Success)
	assert.Contains(t, o.Error, "Warning: ")
	assert.Contains(t, r.text(), "Warning: ", "a partial success")
	o, r = s.ocode("file_read", nil)
	assert.Contains(t, o.Error, "path: is required")
	assert.True(t, r.IsError)
	o, _ = s.ocode("think", map[string]any{"task": "x"})
	assert.Contains(t, o.Output, "No language model has reasoned about this: ")

	s.ocode("memory_write", map[string]any{"key": "k", "value": "v", "memory_type": "session"})
	o, _ = s.ocode("memory_read", map[string]any{"key": "k", "memory_type": "session"})
	assert.Equal(t, "v", o.Output)
	assert.Zero(t, s.end())
	assert.Empty(t, s.noise)
	o, _ = serve(t, dir, "--toolset", "ocode").ocode("memory_read",
		map[string]any{"key": "k", "memory_type": "session"})
	assert.False(t, o.Success, "a connection is a session, and it has ended")
}

// TestOcodeMemoryLosesNothing has 8 hosts write 100 times each concurrently, or 1,000 times with make
// long, to their own keys and to a shared one.
func TestOcodeMemoryLosesNothing(t *testing.T) {
	testneed.NotShort(t, "repeats and kills sessions for seconds")
	const hosts, shared = 8, 50
	writes := 100
	if testneed.Long() {
		writes = 1000
	}
	dir := t.TempDir()
	servers := make([]*rpcServer, hosts)
	for i := range servers {
		servers[i] = serve(t, dir, "--toolset", "ocode")
	}
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			for n := range writes {
				params := map[string]any{"key": fmt.Sprintf("host %d, write %d", i, n), "value": fmt.Sprint(n)}
				if n%(writes/shared) == 0 {
					params = map[string]any{"key": "log", "value": fmt.Sprintf("%d/%d", i, n), "operation": "append"}
				}
				if o, _ := s.ocode("memory_write", params); !assert.True(t, o.Success, o.Error) {
					return
				}
			}
		})
	}
	all.Wait()
	o, _ := servers[0].ocode("memory_read", map[string]any{"key": "log"})
	lines := make(map[string]bool)
	for line := range strings.SplitSeq(o.Output, "\n") {
		lines[line] = true
	}
	assert.Len(t, lines, hosts*shared, "appended to one key")
	o, _ = servers[0].ocode("memory_read", nil)
	assert.EqualValues(t, hosts*(writes-shared)+1, o.Metadata["count"])
	intact(t, dir)
}

// TestOcodeMemorySurvivesKills kills hosts with SIGKILL while they write. What they confirmed must be
// there, whole.
func TestOcodeMemorySurvivesKills(t *testing.T) {
	testneed.NotShort(t, "repeats and kills sessions for seconds")
	dir := t.TempDir()
	value := strings.Repeat("0123456789abcdef", 512)
	var confirmed []string
	for round := range 8 {
		s := serveKilled(t, dir)
		last := 3 + rand.IntN(20)
		for n := 0; ; n++ {
			if n == last {
				time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, func() { _ = s.cmd.Process.Kill() })
			}
			key := fmt.Sprintf("round %d, write %d", round, n)
			data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1000 + n, "method": "tools/call",
				"params": map[string]any{
					"name": "memory_write", "arguments": map[string]any{"key": key, "value": key + value}}})
			if _, err := s.stdin.Write(append(data, '\n')); err != nil || !s.confirms(fmt.Sprint(1000+n)) {
				break
			}
			confirmed = append(confirmed, key)
		}
		s.exit()
	}
	require.Greater(t, len(confirmed), 20)
	intact(t, dir)
	s := serve(t, dir, "--toolset", "ocode")
	for _, key := range confirmed {
		o, _ := s.ocode("memory_read", map[string]any{"key": key, "category": "general"})
		require.Equal(t, key+value, o.Output, "confirmed, and kept whole")
	}
}

// serveKilled is serve for a server that does not end by itself.
func serveKilled(t *testing.T, dir string) *rpcServer {
	t.Helper()
	s := serveCommand(t, program(t, dir, "serve", "--toolset", "ocode"))
	s.hello()
	return s
}

// confirms waits for a result, and returns false if the server ended.
func (s *rpcServer) confirms(id string) bool {
	s.until("the answer to "+id, func() bool { return s.answers[id] != nil || s.ended })
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.answers[id]
	return m != nil && strings.Contains(string(m.Result), `"success":true`)
}

// TestOcodeThinks has agent.hcl's model reason, and reports if it is unreachable.
func TestOcodeThinks(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer, _ := json.Marshal("asked: " +
			fmt.Sprint(strings.Contains(string(body), "Why is it slow?"), strings.Contains(string(body), "## Pros")))
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":`+string(answer)+`}}]}`)
	}))
	defer model.Close()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"agent.hcl": fmt.Sprintf("model {\n  url = \"%s/v1\"\n  model = \"small\"\n}\n",
		model.URL)})
	s := serve(t, dir, "--toolset", "ocode")
	params := map[string]any{"task": "Why is it slow?", "approach": "pros_cons"}
	o, _ := s.ocode("think", params)
	assert.Equal(t, "asked: true true", o.Output)
	assert.Equal(t, "small", o.Metadata["model"])
	assert.Equal(t, true, o.Metadata["used_model"])
	model.Close()
	o, r := s.ocode("think", params)
	assert.True(t, r.IsError || o.Metadata["used_model"] == false, "%v", o)
}

func intact(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(stateOf(t, dir), "memories.json"))
	require.NoError(t, err)
	assert.True(t, json.Valid(data))
}
