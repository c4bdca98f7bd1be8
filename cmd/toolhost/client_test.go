package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

const deadline = testproc.Patience

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r *toolResult) text() string {
	var texts []string
	for _, c := range r.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// rpcServer is a running toolhost serve and its client without an SDK, which writes and reads lines.
type rpcServer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu      sync.Mutex
	cond    *sync.Cond
	answers map[string]*rpcMessage
	notes   []*rpcMessage
	noise   []string // other lines of stdout
	stderr  strings.Builder
	ended   bool
	nextID  int
	done    chan struct{}
}

// pipes connects an SDK client to the program. By default the SDK kills a program that takes seconds to
// end.
func pipes(cmd *exec.Cmd) *mcp.CommandTransport {
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: deadline}
}

// environment returns a clean environment with a home of its own.
func environment(home string, more ...string) []string {
	return append(testproc.Environment(home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+stateHome(), "TOOLHOST_TRUST=1"), more...)
}

// program is a command that runs toolhost in a directory.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), args...)
	cmd.Dir = dir
	cmd.Env = environment(t.TempDir())
	return cmd
}

// serve starts a server in a directory and initializes it.
func serve(t *testing.T, dir string, args ...string) *rpcServer {
	t.Helper()
	s := serveCommand(t, program(t, dir, append([]string{"serve"}, args...)...))
	s.hello()
	return s
}

func serveCommand(t *testing.T, cmd *exec.Cmd) *rpcServer {
	t.Helper()
	s := &rpcServer{t: t, cmd: cmd, answers: make(map[string]*rpcMessage), done: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	var err error
	s.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = (*stderrOf)(s)
	require.NoError(t, cmd.Start())
	go s.read(stdout)
	t.Cleanup(func() {
		s.stdin.Close()
		select {
		case <-s.done:
		case <-time.After(deadline):
			_ = cmd.Process.Kill()
			t.Error("the server did not end after its input had ended")
		}
	})
	return s
}

type stderrOf rpcServer

func (s *stderrOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.cond.Broadcast()
	return s.stderr.Write(p)
}

func (s *rpcServer) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

func (s *rpcServer) read(stdout io.Reader) {
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.take(line)
		}
		if err != nil {
			break
		}
	}
	_ = s.cmd.Wait()
	s.mu.Lock()
	s.ended = true
	s.cond.Broadcast()
	s.mu.Unlock()
	close(s.done)
}

func (s *rpcServer) take(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.cond.Broadcast()
	m := new(rpcMessage)
	switch err := json.Unmarshal([]byte(line), m); {
	case err != nil || m.JSONRPC != "2.0":
		s.noise = append(s.noise, line)
	case m.Method != "":
		s.notes = append(s.notes, m)
	default:
		s.answers[string(m.ID)] = m
	}
}

// until waits for a condition, evaluated with the lock held.
func (s *rpcServer) until(what string, ok func() bool) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(deadline, func() {
		s.mu.Lock()
		late = true
		s.cond.Broadcast()
		s.mu.Unlock()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !ok() && !late && !s.ended {
		s.cond.Wait()
	}
	require.True(s.t, ok(), "waiting for %s; stderr: %s", what, s.stderr.String())
}

func (s *rpcServer) send(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.stdin, line+"\n")
	require.NoError(s.t, err)
}

func (s *rpcServer) start(method string, params any) string {
	s.t.Helper()
	s.mu.Lock()
	s.nextID++
	id, err := json.Marshal(s.nextID)
	s.mu.Unlock()
	require.NoError(s.t, err)
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method,
		"params": params})
	require.NoError(s.t, err)
	s.send(string(data))
	return string(id)
}

func (s *rpcServer) wait(id string) *rpcMessage {
	s.t.Helper()
	s.until("the answer to "+id, func() bool { return s.answers[id] != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[id]
}

func (s *rpcServer) request(method string, params any) *rpcMessage {
	s.t.Helper()
	return s.wait(s.start(method, params))
}

func (s *rpcServer) hello() {
	s.t.Helper()
	m := s.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	require.Nil(s.t, m.Error)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (s *rpcServer) call(tool, arguments string) *toolResult {
	s.t.Helper()
	return s.result(s.startCall(tool, arguments))
}

func (s *rpcServer) startCall(tool, arguments string) string {
	s.t.Helper()
	return s.start("tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(arguments)})
}

func (s *rpcServer) result(id string) *toolResult {
	s.t.Helper()
	m := s.wait(id)
	require.Nil(s.t, m.Error, "a protocol error")
	r := new(toolResult)
	require.NoError(s.t, json.Unmarshal(m.Result, r))
	return r
}

func (s *rpcServer) offered() []string {
	s.t.Helper()
	m := s.request("tools/list", map[string]any{})
	require.Nil(s.t, m.Error)
	var list struct{ Tools []struct{ Name string } }
	require.NoError(s.t, json.Unmarshal(m.Result, &list))
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (s *rpcServer) noted(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notedLocked(method)
}

func (s *rpcServer) notedLocked(method string) int {
	n := 0
	for _, m := range s.notes {
		if m.Method == method {
			n++
		}
	}
	return n
}

// end closes the server's input and returns its exit code.
func (s *rpcServer) end() int {
	s.t.Helper()
	require.NoError(s.t, s.stdin.Close())
	return s.exit()
}

func (s *rpcServer) exit() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(deadline):
		require.Fail(s.t, "the server did not end")
	}
	return s.cmd.ProcessState.ExitCode()
}
