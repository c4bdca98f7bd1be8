package main

import "fmt"

type bundleManifest struct {
	ManifestVersion string                `json:"manifest_version"`
	Name            string                `json:"name"`
	DisplayName     string                `json:"display_name"`
	Version         string                `json:"version"`
	Description     string                `json:"description"`
	LongDescription string                `json:"long_description"`
	Author          map[string]string     `json:"author"`
	Repository      map[string]string     `json:"repository"`
	Homepage        string                `json:"homepage"`
	License         string                `json:"license"`
	Server          bundleServer          `json:"server"`
	ToolsGenerated  bool                  `json:"tools_generated"`
	Compatibility   map[string][]string   `json:"compatibility"`
	UserConfig      map[string]userOption `json:"user_config"`
}

type bundleServer struct {
	Type       string       `json:"type"`
	EntryPoint string       `json:"entry_point"`
	Config     bundleConfig `json:"mcp_config"`
}

type bundleConfig struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type userOption struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

func (b *build) bundleName(p platform) string {
	return fmt.Sprintf("%s_%s_%s_%s.mcpb", name, number(b.version), p.os, p.arch)
}

// bundle returns an MCP bundle for one platform: its manifest names systems, but no processors.
func (b *build) bundle(p platform, common []file) ([]byte, error) {
	files, entry := b.installed(p, "mcpb"), "server/bin/toolhost"
	m := bundleManifest{ManifestVersion: "0.3", Name: name, DisplayName: name, Version: number(b.version),
		Description: summary, LongDescription: description, Author: map[string]string{"name": author},
		Repository: map[string]string{"type": "git", "url": homepage + ".git"}, Homepage: homepage, License: license,
		Server: bundleServer{Type: "binary", EntryPoint: entry, Config: bundleConfig{
			Command: "${__dirname}/" + entry,
			Args:    []string{"serve", "--workspace", "${user_config.project}"}}},
		ToolsGenerated: true, Compatibility: map[string][]string{"platforms": {nodeOS[p.os]}},
		UserConfig: map[string]userOption{"project": {Type: "directory", Title: "Project", Required: true,
			Description: "The directory of the project whose tools are offered, with its agent.hcl."}}}
	text, err := indented(m)
	if err != nil {
		return nil, err
	}
	files = append(prefixPaths("server", files), file{path: "manifest.json", mode: 0o644, data: text})
	return zipped(append(files, texts(common)...), b.time, b.level())
}

type server struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	WebsiteURL  string            `json:"websiteUrl"`
	Repository  map[string]string `json:"repository"`
	Packages    []serverPackage   `json:"packages"`
}

type serverPackage struct {
	RegistryType     string            `json:"registryType"`
	Identifier       string            `json:"identifier"`
	Version          string            `json:"version,omitempty"`
	FileSHA256       string            `json:"fileSha256,omitempty"`
	RuntimeHint      string            `json:"runtimeHint,omitempty"`
	PackageArguments []serverArgument  `json:"packageArguments,omitempty"`
	Transport        map[string]string `json:"transport"`
}

type serverArgument struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

func (b *build) serverJSON(made map[string][]byte) ([]byte, error) {
	stdio := map[string]string{"type": "stdio"}
	serve := []serverArgument{{Type: "positional", Value: "serve"}}
	s := server{Schema: serverSchema, Name: mcpName, Title: name, Description: summary, Version: number(b.version),
		WebsiteURL: homepage, Repository: map[string]string{"url": homepage, "source": "github"}}
	s.Packages = []serverPackage{
		{RegistryType: "npm", Identifier: npmName, Version: number(b.version), RuntimeHint: "npx", PackageArguments: serve,
			Transport: stdio},
		{RegistryType: "oci", Identifier: imageName + ":" + number(b.version), RuntimeHint: "docker",
			PackageArguments: serve, Transport: stdio},
	}
	for _, p := range b.targets() {
		file := b.bundleName(p)
		s.Packages = append(s.Packages, serverPackage{RegistryType: "mcpb", Identifier: b.downloadURL(file),
			FileSHA256: digest(made[file]), Transport: stdio})
	}
	return indented(s)
}

func (b *build) downloadURL(file string) string {
	return homepage + "/releases/download/" + b.version + "/" + file
}
