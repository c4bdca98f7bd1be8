package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// holds is an agent.hcl with a tool that runs until a file exists.
const holds = `
tool "hold" {
  description = "Wait for the file that is named. Returns: a word."
  risk        = "dangerous"
  param "file" {}
  command {
    argv = ["sh", "-c", "echo x >> began; while [ ! -e \"$1\" ]; do sleep 0.05; done; echo held", "sh", param.file]
  }
}
policy {
  dangerous = "allow"
}
`

const tenants = `
workspace "scratch" {
  empty  = true
  config = "HOME/agent.hcl"
}
workspace "private" {
  empty  = true
  config = "HOME/agent.hcl"
}
tenant "a" {
  token_env  = "TENANT_A"
  workspaces = ["scratch"]
  calls      = 1
  git        = ["file://HOME/allowed"]
}
tenant "b" {
  token_env = "TENANT_B"
}
tenant "late" {
  token_env = "TENANT_LATE"
  expires   = "2001-01-01T00:00:00Z"
}
`

const (
	tokenA, tokenB, tokenLate = "token-of-tenant-aaaa", "token-of-tenant-bbbb", "token-of-tenant-late"

	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}META}}`
)

// opening is initialize for a workspace that _meta names.
func opening(workspace string) string {
	if workspace != "" {
		workspace = `,"_meta":{"toolhost/workspace":` + workspace + `}`
	}
	return strings.Replace(initialize, "META", workspace, 1)
}

// send sends a message as a tenant and returns the status, the session and the text.
func send(t *testing.T, url, token, session, message string) (status int, name, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": session,
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"} {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, answer.Header.Get("Mcp-Session-Id"), string(data)
}

func holdMessage(file string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold","arguments":{"file":"` + file + `"}}}`
}

func withTenants(t *testing.T) *inside {
	t.Helper()
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	t.Setenv("TENANT_LATE", tokenLate)
	return newInside(t, holds, tenants, plain)
}

// A tenant sees only its own sessions and workspaces, and needs a valid token.
func TestTenants(t *testing.T) {
	f := withTenants(t)
	for token, says := range map[string]string{"": "no valid token", "guessed-token-of-a": "no valid token",
		tokenLate: "expired"} {
		status, name, text := send(t, f.url, token, "", opening(""))
		assert.Equal(t, http.StatusUnauthorized, status, text)
		assert.Contains(t, text, says)
		assert.Empty(t, name)
	}
	status, name, text := send(t, f.url, tokenA, "", opening(""))
	require.Equal(t, http.StatusOK, status, text)
	require.NotEmpty(t, name)
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	status, _, text = send(t, f.url, tokenA, name, list)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "hold")
	_, _, none := send(t, f.url, tokenB, "no-such-session", list)
	for _, message := range []string{list, holdMessage("x")} {
		status, _, text = send(t, f.url, tokenB, name, message)
		assert.Equal(t, http.StatusNotFound, status, "another tenant's session: %s", text)
		assert.Equal(t, none, text, "as if there was none")
	}
	for _, c := range []struct {
		url, workspace, says string
		status               int
	}{
		{f.url + "/private", "", "no workspace", http.StatusNotFound},
		{f.url, `{"name":"private"}`, "no workspace", http.StatusNotFound},
		{f.url, `{"pack":"0123"}`, "cannot be read", http.StatusBadRequest},
		{f.url, `{"git":"file:///other@0123456789abcdef0123456789abcdef01234567"}`, "may not name the repository",
			http.StatusForbidden},
		{f.url, `"scratch"`, "cannot be read", http.StatusBadRequest},
	} {
		status, _, text = send(t, c.url, tokenA, "", opening(c.workspace))
		assert.Equal(t, c.status, status, "%s %s", c.url, c.workspace)
		assert.Contains(t, text, c.says)
	}
	status, _, text = send(t, f.url+"/private", tokenB, "", opening(""))
	assert.Equal(t, http.StatusOK, status, "%s may use it: %s", tokenB, text)
	assert.NotContains(t, strings.Join(f.subjects(), " "), tokenA)
}

// subjects returns the hub's keys of sessions.
func (f *inside) subjects() (names []string) {
	sessions, err := f.gateway.Sessions(f.t.Context())
	require.NoError(f.t, err)
	for key, record := range sessions {
		names = append(names, key, string(record.Initialize))
	}
	return names
}

// A tenant over its limit is told to retry, and nothing runs.
func TestTenantsLimit(t *testing.T) {
	f := withTenants(t)
	_, name, _ := send(t, f.url, tokenA, "", opening(""))
	ended := make(chan string)
	go func() {
		_, _, text := send(t, f.url, tokenA, name, holdMessage("go"))
		ended <- text
	}()
	f.waitFor(f.running(1))
	_, _, text := send(t, f.url, tokenA, name, holdMessage("go"))
	assert.Contains(t, text, `"toolhost/outcome":"busy"`)
	assert.Contains(t, text, "Try again in 1s")
	_, other, _ := send(t, f.url, tokenB, "", opening(""))
	status, _, _ := send(t, f.url, tokenB, other, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	assert.Equal(t, http.StatusOK, status)
	f.release("go")
	assert.Contains(t, testproc.Receive(t, ended, "the answer"), "held")
	_, _, text = send(t, f.url, tokenA, name, holdMessage("go"))
	assert.Contains(t, text, "held", "there is room again")
}

// running reports whether that many calls run, by the workers' beats.
func (f *inside) running(n int) func() bool {
	return func() bool {
		sum := 0
		for _, beat := range f.gateway.Workers() {
			sum += beat.Running
		}
		return sum == n
	}
}

func (f *inside) workspaces() []string {
	found, err := filepath.Glob(filepath.Join(f.home, "worker*", "sessions", "*", "workspace"))
	require.NoError(f.t, err)
	return found
}

// release writes a file into all workspaces.
func (f *inside) release(name string) {
	f.t.Helper()
	for _, dir := range f.workspaces() {
		require.NoError(f.t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
}

// A git workspace is a checkout of that commit, named by the operator or, if
// the tenant may, by the session.
func TestGitWorkspace(t *testing.T) {
	testneed.Program(t, "git")
	f := withTenants(t)
	repository := filepath.Join(f.home, "allowed")
	f.write("allowed/README.md", "first\n")
	f.write("allowed/agent.hcl",
		"tool \"planted\" {\n description = \"x\"\n risk = \"read_only\"\n command { argv = [\"true\"] }\n}\n")
	git := func(args ...string) string {
		c := f.command()
		c.Path, c.Args, c.Dir = testneed.Program(t, "git"), append([]string{"git", "-c", "user.name=t", "-c",
			"user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...), repository
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "first")
	commit := git("rev-parse", "HEAD")
	f.write("allowed/README.md", "second\n")
	git("commit", "-qam", "second")
	status, _, text := send(t, f.url, tokenA, "", opening(`{"git":"file://`+repository+"@"+commit+`"}`))
	require.Equal(t, http.StatusOK, status, text)
	require.Len(t, f.workspaces(), 1)
	data, err := os.ReadFile(filepath.Join(f.workspaces()[0], "README.md"))
	require.NoError(t, err)
	assert.Equal(t, "first\n", string(data))
	for spec, is := range map[string]struct {
		status int
		says   string
	}{
		"@" + strings.Repeat("0", 40): {http.StatusBadGateway, "git fetch failed"},
		"@main":                       {http.StatusBadRequest, "names no commit"},
		"":                            {http.StatusBadRequest, "names no commit"},
		"/../other@" + commit:         {http.StatusBadRequest, "is not plain"},
	} {
		status, _, text = send(t, f.url, tokenA, "", opening(`{"git":"file://`+repository+spec+`"}`))
		assert.Equal(t, is.status, status, spec)
		assert.Contains(t, text, is.says)
	}
	assert.Len(t, f.workspaces(), 1, "what could not be made is removed")
}
