package obeyed

import (
	"slices"
	"sync"
)

// byName are the files and directories that the user's programs obey in every directory, as globs of the last name
// or names of a path, each with the reason.
var byName = []struct {
	reason string
	globs  []string
}{
	{"direnv runs it in the shell that enters the directory", []string{".envrc"}},
	{"mise sets variables and runs hooks from it in that shell", []string{".mise*", "mise*.toml", "mise/config*.toml", ".config/mise*"}},
	{"editors take tasks, debuggers and paths of programs from it", []string{".vscode", ".idea", ".zed", ".devcontainer"}},
	{"Vim and Neovim run it if exrc or a local vimrc is on", []string{".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc"}},
	{"Emacs evaluates it when a file is opened", []string{".dir-locals.el", ".dir-locals-2.el"}},
	{"Mercurial runs its hooks and extensions", []string{".hg"}},
	{"a hook that the user has installed in git runs what it names",
		[]string{".husky", ".pre-commit-config.yaml", "lefthook*.y*ml", "lefthook*.toml", "lefthook*.json", ".lefthook*", ".config/lefthook*"}},
	{"agents start the servers that it names", []string{".mcp.json", ".cursor/mcp.json", ".roo/mcp.json", ".amazonq/mcp.json",
		".kiro/settings/mcp.json", ".github/mcp.json", ".junie/mcp", ".factory/mcp.json", ".trae/mcp.json", ".continue",
		"crush.json", ".crush.json"}},
	{"agents take permissions, servers and hooks from it", []string{".claude/settings.json", ".claude/settings.local.json",
		".gemini/settings.json", ".gemini/.env", ".qwen/settings.json", ".qwen/.env", ".codex/config.toml", ".amp/settings.json",
		".cursor/hooks.json", ".codex/hooks.json", ".github/hooks", ".clinerules/hooks", ".kiro/hooks", "opencode.json", "opencode.jsonc",
		".opencode/opencode.json", ".opencode/opencode.jsonc", "kilo.json", "kilo.jsonc"}},
	{"agents run it", []string{".claude/commands", ".claude/agents", ".claude/hooks", ".claude/skills", ".opencode/plugin",
		".opencode/plugins", ".opencode/tool", ".opencode/tools"}},
}

var names = func() (all []string) {
	for _, of := range byName {
		all = append(all, of.globs...)
	}
	return all
}()

var parsedNames = sync.OnceValue(func() []Glob { return ParseGlobs(names) })

// Names returns the globs of the last name or names of a path that editors, direnv, agents and git hooks obey
// in every directory.
func Names() []string { return slices.Clone(names) }
