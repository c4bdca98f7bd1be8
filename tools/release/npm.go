package main

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

//go:embed templates/toolhost.js
var npmStarter []byte

type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Author               string            `json:"author"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	MCPName              string            `json:"mcpName,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Files                []string          `json:"files"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// Node's names for systems and processors.
var (
	nodeOS  = map[string]string{"linux": "linux", "darwin": "darwin"}
	nodeCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

func npmPlatform(p platform) string { return "@toolhost/" + nodeOS[p.os] + "-" + nodeCPU[p.arch] }

// npmFile returns the file name that npm pack gives a package.
func npmFile(pkg, version string) string {
	return strings.NewReplacer("@", "", "/", "-").Replace(pkg) + "-" + number(version) + ".tgz"
}

func (b *build) npmManifest(pkg, description string) manifest {
	return manifest{Name: pkg, Version: number(b.version), Description: description, License: license, Author: author,
		Homepage: homepage, Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"}}
}

// npmWrapper returns the package that users install: a starter, and the platforms' packages as
// optional dependencies, of which npm installs the matching one.
func (b *build) npmWrapper(common []file) ([]byte, error) {
	m := b.npmManifest(npmName, summary)
	m.MCPName, m.Bin, m.Files = mcpName, map[string]string{name: "bin/toolhost.js"}, []string{"bin"}
	m.Engines = map[string]string{"node": ">=18"}
	m.OptionalDependencies = make(map[string]string)
	for _, p := range b.targets() {
		m.OptionalDependencies[npmPlatform(p)] = number(b.version)
	}
	return b.npmTarball(m, append(texts(common), file{path: "bin/toolhost.js", mode: 0o755, data: npmStarter}))
}

func (b *build) npmPackage(p platform, common []file) ([]byte, error) {
	m := b.npmManifest(npmPlatform(p), "toolhost for "+p.String()+"; install "+npmName)
	m.OS, m.CPU, m.PreferUnplugged = []string{nodeOS[p.os]}, []string{nodeCPU[p.arch]}, true
	m.Files = []string{"bin", "libexec"}
	files := b.installed(p, "npm "+npmName)
	return b.npmTarball(m, append(files, texts(common)...))
}

func (b *build) npmTarball(m manifest, files []file) ([]byte, error) {
	text, err := indented(m)
	if err != nil {
		return nil, err
	}
	files = prefixPaths("package", append(files, file{path: "package.json", mode: 0o644, data: text}))
	return tarGz(files, b.time, b.level())
}

func texts(common []file) (list []file) {
	for _, f := range common {
		if slices.Contains([]string{"LICENSE", licensesFile, "README.md"}, path.Base(f.path)) {
			list = append(list, f)
		}
	}
	return list
}
