package toolhost_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestMain(m *testing.M) {
	toolhost.Main()
	os.Exit(m.Run())
}

// newProject is a directory with an agent.hcl, away from the user's own files.
func newProject(t *testing.T, hcl string) string {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("TOOLHOST_TRUST", "")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(hcl), 0o644))
	return dir
}

func open(t *testing.T, o toolhost.Options) *toolhost.Toolhost {
	t.Helper()
	th, err := toolhost.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, th.Close()) })
	return th
}

func names(t *testing.T, th *toolhost.Toolhost) (all []string) {
	t.Helper()
	defs, err := th.Tools(t.Context())
	require.NoError(t, err)
	for _, def := range defs {
		all = append(all, def.Name)
	}
	return all
}

func call(t *testing.T, th *toolhost.Toolhost, name, params string) *host.Outcome {
	t.Helper()
	return th.Host().Session("main").Call(t.Context(), host.Request{Tool: name, Params: json.RawMessage(params)})
}

const greeting = `tool "greet" {
  description = "Greet. Returns: the greeting."
  risk        = "read_only"
  command { argv = ["echo", "hello"] }
}
policy {
  rule "files stay" {
    tool   = "delete_file"
    action = "deny"
  }
}
`

// TestOpenBelievesNoMoreThanTheProgram has the same file once approved and once
// not.
func TestOpenBelievesNoMoreThanTheProgram(t *testing.T) {
	dir := newProject(t, greeting)
	tests := []struct {
		name    string
		options toolhost.Options
		counts  bool
	}{
		{"found", toolhost.Options{Workspace: dir}, false},
		{"named", toolhost.Options{Workspace: dir, Config: filepath.Join(dir, "agent.hcl")}, true},
		{"trusted", toolhost.Options{Workspace: dir, Trust: true}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			th := open(t, tt.options)
			assert.Equal(t, tt.counts, strings.Contains(strings.Join(names(t, th), " "), "greet"))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o644))
			refused := call(t, th, "delete_file", `{"path":"kept"}`)
			require.NotNil(t, refused.Err)
			assert.Equal(t, tool.Denied, refused.Err.Code)
			assert.FileExists(t, filepath.Join(dir, "kept"))
			out := call(t, th, "greet", `{}`)
			if !tt.counts {
				require.NotNil(t, out.Err)
				assert.Contains(t, out.Err.Suggestion, "toolhost trust")
				return
			}
			require.Nil(t, out.Err, "%v", out.Err)
			assert.Contains(t, out.Result.Text(), "hello")
		})
	}
}

func TestOpenAsksWhereAPersonMustAnswer(t *testing.T) {
	dir := newProject(t, "policy {\n  safe_write = \"ask\"\n  dangerous  = \"ask\"\n}\n")
	th := open(t, toolhost.Options{Workspace: dir})
	out := call(t, th, "write_file", `{"path":"a","content":"x"}`)
	require.NotNil(t, out.Err)
	assert.NoFileExists(t, filepath.Join(dir, "a"))
}

func TestOpenTellsMistakes(t *testing.T) {
	dir := newProject(t, "tool \"x\" {\n  descripton = \"\"\n}\n")
	_, err := toolhost.Open(t.Context(), toolhost.Options{Workspace: dir, Trust: true})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "descripton")
	assert.Contains(t, err.Error(), "agent.hcl:2")
}

// TestOpenFollowsItsFile changes the file while it is in force.
func TestOpenFollowsItsFile(t *testing.T) {
	dir := newProject(t, greeting)
	th := open(t, toolhost.Options{Config: filepath.Join(dir, "agent.hcl")})
	changed := strings.Replace(greeting, `"greet"`, `"welcome"`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"), []byte(changed), 0o644))
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(names(t, th), " "), "welcome") },
		time.Minute, 20*time.Millisecond)
}

// TestOpenRunsAToolsetThatIsAProcess needs Main, which TestMain calls.
func TestOpenRunsAToolsetThatIsAProcess(t *testing.T) {
	dir := newProject(t, "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644))
	th := open(t, toolhost.Options{Config: filepath.Join(dir, "agent.hcl"), Toolset: "clemini"})
	out := call(t, th, "read_file", `{"file_path":"a.txt"}`)
	require.Nil(t, out.Err, "%v", out.Err)
	assert.Contains(t, out.Result.Text(), "one")
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	dir := newProject(t, "mcp \"gone\" {\n  command = [\"./gone-${env(\"KEY\")}\"]\n}\n")
	t.Setenv("KEY", "s3cr3t-value-of-a-key")
	log := new(strings.Builder)
	th, err := toolhost.Open(t.Context(), toolhost.Options{Config: filepath.Join(dir, "agent.hcl"),
		Logger: newLogger(log)})
	require.NoError(t, err)
	_, err = th.Tools(t.Context())
	require.NoError(t, err)
	require.NoError(t, th.Close())
	assert.Contains(t, log.String(), "a source gives no tools")
	assert.NotContains(t, log.String(), "s3cr3t")
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestHTTPHandlerIsForThisMachineAlone(t *testing.T) {
	dir := newProject(t, "")
	th := open(t, toolhost.Options{Config: filepath.Join(dir, "agent.hcl")})
	const token = "a-token-of-many-characters"
	for _, o := range []toolhost.HTTPOptions{{}, {Token: "short"}, {Token: token, NoToken: true}} {
		_, err := th.HTTPHandler(o)
		require.Error(t, err)
	}
	handler, err := th.HTTPHandler(toolhost.HTTPOptions{NoToken: true})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	post := func(host string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(initialize))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.StatusCode
	}
	assert.Equal(t, http.StatusOK, post(""))
	assert.Equal(t, http.StatusForbidden, post("evil.example"))

	elsewhere := httptest.NewRequest(http.MethodPost, "http://192.0.2.1/mcp", strings.NewReader(initialize))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, elsewhere) // nothing says that only this machine reaches it
	assert.Equal(t, http.StatusForbidden, answer.Code)

	guarded, err := th.HTTPHandler(toolhost.HTTPOptions{Token: token})
	require.NoError(t, err)
	server.Config.Handler = guarded
	assert.Equal(t, http.StatusUnauthorized, post(""))
}

// TestEmbed builds the program that the README links in its own module and speaks to it.
func TestEmbed(t *testing.T) {
	testneed.NotShort(t, "builds a program")
	program, err := os.ReadFile("examples/embed/main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "(examples/embed/main.go)", "README.md links the program")
	assert.Less(t, strings.Count(string(program), "\n"), 40)

	binary := filepath.Join(t.TempDir(), "embed")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Dir = "examples/embed"
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	newProject(t, "")
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	s := start(t, exec.Command(binary, filepath.Join(root, "agent.hcl")))
	s.send(initialize)
	assert.Equal(t, "embed", dig(s.next(), "result", "serverInfo", "name"))
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	listed := fmt.Sprint(dig(s.next(), "result", "tools"))
	assert.Contains(t, listed, "name:read_file")
	assert.Contains(t, listed, "name:declaration", "agent.hcl is not in force")
	s.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"go.mod"}}}`)
	assert.Contains(t, fmt.Sprint(s.next()), "module github.com/toolhost/toolhost")
}

func dig(message map[string]any, path ...string) any {
	var at any = message
	for _, key := range path {
		inner, _ := at.(map[string]any)
		at = inner[key]
	}
	return at
}

// spoken is a program that speaks MCP on its streams.
type spoken struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func start(t *testing.T, cmd *exec.Cmd) *spoken {
	t.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		assert.NoError(t, cmd.Wait())
	})
	s := &spoken{t: t, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 16<<20)
	return s
}

func (s *spoken) send(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(s.t, err)
}

// next is the next answer; notifications are left out.
func (s *spoken) next() (message map[string]any) {
	s.t.Helper()
	for s.out.Scan() {
		message = nil
		require.NoError(s.t, json.Unmarshal(s.out.Bytes(), &message))
		if message["id"] != nil {
			return message
		}
	}
	require.FailNow(s.t, "the program has ended", "%v", s.out.Err())
	return nil
}

// newLogger writes into a text. Nothing logs any more when that is read.
func newLogger(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }
