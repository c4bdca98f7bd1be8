package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// released returns the directory of a release to install from, RELEASE_DIST.
func released(t *testing.T) string {
	t.Helper()
	dist := os.Getenv("RELEASE_DIST")
	if dist == "" {
		missing(t, "RELEASE_DIST names no release to install; make release-test makes one")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		missing(t, "artifacts are started on linux/amd64")
	}
	return dist
}

// artifact returns the release's one file whose name matches.
func artifact(t *testing.T, dist, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// missing skips a test for what this machine lacks, or fails it if TOOLHOST_TEST_ALL is set.
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_ALL") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// needed returns the path of a program of this machine, or skips the test.
func needed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	missing(t, program+" is missing")
	return ""
}

func command(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(argv, " "), out)
}

// TestInstall installs each channel into an empty root with that channel's own
// program, and uses toolhost as its users do, with an empty PATH.
func TestInstall(t *testing.T) {
	dist := released(t)
	tests := []struct {
		name    string
		channel string
		install func(t *testing.T, root string) (argv []string)
	}{
		{"archive", "archive", func(t *testing.T, root string) []string {
			command(t, root, needed(t, "tar"), "xzf", artifact(t, dist, "toolhost_*_linux_amd64.tar.gz"), "--strip-components=1")
			return []string{filepath.Join(root, "bin/toolhost")}
		}},
		{"deb", "deb", func(t *testing.T, root string) []string {
			command(t, root, needed(t, "dpkg-deb"), "-x", artifact(t, dist, "toolhost_*_amd64.deb"), root)
			return []string{filepath.Join(root, "usr/bin/toolhost")}
		}},
		{"rpm", "rpm", func(t *testing.T, root string) []string {
			unpackRPM(t, artifact(t, dist, "toolhost-[0-9]*.x86_64.rpm"), root)
			return []string{filepath.Join(root, "usr/bin/toolhost")}
		}},
		{"rpm, by its own format", "rpm", func(t *testing.T, root string) []string {
			unpackTo(t, artifact(t, dist, "toolhost-[0-9]*.x86_64.rpm"), root)
			return []string{filepath.Join(root, "usr/bin/toolhost")}
		}},
		{"npm", "npm", func(t *testing.T, root string) []string {
			node := needed(t, "node")
			require.NoError(t, os.WriteFile(filepath.Join(root, "package.json"), []byte(`{"private": true}`), 0o644))
			command(t, root, needed(t, "npm"), "install", "--offline", "--no-audit", "--no-fund", "--cache",
				filepath.Join(root, "cache"), artifact(t, dist, "toolhost-linux-x64-*.tgz"), artifact(t, dist, "toolhost-toolhost-*.tgz"))
			return []string{node, filepath.Join(root, "node_modules/.bin/toolhost")}
		}},
		{"MCP bundle", "mcpb", func(t *testing.T, root string) []string {
			unpackTo(t, artifact(t, dist, "toolhost_*_linux_amd64.mcpb"), root)
			text, err := os.ReadFile(filepath.Join(root, "manifest.json"))
			require.NoError(t, err)
			var m bundleManifest
			require.NoError(t, json.Unmarshal(text, &m))
			return []string{strings.Replace(m.Server.Config.Command, "${__dirname}", root, 1)}
		}},
		{"image", "image", func(t *testing.T, root string) []string {
			unpackTo(t, artifact(t, dist, "toolhost_*.oci.tar"), root)
			return []string{filepath.Join(root, "linux-amd64/usr/bin/toolhost")}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, project := t.TempDir(), testProject(t) // builds a program
			began := time.Now()
			p := installedProgram{t: t, argv: tt.install(t, root), project: project, home: t.TempDir()}
			p.call("list_files")
			assert.Less(t, time.Since(began), time.Minute, "from the install line to the first call")
			p.answers(tt.channel)
		})
	}
}

// unpackRPM unpacks with rpm's own program, below root.
func unpackRPM(t *testing.T, artifact, root string) {
	t.Helper()
	command(t, root, "sh", "-c", `"$1" "$3" | "$2" -idm --quiet --no-absolute-filenames`, "sh", needed(t, "rpm2cpio"),
		needed(t, "cpio"), artifact)
}

func unpackTo(t *testing.T, artifact, dir string) {
	t.Helper()
	files, err := readArtifact(artifact)
	require.NoError(t, err)
	require.NoError(t, writeFiles(dir, files))
}

// testProject makes a project with a tool of each source.
func testProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, writeFiles(dir, []file{
		{path: "agent.hcl", mode: 0o644, data: []byte(`
workspace { root = "." }

tool "greet" {
  description = "Greets."
  risk        = "read_only"
  command { argv = ["/bin/echo", "hello from a command"] }
}

taskfile { path = "Taskfile.yml" }

plugin "wordcount" { source = "./toolhost-plugin-wordcount" }

mcp "notes" {
  command = ["./notes-server"]
  prefix  = "notes_"
  env     = { RELEASE_PLAYS = "notes" }
}
`)},
		{path: "Taskfile.yml", mode: 0o644, data: []byte(`version: "3"
tasks:
  hello:
    desc: Greets.
    cmds: ["echo hello from a task"]
`)},
		{path: "text.txt", mode: 0o644, data: []byte("alpha\n")},
		{path: "toolhost-plugin-wordcount", mode: 0o755, data: thirdParty(t)},
		{path: "notes-server", mode: 0o755, data: thisProgram(t)},
	}))
	return dir
}

var builtPlugin = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "toolhost-plugin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-C", "../../examples/plugin-go", "-o", filepath.Join(dir, "plugin"), ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "plugin"))
})

// thirdParty returns a plugin that is not part of toolhost.
func thirdParty(t *testing.T) []byte {
	t.Helper()
	program, err := builtPlugin()
	require.NoError(t, err)
	return program
}

func thisProgram(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	return program
}

// playNotes is an MCP server with one tool, independent of toolhost.
func playNotes(in io.Reader, out io.Writer) {
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"read","description":"Reads the note.","inputSchema":{"type":"object"},` +
			`"annotations":{"readOnlyHint":true}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"a note of another server"}]}`,
		"ping":       `{}`,
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		if answer, ok := answers[request.Method]; ok {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, answer)
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", request.ID)
	}
}

type installedProgram struct {
	t             *testing.T
	argv          []string
	project, home string
	path          string // PATH
}

func (p installedProgram) command(args ...string) *exec.Cmd {
	ctx, stop := context.WithTimeout(p.t.Context(), 2*time.Minute)
	p.t.Cleanup(stop)
	argv := append(append([]string{}, p.argv...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.project
	cmd.Env = []string{"PATH=" + p.path, "HOME=" + p.home, "TOOLHOST_TRUST=1"}
	return cmd
}

func (p installedProgram) run(args ...string) string {
	p.t.Helper()
	var out, problems bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(p.t, cmd.Run(), "toolhost %s: %s%s", strings.Join(args, " "), problems.Bytes(), out.Bytes())
	return out.String()
}

func (p installedProgram) call(args ...string) string {
	p.t.Helper()
	return p.run(append([]string{"call"}, args...)...)
}

// answers makes it print its version and helpers, list and call a tool of each
// source, confine a command and serve.
func (p installedProgram) answers(channel string) {
	t := p.t
	t.Helper()
	var version struct {
		Version, Channel string
		Helpers          []struct{ Name, Version, Problem string }
		Missing          []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(p.run("version", "--json")), &version))
	assert.Equal(t, channel, version.Channel)
	assert.Empty(t, version.Missing, "all helpers are found with an empty PATH")
	assert.Len(t, version.Helpers, len(helpers))
	for _, h := range version.Helpers {
		assert.Equal(t, version.Version, h.Version, h.Name)
		assert.Empty(t, h.Problem, h.Name)
	}
	list := p.run("list")
	for _, tool := range []string{"greet", "edit_file", "read_file", "list_commands"} {
		assert.Contains(t, list, tool)
	}
	assert.Contains(t, p.call("greet"), "hello from a command", "a confined command")
	assert.Contains(t, p.call("list_commands"), "hello", "toolhost-task")
	assert.Contains(t, p.call("run_command", "command=hello"), "hello from a task")
	assert.Contains(t, p.call("read_file", "path=text.txt"), "alpha", "a file tool")
	assert.Contains(t, p.call("--toolset", "agentbench", "list_files", "root=."), "text.txt", "a shipped plugin")
	assert.Contains(t, p.call("count_words", "text=to be or not to be"), "6", "a third party's plugin")
	assert.Contains(t, p.call("notes_read"), "a note of another server", "another MCP server")
	assert.NotEmpty(t, p.call("--toolset", "ocode", "architect", "analysis_type=overview"), "toolhost-architect")
	p.serves()
}

func (p installedProgram) serves() {
	t := p.t
	t.Helper()
	cmd := p.command("serve")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	reader := bufio.NewReader(out)
	ask := func(id int, request string) map[string]any {
		_, err := io.WriteString(in, request+"\n")
		require.NoError(t, err)
		for {
			line, err := reader.ReadBytes('\n')
			require.NoError(t, err)
			var answer map[string]any
			require.NoError(t, json.Unmarshal(line, &answer))
			if answer["id"] == float64(id) {
				return answer
			}
		}
	}
	hello := ask(1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"test","version":"1"}}}`)
	assert.Contains(t, hello, "result")
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(t, err)
	tools, err := json.Marshal(ask(2, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	require.NoError(t, err)
	assert.Contains(t, string(tools), `"greet"`)
	require.NoError(t, in.Close())
	assert.NoError(t, cmd.Wait(), "it ends with its input")
}
