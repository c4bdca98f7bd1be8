package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/gateway"
)

// The program knows the commands of docs/FLEET.md, and its fleet.hcl can be read.
func TestFleetDocument(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "FLEET.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```(sh|hcl)\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	require.NotEmpty(t, blocks)
	lines := 0
	for _, block := range blocks {
		if block[1] == "hcl" {
			token := filepath.Join(t.TempDir(), "token")
			require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef"), 0o600))
			file := filepath.Join(t.TempDir(), "fleet.hcl")
			text := strings.ReplaceAll(block[2], "/etc/toolhost/team-a.token", filepath.ToSlash(token))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, err := gateway.Load(file)
			require.NoError(t, err)
			continue
		}
		for line := range strings.Lines(block[2]) {
			words := strings.Fields(line)
			require.Equal(t, "toolhost", words[0])
			root := new(app).root()
			command, rest, err := root.Find(words[1:])
			require.NoError(t, err, line)
			assert.NotEqual(t, root, command, line)
			require.NoError(t, command.ParseFlags(rest), line)
			if command.Args != nil {
				assert.NoError(t, command.Args(command, command.Flags().Args()), line)
			}
			lines++
		}
	}
	assert.Greater(t, lines, 3)
}

// The first command of docs/FLEET.md: a whole fleet in one process.
func TestFleetInOneProcess(t *testing.T) {
	p := newPlace(t)
	// Not in the directory of the programs' state: at level landlock it could not
	// be hidden from commands.
	work := filepath.Dir(p.write("project/agent.hcl", notes))
	s := p.start("serve", "--http", "127.0.0.1:0", "--workers", "2", "--trust", "--no-token", "--workspace", work)
	url := s.find(`serves MCP at (\S+)`)
	knows(t, strings.TrimSuffix(url, "/mcp"), 2)
	one := session(t, url)
	assert.Equal(t, "hello", strings.TrimSpace(text(callTool(t, one, "note", note("hello"), nil))))
	data, err := os.ReadFile(filepath.Join(work, "notes.txt"))
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(data))
}

// The commands that show and steer a fleet.
func TestFleetCommands(t *testing.T) {
	f := newFleet(t, 2)
	s := session(t, f.url)
	callTool(t, s, "note", note("one"), nil)
	ask := func(args ...string) string {
		return f.output(append(append([]string{"fleet"}, args...), "--hub", f.hubURL, "--key", f.key("gateway"))...)
	}
	f.waitFor(func() bool { return strings.Count(ask("workers"), "\n") == 3 }) // it listens for a second
	assert.Contains(t, ask("calls"), "note")
	sessions := ask("sessions", "--json")
	id := regexp.MustCompile(`"session":"(\w+)"`).FindStringSubmatch(sessions)
	worker := regexp.MustCompile(`"worker":"([\w.]+)"`).FindStringSubmatch(sessions)
	require.NotNil(t, id, sessions)
	require.NotNil(t, worker, sessions)
	steer := func(action string) { // a worker not heard in that second cannot be steered
		f.waitFor(func() bool {
			return f.command("fleet", action, worker[1], "--hub", f.hubURL, "--key", f.key("gateway")).Run() == nil
		})
	}
	steer("cordon")
	f.waitFor(func() bool { return strings.Contains(ask("workers"), "cordoned") })
	ask("move", id[1])
	f.waitFor(func() bool { return !strings.Contains(ask("sessions", "--json"), worker[1]) })
	assert.Equal(t, "one\ntwo", strings.TrimSpace(text(callTool(t, s, "note", note("two"), nil))))
	assert.NotContains(t, ask("sessions", "--json"), worker[1], "a cordoned worker gets no session")
	steer("drain")
	f.waitFor(func() bool { return strings.Count(ask("workers"), "\n") == 2 })
}
