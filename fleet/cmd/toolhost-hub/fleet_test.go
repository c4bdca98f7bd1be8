package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// runAs makes the test binary run as the program.
const runAs = "TOOLHOST_HUB_TEST_RUN"

func TestMain(m *testing.M) {
	if code, ok := project.Reexec(os.Args[1:]); ok {
		os.Exit(code)
	}
	if os.Getenv(sendsSpans) != "" && len(os.Args) == 1 {
		os.Exit(sendSpans())
	}
	if os.Getenv(ownDisk) != "" {
		os.Exit(runOnOwnDisk())
	}
	if os.Getenv(runAs) != "" || len(os.Args) > 2 && os.Args[1] == "internal" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// place is a machine of a fleet: a home with its programs' files.
type place struct {
	t       *testing.T
	home    string
	program string // "" for the test binary
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return &place{t: t, home: t.TempDir()}
}

type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{}
	log   *testproc.Output
}

func (p *place) command(args ...string) *exec.Cmd {
	p.t.Helper()
	program := p.program
	if program == "" {
		self, err := os.Executable()
		require.NoError(p.t, err)
		program = self
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = p.home
	cmd.Env = testproc.Environment(p.home, runAs+"=1", "XDG_STATE_HOME="+filepath.Join(p.home, "state"),
		"XDG_DATA_HOME="+filepath.Join(p.home, "data"), "XDG_CONFIG_HOME="+filepath.Join(p.home, "config"),
		"XDG_CACHE_HOME="+filepath.Join(p.home, "cache"))
	return cmd
}

func (p *place) start(args ...string) *process {
	p.t.Helper()
	return p.run(p.command(args...))
}

func (p *place) run(cmd *exec.Cmd) *process {
	p.t.Helper()
	pipe, err := cmd.StderrPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	r := &process{t: p.t, cmd: cmd, ended: make(chan struct{}), log: testproc.Listen(pipe)}
	go func() {
		defer close(r.ended)
		<-r.log.Ended()
		_ = cmd.Wait()
	}()
	p.t.Cleanup(r.kill)
	return r
}

func (p *place) output(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	out, err := cmd.Output()
	require.NoError(p.t, err, "%s: %s", args, out)
	return string(out)
}

func (r *process) kill() {
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
	_ = r.cmd.Process.Kill()
	testproc.Receive(r.t, r.ended, "the end of a killed program")
}

func (r *process) said() string { return r.log.Text() }

// waits limits a step of a test's programs on a busy machine.
const waits = testproc.Patience

// find waits for output that matches.
func (r *process) find(pattern string) string {
	r.t.Helper()
	return r.log.Find(r.t, pattern)
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	file := filepath.Join(p.home, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	testproc.Replace(p.t, file, text) // a program may read it at any time
	return file
}

// notes is an agent.hcl with a tool that changes a file.
const notes = `
tool "note" {
  description = "Append a line to notes.txt. Returns: all lines."
  risk        = "dangerous"
  param "text" {}
  command { argv = ["sh", "-c", "echo \"$1\" >> notes.txt; cat notes.txt", "sh", param.text] }
}
tool "wait" {
  description = "Append a line, then wait. Returns: nothing."
  risk        = "dangerous"
  param "text" {}
  command { argv = ["sh", "-c", "echo \"$1\" >> notes.txt; sleep 600", "sh", param.text] }
}
policy {
  dangerous = "allow"
}
`

func session(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), waits)
	defer cancel()
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: http.DefaultClient}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any, meta mcp.Meta) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waits)
	defer cancel()
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
	require.NoError(t, err)
	return result
}

// changeNote matches a result's note on the paths that its call changed. It does not name toolhost
// undo, which a fleet's users cannot run.
var changeNote = regexp.MustCompile(`^\d+ paths? changed: [^;]*$`)

// text returns a result's text, without the note about changed paths.
func text(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok && !changeNote.MatchString(t.Text) {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// A hub, two workers and a gateway as separate programs, and a client with
// sessions in two workspaces.
func TestFleetOfPrograms(t *testing.T) {
	p := newPlace(t)
	p.write("agent.hcl", notes)
	project := filepath.Dir(p.write("project/README.md", "A project.\n"))
	p.write("fleet.hcl", `
workspace "scratch" {
  empty  = true
  config = "`+filepath.Join(p.home, "agent.hcl")+`"
}
workspace "project" {
  directory = "`+project+`"
  config    = "`+filepath.Join(p.home, "agent.hcl")+`"
}
`)
	store := filepath.Join(p.home, "hub")
	hub := p.start("hub", "--listen", "127.0.0.1:0", "--store", store)
	url := hub.find(`hub is at (\S+),`)
	key := func(role string) string { return filepath.Join(store, "keys", role+"."+role+".nk") }
	var workers []*process
	for _, dir := range []string{"one", "two"} {
		workers = append(workers,
			p.start("worker", "--hub", url, "--key", key("worker"), "--dir", filepath.Join(p.home, dir),
				"--directory", project))
	}
	gateway := p.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", url, "--key", key("gateway"),
		"--fleet-config", "fleet.hcl")
	mcpURL := gateway.find(`serves MCP at (\S+)`)

	for _, w := range workers {
		w.find("takes sessions")
	}
	knows(t, strings.TrimSuffix(mcpURL, "/mcp"), len(workers))
	one, two := session(t, mcpURL+"/scratch"), session(t, mcpURL+"/project")
	assert.Equal(t, "hello", strings.TrimSpace(text(callTool(t, one, "note", map[string]any{"text": "hello"}, nil))))
	assert.Equal(t, "other", strings.TrimSpace(text(callTool(t, two, "note", map[string]any{"text": "other"}, nil))))
	assert.Equal(t, "hello\nagain",
		strings.TrimSpace(text(callTool(t, one, "note", map[string]any{"text": "again"}, nil))))
	data, err := os.ReadFile(filepath.Join(project, "notes.txt"))
	require.NoError(t, err)
	assert.Equal(t, "other\n", string(data))
}

// openSession opens a session of a revision with sessions, and returns its name.
func openSession(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
			`"clientInfo":{"name":"test","version":"1"}}}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	_ = answer.Body.Close()
	name := answer.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, name, "%s: %s", answer.Status, data)
	post(t, url, name, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return name
}

func noteMessage(text string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"note","arguments":{"text":"` + text + `"}}}`
}

func post(t *testing.T, url, session, message string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waits)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(data)
}
