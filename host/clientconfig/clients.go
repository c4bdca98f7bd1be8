package clientconfig

import (
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// Client is an MCP client whose configuration files are known.
type Client struct {
	// ID is what the command line calls it, Title what people do.
	ID, Title string
	// StartsInProject is true when the client starts servers in the directory
	// of the project that is open.
	StartsInProject bool
	// ProjectArg is what the client replaces by the project's directory in
	// arguments; empty when there is nothing.
	ProjectArg string
	// ProjectArgForUser is true when that works in the user's own file, too.
	ProjectArgForUser bool
	// After tells what the user has to do for the change to take effect.
	After string

	format  format
	user    func(Machine) []string // candidates, the first that exists counts
	project string                 // relative to the project, "" when there is none
	path    func(data any, name string) []string
	fields  func(data any, s Server) []field
}

// Machine is where the user's files are.
type Machine struct {
	// OS is linux, darwin or windows.
	OS string
	// Home is the user's home directory.
	Home string
	// Env gives environment variables.
	Env func(name string) string
}

// config is the directory of configuration files of programs that follow the
// XDG rules on every system.
func (m Machine) config() string {
	if dir := m.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return m.join(m.Home, ".config")
}

// application is the directory of configuration files of desktop programs.
func (m Machine) application() string {
	switch m.OS {
	case "darwin":
		return m.join(m.Home, "Library", "Application Support")
	case "windows":
		if dir := m.Env("APPDATA"); dir != "" {
			return dir
		}
		return m.join(m.Home, "AppData", "Roaming")
	}
	return m.config()
}

// join is filepath.Join for the machine's own system.
func (m Machine) join(parts ...string) string {
	if m.OS == "windows" {
		return strings.Join(parts, `\`)
	}
	return strings.Join(parts, "/")
}

// from gives the directory in an environment variable, or else one below the
// home directory.
func (m Machine) from(variable string, below ...string) string {
	if dir := m.Env(variable); variable != "" && dir != "" {
		return dir
	}
	return m.join(append([]string{m.Home}, below...)...)
}

// UserFiles are the places of the user's own configuration file, in order of
// preference; the first is where a new one goes.
func (c *Client) UserFiles(m Machine) []string { return c.user(m) }

// ProjectFile is the configuration file of a project. The error is a
// *tool.Error of code unsupported when the client has none.
func (c *Client) ProjectFile(project string) (string, error) {
	if c.project == "" {
		return "", tool.Errorf(tool.Unsupported, "%s has no configuration of a single project", c.Title).
			Suggest("Leave --project away, to write your own configuration.")
	}
	return filepath.Join(project, filepath.FromSlash(c.project)), nil
}

// Find gives the client of that ID. The error is a *tool.Error of code
// not_found.
func Find(id string) (*Client, error) {
	var ids []string
	for _, c := range Clients() {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	err := tool.Errorf(tool.NotFound, "there is no client %q", id)
	if near := schema.Nearest(id, ids); near != "" {
		return nil, err.Suggest("Did you mean %q? The clients are %s.", near, strings.Join(ids, ", "))
	}
	return nil, err.Suggest("The clients are %s.", strings.Join(ids, ", "))
}

// under is the path of an entry below one key.
func under(key string) func(any, string) []string {
	return func(_ any, name string) []string { return []string{key, name} }
}

// plain are the fields that most clients have.
func plain(_ any, s Server) []field {
	return []field{{key: "command", value: s.Command}, {key: "args", value: s.Args}}
}

// typed are the fields of clients that want to be told the transport.
func typed(_ any, s Server) []field {
	return append([]field{{key: "type", value: "stdio"}}, plain(nil, s)...)
}

// Clients lists all clients, by ID.
func Clients() []*Client {
	return []*Client{
		{
			ID: "claude-code", Title: "Claude Code", StartsInProject: true, format: jsonc{}, path: under("mcpServers"), fields: typed,
			user: func(m Machine) []string { return []string{m.join(m.from("CLAUDE_CONFIG_DIR"), ".claude.json")} }, project: ".mcp.json",
			After: "Start claude anew; /mcp shows the server.",
		},
		{
			ID: "claude-desktop", Title: "Claude Desktop", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user: func(m Machine) []string {
				return []string{m.join(m.application(), "Claude", "claude_desktop_config.json")}
			},
			After: "Quit Claude Desktop and start it anew.",
		},
		{
			ID: "codex", Title: "Codex", StartsInProject: true, format: tomlFile{}, path: under("mcp_servers"), fields: plain,
			user: func(m Machine) []string { return []string{m.join(m.from("CODEX_HOME", ".codex"), "config.toml")} }, project: ".codex/config.toml",
			After: "Start codex anew. Codex reads the file of a project that it trusts.",
		},
		{
			ID: "cursor", Title: "Cursor", ProjectArg: "${workspaceFolder}", format: jsonc{}, path: under("mcpServers"), fields: typed,
			user: func(m Machine) []string { return []string{m.join(m.Home, ".cursor", "mcp.json")} }, project: ".cursor/mcp.json",
			After: "Switch the server on in Cursor's settings, under MCP.",
		},
		{
			ID: "gemini-cli", Title: "Gemini CLI", StartsInProject: true, format: jsonc{}, path: under("mcpServers"), fields: plain,
			user: func(m Machine) []string { return []string{m.join(m.Home, ".gemini", "settings.json")} }, project: ".gemini/settings.json",
			After: "Start gemini anew; /mcp shows the server.",
		},
		{
			ID: "goose", Title: "goose", StartsInProject: true, format: yamlFile{}, path: under("extensions"), fields: gooseFields,
			user:  gooseFiles,
			After: "Start goose anew.",
		},
		{
			ID: "opencode", Title: "opencode", StartsInProject: true, format: jsonc{}, path: opencodePath, fields: opencodeFields,
			user: func(m Machine) []string {
				dir := m.join(m.config(), "opencode")
				return []string{m.join(dir, "opencode.json"), m.join(dir, "opencode.jsonc")}
			}, project: "opencode.json",
			After: "Start opencode anew.",
		},
		{
			ID: "vscode", Title: "VS Code", ProjectArg: "${workspaceFolder}", ProjectArgForUser: true, format: jsonc{}, path: under("servers"), fields: typed,
			user: func(m Machine) []string { return []string{m.join(m.application(), "Code", "User", "mcp.json")} }, project: ".vscode/mcp.json",
			After: "VS Code asks whether to trust the server when it starts it.",
		},
		{
			ID: "windsurf", Title: "Windsurf", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  func(m Machine) []string { return []string{m.join(m.Home, ".codeium", "windsurf", "mcp_config.json")} },
			After: "Refresh the MCP servers in Cascade.",
		},
		{
			ID: "zed", Title: "Zed", StartsInProject: true, format: jsonc{}, path: under("context_servers"), fields: zedFields,
			user: zedFiles, project: ".zed/settings.json",
			After: "Zed takes the change over at once; its agent settings show the server.",
		},
	}
}

func gooseFiles(m Machine) []string {
	if m.OS == "windows" {
		return []string{m.join(m.application(), "Block", "goose", "config", "config.yaml")}
	}
	return []string{m.join(m.config(), "goose", "config.yaml")}
}

func gooseFields(_ any, s Server) []field {
	return []field{
		{key: "enabled", value: true, initial: true}, {key: "type", value: "stdio"}, {key: "name", value: s.Name},
		{key: "description", value: "The tools of the project, by toolhost", initial: true},
		{key: "cmd", value: s.Command}, {key: "args", value: s.Args}, {key: "timeout", value: int64(300), initial: true},
	}
}

func zedFiles(m Machine) []string {
	if m.OS == "windows" {
		return []string{m.join(m.application(), "Zed", "settings.json")}
	}
	return []string{m.join(m.config(), "zed", "settings.json")}
}

// zedFields has source for the versions of Zed that want to be told that the
// server does not come from an extension.
func zedFields(_ any, s Server) []field {
	return append([]field{{key: "source", value: "custom"}}, plain(nil, s)...)
}

// opencodePath is mcp.NAME, or mcp.servers.NAME in a file that has the form of
// opencode 2, which reads both.
func opencodePath(data any, name string) []string {
	if opencode2(data) {
		return []string{"mcp", "servers", name}
	}
	return []string{"mcp", name}
}

func opencode2(data any) bool {
	servers, ok := at(data, []string{"mcp", "servers"})
	_, isMap := servers.(map[string]any)
	_, isServer := at(servers, []string{"command"}) // one that is named so
	return ok && isMap && !isServer
}

func opencodeFields(data any, s Server) []field {
	fields := []field{{key: "type", value: "local"}, {key: "command", value: append([]string{s.Command}, s.Args...)}}
	if opencode2(data) {
		return fields
	}
	return append(fields, field{key: "enabled", value: true, initial: true})
}
