package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInstallHub installs toolhost, which then says how to add the hub, and the hub
// beside it by the same channel. With an empty PATH toolhost finds it, and serves a
// fleet.
func TestInstallHub(t *testing.T) {
	dist := released(t)
	tests := []struct {
		name, program  string
		toolhost, hub  string // the artifacts
		install        func(t *testing.T, artifact, root string)
		says, licenses string
	}{
		{"archive", "bin/toolhost", "toolhost_*_linux_amd64.tar.gz", "toolhost-hub_*_linux_amd64.tar.gz",
			func(t *testing.T, artifact, root string) {
				command(t, root, needed(t, "tar"), "xzf", artifact, "--strip-components=1")
			}, `unpack the archive toolhost-hub_\S+_linux_amd64 of the same release`, licensesFile},
		// dpkg needs root's programs on PATH; only these two packages are configured.
		{"deb", "usr/bin/toolhost", "toolhost_*_amd64.deb", "toolhost-hub_*_amd64.deb",
			func(t *testing.T, artifact, root string) {
				command(t, root, needed(t, "dpkg"), "--root="+root, "--force-not-root", "--force-bad-path",
					"--force-script-chrootless", "--install", artifact)
			}, `toolhost-hub is a package of its own`, "usr/share/doc/toolhost-hub/" + licensesFile},
		{"rpm", "usr/bin/toolhost", "toolhost-[0-9]*.x86_64.rpm", "toolhost-hub-*.x86_64.rpm", unpackRPM,
			`toolhost-hub is a package of its own`, "usr/share/doc/toolhost-hub/" + licensesFile},
		{"archive elsewhere", "bin/toolhost", "toolhost_*_linux_amd64.tar.gz", "toolhost-hub_*_linux_amd64.tar.gz",
			func(t *testing.T, artifact, root string) {
				if strings.Contains(filepath.Base(artifact), "hub") {
					root = filepath.Join(root, "hub")
					require.NoError(t, os.Mkdir(root, 0o755))
				}
				command(t, root, needed(t, "tar"), "xzf", artifact, "--strip-components=1")
			}, `unpack the archive`, "hub/" + licensesFile},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			tt.install(t, artifact(t, dist, tt.toolhost), root)
			p := installedProgram{t: t, argv: []string{filepath.Join(root, tt.program)}, project: testProject(t),
				home: t.TempDir(), path: filepath.Join(root, "hub", "libexec", "toolhost")}
			out, err := p.command("hub", "--help").CombinedOutput()
			assert.Error(t, err, "there is no hub yet")
			assert.Regexp(t, tt.says, string(out))
			assert.NotContains(t, p.run("version"), hub)

			tt.install(t, artifact(t, dist, tt.hub), root)
			assert.Regexp(t, `(?m)^toolhost-hub v\S+ `+regexp.QuoteMeta(root), p.run("version"))
			assert.Contains(t, p.run("hub", "--help"), "--listen")
			assert.Contains(t, p.run("fleet", "--help"), "workers")
			texts, err := os.ReadFile(filepath.Join(root, tt.licenses))
			require.NoError(t, err)
			assert.Contains(t, string(texts), "github.com/nats-io/nats-server/v2@")
			p.servesFleet()
		})
	}
}

// dpkg refuses a hub without the toolhost of its version.
func TestHubPackageFitsToolhost(t *testing.T) {
	dist := released(t)
	dpkg, deb := needed(t, "dpkg"), needed(t, "dpkg-deb")
	root := t.TempDir()
	artifactOfHub := artifact(t, dist, "toolhost-hub_*_amd64.deb")
	_, err := outputOf(t, dpkg, "--root="+root, "--force-not-root", "--force-bad-path", "--install", artifactOfHub)
	assert.ErrorContains(t, err, "toolhost-hub depends on toolhost (= ")
	version, err := outputOf(t, deb, "-f", artifact(t, dist, "toolhost_*_amd64.deb"), "Version")
	require.NoError(t, err)
	needs, err := outputOf(t, deb, "-f", artifactOfHub, "Depends")
	require.NoError(t, err)
	assert.Equal(t, "toolhost (= "+strings.TrimSpace(version)+")", strings.TrimSpace(needs))
}

func TestSameVersion(t *testing.T) {
	assert.Equal(t, "toolhost (= 1.2.3-1)", sameVersion("deb", name, "v1.2.3"))
	assert.Equal(t, "toolhost (= 1.2.3~rc.1-1)", sameVersion("deb", name, "v1.2.3-rc.1"))
	assert.Equal(t, "toolhost = 1.2.3~rc.1-1", sameVersion("rpm", name, "v1.2.3-rc.1"))
}

// servesFleet runs a hub, two workers and a gateway in one process for a client
// that initializes and calls a tool.
func (p installedProgram) servesFleet() {
	t := p.t
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := p.command("serve", "--http", "127.0.0.1:0", "--workers", "2", "--trust", "--no-token", "--workspace", p.project)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	lines, url := bufio.NewScanner(said), ""
	var all strings.Builder
	for url == "" && lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if found := regexp.MustCompile(`serves MCP at (\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			url = strings.TrimRight(found[1], `".,`)
		}
	}
	require.NotEmpty(t, url, "%s", all.String())
	go func() { _, _ = io.Copy(io.Discard, said) }()

	c := fleetClient{t: t, ctx: ctx, url: url}
	answers, ended := c.meet()
	for ended { // a machine may be too busy to hear its workers; a client then restarts
		answers, ended = c.meet()
	}
	assert.Contains(t, answers, `"greet"`)
	assert.Contains(t, answers, "hello from a command")
	assert.Contains(t, answers, "hello from a task")
}

// meet initializes, lists the tools and calls one. It returns the answers, or that
// the session has ended.
func (c *fleetClient) meet() (answers string, ended bool) {
	c.session = ""
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"hello"}}}`,
	} {
		answer, gone := c.ask(message)
		if gone {
			return "", true
		}
		require.NotEmpty(c.t, c.session)
		answers += answer
	}
	return answers, false
}

type fleetClient struct {
	t            *testing.T
	ctx          context.Context
	url, session string
}

// ask sends a message and returns its answer as JSON; "" for a notification. The
// gateway reports an ended session by 404, and no known worker by 503.
func (c *fleetClient) ask(message string) (answer string, ended bool) {
	t := c.t
	t.Helper()
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.url, strings.NewReader(message))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
		request.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable ||
		response.StatusCode == http.StatusNotFound && c.session != "" {
		return "", true
	}
	if response.StatusCode >= 300 {
		problem, _ := io.ReadAll(response.Body)
		require.Fail(t, response.Status, "%s: %s", message, problem)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	body := bufio.NewScanner(response.Body)
	body.Buffer(nil, 16<<20)
	for body.Scan() {
		line := bytes.TrimPrefix(body.Bytes(), []byte("data: "))
		var answer struct{ ID, Result json.RawMessage }
		if json.Unmarshal(line, &answer) == nil && answer.ID != nil && answer.Result != nil {
			return string(line), false
		}
	}
	return "", false
}

// outputOf runs a program; its stderr is in the error.
func outputOf(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	if err != nil {
		err = failed(argv[0], err)
	}
	return string(out), err
}
