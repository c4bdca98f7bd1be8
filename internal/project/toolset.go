package project

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
	"github.com/toolhost/toolhost/internal/toolset"
)

// SelectToolset returns a toolset of toolhost or agent.hcl by name. Empty means all tools.
func SelectToolset(cfg *config.Config, name string) (host.Toolset, error) {
	switch {
	case name == "":
		return host.Toolset{Name: "project"}, nil
	case slices.Contains(contracts(), name):
		return host.Toolset{Name: name, Envelope: true}, nil
	case name == "agent":
		return host.Toolset{Name: name, Tools: agentTools()}, nil
	}
	for _, set := range cfg.Toolsets {
		if set.Name == name {
			return host.Toolset{Name: name, Tools: set.Tools, Rename: set.Rename, Search: set.Search,
				Resources: set.Resources, Prompts: set.Prompts}, nil
		}
	}
	names := ToolsetNames(cfg)
	return host.Toolset{}, usage(tool.Errorf(tool.InvalidArgument, "there is no toolset %q", name).
		Suggest("%s", nearest.Hint(name, names, "Known toolsets: "+strings.Join(names, ", ")+".")))
}

// ToolsetNames returns toolhost's toolsets, then those of agent.hcl.
func ToolsetNames(cfg *config.Config) []string {
	names := append([]string{"agent"}, contracts()...)
	for _, set := range cfg.Toolsets {
		names = append(names, set.Name)
	}
	return names
}

// contracts returns the names of the toolsets that a shipped plugin serves, sorted.
func contracts() (names []string) {
	for _, t := range toolset.All() {
		if t.Plugin {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

func agentTools() []string {
	return []string{
		"head", "tail", "cloc", "wc", "cp", "mv", "rm", "touch", "mkdir", "task",
		"read_file", "list_files", "write_file", "append_file", "edit_file", "multi_edit", "delete_file",
		"rg", "glob", "git_diff", "web_fetch", "html_to_markdown", "todowrite", "todoread",
		"list_commands", "run_command",
	}
}

// ContractTools returns the names of the tools of all built-in toolsets.
func ContractTools() []string {
	names := agentTools()
	for _, contract := range contracts() {
		plugin, _ := shippedPlugin(contract)
		for _, t := range plugin.Tools {
			names = append(names, t.Definition().Name)
		}
	}
	return names
}

// builtinToolset returns toolhost's own toolset of that name, the zero value if there is none.
func builtinToolset(name string) toolset.Toolset {
	t, _ := toolset.Find(name)
	return t
}
