package clientconfig_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/clientconfig"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var server = clientconfig.Server{Name: "toolhost", Command: "/usr/local/bin/toolhost",
	Args: []string{"serve", "--workspace", "/home/ada/my project"}}

func find(t testing.TB, id string) *clientconfig.Client {
	t.Helper()
	client, err := clientconfig.Find(id)
	require.NoError(t, err)
	return client
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), file)
}

// TestGolden installs into no file, into one with other entries and comments, and over an old entry;
// and uninstalls again.
func TestGolden(t *testing.T) {
	for _, client := range clientconfig.Clients() {
		t.Run(client.ID, func(t *testing.T) {
			dir := filepath.Join("testdata", client.ID)
			install := func(before []byte, name string) []byte {
				change, err := client.Install("config", before, server)
				require.NoError(t, err)
				require.True(t, change.Changed())
				golden(t, filepath.Join(dir, name), change.After)
				if client.Printed() {
					return nil // the user adds it
				}
				again, err := client.Install("config", change.After, server)
				require.NoError(t, err)
				require.True(t, again.Existed)
				require.False(t, again.Changed(), "a second time there is nothing to do")
				return change.After
			}
			install(nil, "new")
			if client.Printed() {
				return
			}
			existing, err := os.ReadFile(filepath.Join(dir, "existing"))
			require.NoError(t, err)
			installed := install(existing, "installed")
			stale, err := os.ReadFile(filepath.Join(dir, "stale"))
			require.NoError(t, err)
			repaired := install(stale, "repaired")

			change, err := client.Uninstall("config", installed, existing, server.Name)
			require.NoError(t, err)
			require.True(t, change.Existed)
			require.Equal(t, string(existing), string(change.After), "every byte is as it was before")
			change, err = client.Uninstall("config", repaired, stale, server.Name)
			require.NoError(t, err)
			golden(t, filepath.Join(dir, "uninstalled"), change.After)
			change, err = client.Uninstall("config", existing, nil, server.Name)
			require.NoError(t, err)
			require.False(t, change.Existed)
			require.False(t, change.Changed())
		})
	}
}

// TestRoundTrips installs into files of all shapes and uninstalls: the files are as before, byte for
// byte.
func TestRoundTrips(t *testing.T) {
	for name, tc := range map[string]struct{ client, text string }{
		"one line":           {"cursor", `{"mcpServers": {"a": {"command": "x"}}, "b": 1}`},
		"one line, no entry": {"cursor", `{"mcpServers": {}}`},
		"trailing comma": {"cursor",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // c\n  },\n}\n"},
		"trailing comma, a line": {"cursor", `{"mcpServers": {"a": 1, }, }`},
		"CRLF and BOM": {"cursor",
			"\uFEFF{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"} // c\r\n\t}\r\n}\r\n"},
		"no final newline": {"cursor", "{\n    \"mcpServers\": {\n        \"a\": {}\n    }\n}"},
		"comments all over": {"cursor",
			"// top\n{ // open\n  /* key */ \"mcpServers\" /* colon */ : /* value */ { // in\n" +
				"    \"a\" /* 1 */ : 1 /* 2 */\n    // 3\n  } // out\n} // bottom\n"},
		"no final newline, toml": {"codex", "[mcp_servers.a]\ncommand = \"x\""},
		"dotted keys":            {"codex", "mcp_servers.a.command = \"x\"\n\n[tui]\na = 1\n"},
		"CRLF toml":              {"codex", "a = 1\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			client := find(t, tc.client)
			change, err := client.Install("config", []byte(tc.text), server)
			require.NoError(t, err)
			require.True(t, change.Changed())
			back, err := client.Uninstall("config", change.After, []byte(tc.text), server.Name)
			require.NoError(t, err)
			require.Equal(t, tc.text, string(back.After), "installed:\n%s", change.After)
		})
	}
}

func TestRepairs(t *testing.T) {
	for name, tc := range map[string]struct{ client, text, want string }{
		"a key is missing": {"cursor", `{"mcpServers": {"toolhost": {"env": {}}}}`,
			`{"mcpServers": {"toolhost": {"env": {}, "type": "stdio", "command": "/usr/local/bin/toolhost", ` +
				`"args": ["serve", "--workspace", "/home/ada/my project"]}}}`},
		"a block of toolhost's own": {"codex", "a = 1\n\n[mcp_servers.toolhost]\ncommand = \"old\"\nargs = [\"serve\"]\n" +
			"startup_timeout_sec = 20 # mine\n\n[tui]\n",
			"a = 1\n\n[mcp_servers.toolhost]\ncommand = \"/usr/local/bin/toolhost\"\n" +
				"args = [\"serve\", \"--workspace\", \"/home/ada/my project\"]\nstartup_timeout_sec = 20 # mine\n\n[tui]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := find(t, tc.client).Install("config", []byte(tc.text), server)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(change.After))
		})
	}
}

// TestUninstallLeavesNothing removes what install added on the way to the entry, and nothing else.
func TestUninstallLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct{ client, original, want string }{
		"no file, JSON": {"opencode", "", ""},
		"no file, TOML": {"codex", "", ""},
		"not there, JSON": {"opencode", "{\n  \"theme\": \"system\" // mine\n}\n",
			"{\n  \"theme\": \"system\" // mine\n}\n"},
		"empty before, JSON": {"opencode", `{"mcp": {}}`, `{"mcp": {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			client := find(t, tc.client)
			var original []byte
			if tc.original != "" {
				original = []byte(tc.original)
			}
			first, err := client.Install("config", original, server)
			require.NoError(t, err)
			other := server
			other.Command = "/moved/toolhost"
			second, err := client.Install("config", first.After, other)
			require.NoError(t, err)
			require.True(t, second.Changed())
			back, err := client.Uninstall("config", second.After, original, server.Name)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(back.After), "installed:\n%s", first.After)
		})
	}
}

// TestEnvironment: for clients that filter the environment, the entry names the variables that the
// server needs, besides the user's own.
func TestEnvironment(t *testing.T) {
	needs := server
	needs.Args, needs.Env = []string{"serve"}, []string{"A_TOKEN", "XDG_CONFIG_HOME"}
	for name, tc := range map[string]struct{ client, before, want string }{
		"codex": {"codex", "", "[mcp_servers.toolhost]\ncommand = \"/usr/local/bin/toolhost\"\nargs = [\"serve\"]\n" +
			"env_vars = [\"A_TOKEN\", \"XDG_CONFIG_HOME\"]\n"},
		"codex, some named": {"codex",
			"[mcp_servers.toolhost]\ncommand = \"/usr/local/bin/toolhost\"\nargs = [\"serve\"]\nenv_vars = [\"MINE\", \"A_TOKEN\"]\n",
			"[mcp_servers.toolhost]\ncommand = \"/usr/local/bin/toolhost\"\nargs = [\"serve\"]\n" +
				"env_vars = [\"MINE\", \"A_TOKEN\", \"XDG_CONFIG_HOME\"]\n"},
		"gemini": {"gemini-cli", "",
			"{\n  \"mcpServers\": {\n    \"toolhost\": {\n      \"command\": \"/usr/local/bin/toolhost\",\n" +
				"      \"args\": [\"serve\"],\n      \"env\": {\n        \"A_TOKEN\": \"${A_TOKEN:-}\",\n" +
				"        \"XDG_CONFIG_HOME\": \"${XDG_CONFIG_HOME:-}\"\n      }\n    }\n  }\n}\n"},
		"gemini, some set": {"gemini-cli",
			`{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"], "env": {"A_TOKEN": "fixed"}}}}`,
			`{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"], "env": ` +
				`{"A_TOKEN": "fixed", "XDG_CONFIG_HOME": "${XDG_CONFIG_HOME:-}"}}}}`},
		"roo": {"roo-code", `{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"]}}}`,
			`{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"], "env": ` +
				`{"A_TOKEN": "${env:A_TOKEN}", "XDG_CONFIG_HOME": "${env:XDG_CONFIG_HOME}"}}}}`},
		"a client that passes all on": {"kiro",
			`{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"]}}}`,
			`{"mcpServers": {"toolhost": {"command": "/usr/local/bin/toolhost", "args": ["serve"]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			client := find(t, tc.client)
			change, err := client.Install("config", []byte(tc.before), needs)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(change.After))
			again, err := client.Install("config", change.After, needs)
			require.NoError(t, err)
			require.False(t, again.Changed(), "a second time there is nothing to do")
		})
	}
}

// TestLinks reads the links as the clients do.
func TestLinks(t *testing.T) {
	awkward := clientconfig.Server{Name: "my tools & more", Command: "/opt/tool host/toolhost",
		Args: []string{"serve", "--workspace", "${workspaceFolder}/a+b%20"}}
	entry := map[string]any{"type": "stdio", "command": awkward.Command,
		"args": []any{"serve", "--workspace", "${workspaceFolder}/a+b%20"}}

	link, err := find(t, "cursor").Link(awkward)
	require.NoError(t, err)
	require.NotContains(t, link, "+", "some programs take it for a blank")
	parsed, err := url.Parse(link)
	require.NoError(t, err)
	require.Equal(t, "cursor://anysphere.cursor-deeplink/mcp/install", parsed.Scheme+"://"+parsed.Host+parsed.Path)
	require.Equal(t, awkward.Name, parsed.Query().Get("name"))
	text, err := base64.StdEncoding.DecodeString(parsed.Query().Get("config"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, entry, got)

	link, err = find(t, "vscode").Link(awkward)
	require.NoError(t, err)
	query, ok := strings.CutPrefix(link, "vscode:mcp/install?")
	require.True(t, ok, link)
	require.NotContains(t, query, "+")
	plain, err := url.PathUnescape(query)
	require.NoError(t, err)
	got = nil
	require.NoError(t, json.Unmarshal([]byte(plain), &got))
	entry["name"] = awkward.Name
	require.Equal(t, entry, got)

	_, err = find(t, "codex").Link(awkward)
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unsupported})
}

func TestFilesThatAreLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		client, text, message string
		code                  tool.Code
	}{
		"broken JSON":  {"cursor", "{\n  \"a\": 1,\n  \"b\": oops\n}\n", "line 3", tool.InvalidArgument},
		"broken TOML":  {"codex", "a = 1\nb = = 2\n", "line 2", tool.InvalidArgument},
		"broken YAML":  {"goose", "a: 1\nb: [1\nc: 2\n", "line", tool.InvalidArgument},
		"YAML":         {"goose", "a: 1\n", "toolhost does not edit YAML", tool.Unsupported},
		"inline table": {"codex", "mcp_servers = { other = { command = \"x\" } }\n", "a table cannot be added", tool.Unsupported},
		"inline entry": {"codex", "[mcp_servers]\ntoolhost = { command = \"old\" }\n", "not as toolhost wrote it", tool.Unsupported},
		"dotted entry": {"codex", "mcp_servers.toolhost.command = 'old'\n", "not as toolhost wrote it", tool.Unsupported},
		"edited entry": {"codex", "[mcp_servers.toolhost]\n# mine\ncommand = \"old\"\n", "not as toolhost wrote it",
			tool.Unsupported},
		"duplicate TOML": {"codex", "a = 1\na = 2\n", "a", tool.InvalidArgument},
		"a list":         {"cursor", "[1, 2]", "object", tool.InvalidArgument},
		"not an object":  {"cursor", "{\n  \"mcpServers\": 7\n}", "line 2", tool.Unsupported},
		"not a table":    {"codex", "mcp_servers = 7\n", "", tool.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := find(t, tc.client).Install("config.file", []byte(tc.text), server)
			if err == nil {
				t.Fatalf("it was edited:\n%s", change.After)
			}
			assert.Equal(t, tc.code, tool.CodeOf(err), err.Error())
			assert.ErrorContains(t, err, "config.file")
			assert.ErrorContains(t, err, tc.message)
		})
	}
}

// TestEntriesThatHoldMore has entries to which the user added something.
func TestEntriesThatHoldMore(t *testing.T) {
	const own = "[mcp_servers.toolhost]\ncommand = \"/usr/local/bin/toolhost\"\nargs = [\"serve\"]\n"
	change, err := find(t, "codex").Uninstall("config.file", []byte("[tui]\na = 1\n\n"+own+"startup_timeout_sec = 20\n"),
		nil, "toolhost")
	require.NoError(t, err)
	assert.Equal(t, "[tui]\na = 1\n", string(change.After), "a line of its table goes with it")
	for _, more := range []string{"\nenabled = true\n", "# mine\nenabled = true\n",
		"\n[mcp_servers.toolhost.env]\nA = \"b\"\n"} {
		_, err := find(t, "codex").Uninstall("config.file", []byte("[tui]\na = 1\n\n"+own+more), nil, "toolhost")
		require.Error(t, err, more)
		assert.NotEmpty(t, tool.AsError(err).Suggestion)
	}
}

func machine(system string, env map[string]string) clientconfig.Machine {
	return clientconfig.Machine{OS: system,
		Home: map[string]string{"linux": "/home/ada", "darwin": "/Users/ada"}[system],
		Env:  func(name string) string { return env[name] }}
}

// TestPlaces has the paths from the clients' documentation.
func TestPlaces(t *testing.T) {
	for id, want := range map[string][2]string{
		"amp": {"/home/ada/.config/amp/settings.json", "/Users/ada/.config/amp/settings.json"},
		"cline": {"/home/ada/.cline/data/settings/cline_mcp_settings.json",
			"/Users/ada/.cline/data/settings/cline_mcp_settings.json"},
		"continue":  {"/home/ada/.continue/config.yaml", "/Users/ada/.continue/config.yaml"},
		"copilot":   {"/home/ada/.copilot/mcp-config.json", "/Users/ada/.copilot/mcp-config.json"},
		"crush":     {"/home/ada/.config/crush/crush.json", "/Users/ada/.config/crush/crush.json"},
		"junie":     {"/home/ada/.junie/mcp/mcp.json", "/Users/ada/.junie/mcp/mcp.json"},
		"kilo":      {"/home/ada/.config/kilo/kilo.json", "/Users/ada/.config/kilo/kilo.json"},
		"kiro":      {"/home/ada/.kiro/settings/mcp.json", "/Users/ada/.kiro/settings/mcp.json"},
		"lm-studio": {"/home/ada/.lmstudio/mcp.json", "/Users/ada/.lmstudio/mcp.json"},
		"qwen-code": {"/home/ada/.qwen/settings.json", "/Users/ada/.qwen/settings.json"},
		"roo-code": {"/home/ada/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
			"/Users/ada/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/" +
				"mcp_settings.json"},
		"claude-code": {"/home/ada/.claude.json", "/Users/ada/.claude.json"},
		"claude-desktop": {"/home/ada/.config/Claude/claude_desktop_config.json",
			"/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"},
		"codex":      {"/home/ada/.codex/config.toml", "/Users/ada/.codex/config.toml"},
		"cursor":     {"/home/ada/.cursor/mcp.json", "/Users/ada/.cursor/mcp.json"},
		"gemini-cli": {"/home/ada/.gemini/settings.json", "/Users/ada/.gemini/settings.json"},
		"goose":      {"/home/ada/.config/goose/config.yaml", "/Users/ada/.config/goose/config.yaml"},
		"opencode":   {"/home/ada/.config/opencode/opencode.json", "/Users/ada/.config/opencode/opencode.json"},
		"vscode": {"/home/ada/.config/Code/User/mcp.json",
			"/Users/ada/Library/Application Support/Code/User/mcp.json"},
		"windsurf": {"/home/ada/.codeium/windsurf/mcp_config.json",
			"/Users/ada/.codeium/windsurf/mcp_config.json"},
		"zed": {"/home/ada/.config/zed/settings.json", "/Users/ada/.config/zed/settings.json"},
	} {
		client := find(t, id)
		assert.Equal(t, want[0], client.UserFiles(machine("linux", nil))[0], id)
		assert.Equal(t, want[1], client.UserFiles(machine("darwin", nil))[0], id)
	}
	assert.Equal(t, "/x/.claude.json",
		find(t, "claude-code").UserFiles(machine("linux", map[string]string{"CLAUDE_CONFIG_DIR": "/x"}))[0])
	assert.Equal(t, "/x/config.toml",
		find(t, "codex").UserFiles(machine("linux", map[string]string{"CODEX_HOME": "/x"}))[0])
	assert.Equal(t, "/x/zed/settings.json",
		find(t, "zed").UserFiles(machine("linux", map[string]string{"XDG_CONFIG_HOME": "/x"}))[0])
	require.Len(t, clientconfig.Clients(), 21)
	_, err := clientconfig.Find("cursr")
	require.Contains(t, tool.AsError(err).Suggestion, `"cursor"`)
	_, err = find(t, "windsurf").ProjectFile("/p")
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unsupported})
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "mcp.json"), filepath.Join(dir, "home", "mcp.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(real), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(t, os.WriteFile(real, []byte("{}\n"), 0o640))
	require.NoError(t, os.Symlink(real, link))
	client := find(t, "cursor")
	before, err := clientconfig.Read(link)
	require.NoError(t, err)
	change, err := client.Install(link, before, server)
	require.NoError(t, err)
	require.NoError(t, change.Write())
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the symlink is still one")
	info, err = os.Stat(real)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	require.Equal(t, string(change.After), string(text))
	old, err := os.ReadFile(real + clientconfig.BackupSuffix)
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(old))

	err = change.Write()
	require.ErrorIs(t, err, &tool.Error{Code: tool.Conflict}, "the file is no longer as it was read")
	old, err = os.ReadFile(real + clientconfig.BackupSuffix)
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(old), "the copy is that of the change that was made")
	require.NoError(t, os.Remove(real+clientconfig.BackupSuffix))
	require.ErrorIs(t, change.Write(), &tool.Error{Code: tool.Conflict})
	require.NoFileExists(t, real+clientconfig.BackupSuffix, "nothing was changed")

	fresh := filepath.Join(dir, "new", "deep", "mcp.json")
	change, err = client.Install(fresh, nil, server)
	require.NoError(t, err)
	require.NoError(t, change.Write())
	entries, err := os.ReadDir(filepath.Dir(fresh))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no backup of nothing, no temporary file")
	require.Equal(t, fresh, clientconfig.Choose([]string{filepath.Join(dir, "none"), fresh}))
}

// TestUninstallRemovesWhatItEmpties removes a file that install made, for every client, and no earlier
// file. The last content is kept, since it may have been changed.
func TestUninstallRemovesWhatItEmpties(t *testing.T) {
	run := func(t *testing.T, file string, work func(before, original []byte) (*clientconfig.Change, error)) {
		t.Helper()
		before, err := clientconfig.Read(file)
		require.NoError(t, err)
		original, err := clientconfig.ReadOriginal(file)
		require.NoError(t, err)
		change, err := work(before, original)
		require.NoError(t, err)
		require.NoError(t, change.Write())
	}
	for _, client := range clientconfig.Clients() {
		if client.Printed() {
			continue
		}
		install := func(s clientconfig.Server, file string) {
			run(t, file, func(before, _ []byte) (*clientconfig.Change, error) { return client.Install(file, before, s) })
		}
		uninstall := func(file string) {
			run(t, file, func(before, original []byte) (*clientconfig.Change, error) {
				return client.Uninstall(file, before, original, server.Name)
			})
		}
		t.Run(client.ID, func(t *testing.T) {
			dir := t.TempDir()
			fresh := filepath.Join(dir, "config")
			install(server, fresh)
			uninstall(fresh)
			moved := server
			moved.Command = "/elsewhere/toolhost"
			install(server, fresh)
			install(moved, fresh) // with a backup of its own
			last, err := clientconfig.Read(fresh)
			require.NoError(t, err)
			uninstall(fresh)
			require.NoFileExists(t, fresh)
			kept, err := clientconfig.Read(fresh + clientconfig.BackupSuffix)
			require.NoError(t, err)
			require.Equal(t, string(last), string(kept))

			theirs := filepath.Join(dir, "theirs")
			require.NoError(t, os.WriteFile(theirs, []byte("\n"), 0o600))
			install(server, theirs)
			uninstall(theirs)
			require.FileExists(t, theirs)
		})
	}
}

// FuzzInstall installs into any file that the client could read. The result holds the entry and
// everything else (Install verifies that and fails with code internal otherwise), and the entry can be
// removed again.
func FuzzInstall(f *testing.F) {
	ids := []string{"cursor", "codex", "opencode", "cline"}
	for i, id := range ids {
		for _, name := range []string{"existing", "stale"} {
			text, err := os.ReadFile(filepath.Join("testdata", id, name))
			if err == nil {
				f.Add(uint8(i), string(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		client := find(t, ids[int(which)%len(ids)])
		change, err := client.Install("config", []byte(text), server)
		if err != nil {
			return
		}
		back, err := client.Uninstall("config", change.After, []byte(text), server.Name)
		if err != nil && tool.CodeOf(err) != tool.Unsupported && !strings.Contains(text, "toolhost") {
			t.Fatalf("%v\nbefore:\n%s\nafter:\n%s", err, text, change.After)
		}
		if err == nil && !back.Existed {
			t.Fatal("the entry is not there")
		}
	})
}
