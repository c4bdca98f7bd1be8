package clientconfig

import (
	"cmp"
	"path/filepath"
	"slices"
)

// Clients lists all clients, by ID.
func Clients() []*Client {
	all := append(terminalClients(), desktopClients()...)
	slices.SortFunc(all, func(a, b *Client) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// terminalClients are started in a project.
func terminalClients() []*Client {
	return []*Client{
		{
			ID: "amp", Title: "Amp", StartsInProject: true, format: jsonc{}, path: under("amp.mcpServers"),
			fields: plain,
			user:   inHome(".config/amp/settings.json", ".config/amp/settings.jsonc"), project: ".amp/settings.json",
			after: "Restart amp.",
		},
		{
			ID: "claude-code", Title: "Claude Code", StartsInProject: true, format: jsonc{}, path: under("mcpServers"),
			fields:  typed,
			user:    func(m Machine) []string { return []string{filepath.Join(m.from("CLAUDE_CONFIG_DIR"), ".claude.json")} },
			project: ".mcp.json",
			after:   "Restart claude; /mcp shows the server. claude -p calls its tools with --allowedTools mcp__NAME.",
		},
		{
			ID: "cline", Title: "Cline CLI", format: jsonc{}, path: under("mcpServers"), fields: clineFields,
			user:  inHome(".cline/data/settings/cline_mcp_settings.json"),
			after: "Restart cline. It goes on with servers that it has started: cline doctor fix ends them.",
		},
		{
			ID: "codex", Title: "Codex", StartsInProject: true, format: tomlFile{}, path: under("mcp_servers"),
			fields: plain,
			user: func(m Machine) []string {
				return []string{filepath.Join(m.from("CODEX_HOME", ".codex"),
					"config.toml")}
			},
			project: ".codex/config.toml",
			env:     names("env_vars"),
			after: "Restart codex. codex exec refuses tools that are not read-only until the entry has the line " +
				`default_tools_approval_mode = "approve".`,
			trust: "Codex reads this file only in a project that it trusts.",
		},
		{
			ID: "continue", Title: "Continue", StartsInProject: true, format: yamlFile{list: true},
			path: under("mcpServers"), fields: continueFields,
			user: inHome(".continue/config.yaml"), fresh: "name: Local Config\nversion: 1.0.0\nschema: v1\n",
			after: "Restart cn; /mcp shows the server.",
		},
		{
			ID: "copilot", Title: "GitHub Copilot CLI", StartsInProject: true, format: jsonc{},
			path: under("mcpServers"), fields: copilotFields,
			user: func(m Machine) []string {
				return []string{filepath.Join(m.from("COPILOT_HOME", ".copilot"), "mcp-config.json")}
			}, project: ".github/mcp.json",
			after: "Restart copilot; /mcp shows the server.",
		},
		{
			ID: "crush", Title: "Crush", StartsInProject: true, format: jsonc{}, path: under("mcp"), fields: typed,
			user: inConfig("crush", "crush.json"), project: "crush.json",
			after: "Restart crush.",
		},
		{
			ID: "gemini-cli", Title: "Gemini CLI", StartsInProject: true, format: jsonc{}, path: under("mcpServers"),
			fields: plain,
			user:   inHome(".gemini/settings.json"), project: ".gemini/settings.json", env: references("${", ":-}"),
			after: "Restart gemini, in a folder that it trusts; /mcp shows the server. gemini -p trusts the folder with " +
				"GEMINI_CLI_TRUST_WORKSPACE=true in its environment.",
		},
		{
			ID: "goose", Title: "goose", StartsInProject: true, format: yamlFile{}, path: under("extensions"),
			fields: gooseFields,
			user:   inConfig("goose", "config.yaml"),
			after:  "Restart goose.",
		},
		{
			ID: "kilo", Title: "Kilo Code", StartsInProject: true, format: jsonc{}, path: under("mcp"),
			fields: localFields,
			user:   inConfig("kilo", "kilo.json", "kilo.jsonc"), project: "kilo.json",
			after: "Restart kilo, or reload the window of the editor.",
		},
		{
			ID: "opencode", Title: "opencode", StartsInProject: true, format: jsonc{}, path: opencodePath,
			fields: opencodeFields,
			user:   inConfig("opencode", "opencode.json", "opencode.jsonc"), project: "opencode.json",
			after: "Restart opencode.",
		},
		{
			ID: "qwen-code", Title: "Qwen Code", StartsInProject: true, format: jsonc{}, path: under("mcpServers"),
			fields: plain,
			user:   inHome(".qwen/settings.json"), project: ".qwen/settings.json",
			after: "Restart qwen; /mcp shows the server.",
		},
	}
}

// desktopClients are editors and other programs with windows.
func desktopClients() []*Client {
	return []*Client{
		{
			ID: "claude-desktop", Title: "Claude Desktop", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  inApplication("Claude", "claude_desktop_config.json"),
			after: "Quit Claude Desktop and restart it.",
		},
		{
			ID: "cursor", Title: "Cursor", ProjectArg: "${workspaceFolder}", format: jsonc{}, path: under("mcpServers"),
			fields: typed,
			user:   inHome(".cursor/mcp.json"), project: ".cursor/mcp.json", link: cursorLink,
			after: "Switch the server on in Cursor's settings, under MCP.",
		},
		{
			ID: "junie", Title: "Junie", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  inHome(".junie/mcp/mcp.json"),
			after: "Restart Junie.",
		},
		{
			ID: "kiro", Title: "Kiro", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  inHome(".kiro/settings/mcp.json"),
			after: "Reconnect the server in the MCP panel of Kiro, or restart kiro-cli.",
		},
		{
			ID: "lm-studio", Title: "LM Studio", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  inHome(".lmstudio/mcp.json"),
			after: "Switch the server on in LM Studio, under Program.",
		},
		{
			ID: "roo-code", Title: "Roo Code", ProjectArg: "${workspaceFolder}", ProjectArgForUser: true,
			format: jsonc{}, path: under("mcpServers"), fields: patientFields,
			user: inApplication("Code", "User", "globalStorage", "rooveterinaryinc.roo-cline", "settings",
				"mcp_settings.json"),
			project: ".roo/mcp.json", env: references("${env:", "}"),
			after: "Refresh the MCP servers in Roo Code's settings.",
		},
		{
			ID: "vscode", Title: "VS Code", ProjectArg: "${workspaceFolder}", ProjectArgForUser: true, format: jsonc{},
			path: under("servers"), fields: typed,
			user: inApplication("Code", "User", "mcp.json"), project: ".vscode/mcp.json", link: vscodeLink,
			after: "VS Code asks whether to trust the server when it starts it.",
		},
		{
			ID: "windsurf", Title: "Windsurf", format: jsonc{}, path: under("mcpServers"), fields: plain,
			user:  inHome(".codeium/windsurf/mcp_config.json"),
			after: "Refresh the MCP servers in Cascade.",
		},
		{
			ID: "zed", Title: "Zed", StartsInProject: true, format: jsonc{}, path: under("context_servers"),
			fields: zedFields,
			user:   inConfig("zed", "settings.json"), project: ".zed/settings.json",
			after: "Zed takes the change over at once; its agent settings show the server.",
		},
	}
}
