package analysis

import (
	"encoding/json"
	"encoding/xml"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Manifest is a file that declares a package and its dependencies.
type Manifest struct {
	// Path is relative to the project's root.
	Path string `json:"path"`
	// Kind is the ecosystem: "Go module", "npm package" and so on.
	Kind string `json:"kind"`
	// Name is the declared name, which may be empty.
	Name string `json:"name,omitempty"`
	// Dependencies are the declared names, sorted.
	Dependencies []string `json:"dependencies"`
	// Error says why the file could not be parsed.
	Error string `json:"error,omitempty"`

	family family
	// entries are the files that the manifest names as entry points.
	entries []string
}

func (m *Manifest) dir() string { return path.Dir(m.Path) }

type manifestKind struct {
	kind   string
	family family
	read   func(m *Manifest, data []byte) error
}

func manifestKinds() map[string]manifestKind {
	return map[string]manifestKind{
		"go.mod":           {"Go module", goFamily, readGoMod},
		"package.json":     {"npm package", scriptFamily, readPackageJSON},
		"pyproject.toml":   {"Python project", pythonFamily, readPyproject},
		"requirements.txt": {"Python requirements", pythonFamily, readRequirements},
		"Cargo.toml":       {"Rust crate", rustFamily, readCargo},
		"pom.xml":          {"Maven project", javaFamily, readPOM},
	}
}

func (p *Project) manifests(ws *workspace.Workspace) {
	kinds := manifestKinds()
	for i := range p.Files {
		f := &p.Files[i]
		kind, ok := kinds[path.Base(f.Path)]
		if !ok || f.Vendored || strings.Contains(f.Path, "testdata/") {
			continue
		}
		data, _, err := ws.ReadFile(path.Join(p.Root, f.Path), MaxFileSize)
		if err != nil {
			continue
		}
		m := Manifest{Path: f.Path, Kind: kind.kind, family: kind.family, Dependencies: []string{}}
		if err := kind.read(&m, data); err != nil {
			m.Error, _, _ = strings.Cut(err.Error(), "\n")
		}
		slices.Sort(m.Dependencies)
		m.Dependencies = slices.Compact(m.Dependencies)
		p.Manifests = append(p.Manifests, m)
	}
}

func readGoMod(m *Manifest, data []byte) error {
	file, err := modfile.ParseLax(m.Path, data, nil)
	if err != nil {
		return err
	}
	if file.Module != nil {
		m.Name = file.Module.Mod.Path
	}
	for _, r := range file.Require {
		m.Dependencies = append(m.Dependencies, r.Mod.Path)
	}
	return nil
}

func readPackageJSON(m *Manifest, data []byte) error {
	var file struct {
		Name            string            `json:"name"`
		Main            string            `json:"main"`
		Bin             json.RawMessage   `json:"bin"`
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
		Peer            map[string]string `json:"peerDependencies"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	m.Name = file.Name
	for _, group := range []map[string]string{file.Dependencies, file.DevDependencies, file.Peer} {
		m.Dependencies = append(m.Dependencies, names(group)...)
	}
	m.addEntry(file.Main)
	var bin map[string]string
	var single string
	switch {
	case json.Unmarshal(file.Bin, &single) == nil:
		m.addEntry(single)
	case json.Unmarshal(file.Bin, &bin) == nil:
		for _, name := range names(bin) {
			m.addEntry(bin[name])
		}
	}
	return nil
}

func (m *Manifest) addEntry(name string) {
	if name != "" {
		m.entries = append(m.entries, path.Join(m.dir(), name))
	}
}

func readPyproject(m *Manifest, data []byte) error {
	var file struct {
		Project struct {
			Name         string              `toml:"name"`
			Dependencies []string            `toml:"dependencies"`
			Optional     map[string][]string `toml:"optional-dependencies"`
		} `toml:"project"`
		Tool struct {
			Poetry struct {
				Name         string         `toml:"name"`
				Dependencies map[string]any `toml:"dependencies"`
			} `toml:"poetry"`
		} `toml:"tool"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return err
	}
	m.Name = file.Project.Name
	if m.Name == "" {
		m.Name = file.Tool.Poetry.Name
	}
	for _, requirement := range file.Project.Dependencies {
		m.addRequirement(requirement)
	}
	for _, group := range file.Project.Optional {
		for _, requirement := range group {
			m.addRequirement(requirement)
		}
	}
	for _, name := range names(file.Tool.Poetry.Dependencies) {
		if name != "python" {
			m.addRequirement(name)
		}
	}
	return nil
}

func readRequirements(m *Manifest, data []byte) error {
	for _, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-") {
			m.addRequirement(line)
		}
	}
	return nil
}

// addRequirement adds the name that a Python requirement starts with.
func (m *Manifest) addRequirement(requirement string) {
	name := strings.TrimSpace(requirement)
	if end := strings.IndexAny(name, " \t<>=!~;[(@"); end >= 0 {
		name = name[:end]
	}
	if name != "" {
		m.Dependencies = append(m.Dependencies, name)
	}
}

func readCargo(m *Manifest, data []byte) error {
	var file struct {
		Package struct {
			Name string `toml:"name"`
		} `toml:"package"`
		Dependencies map[string]any `toml:"dependencies"`
		Dev          map[string]any `toml:"dev-dependencies"`
		Build        map[string]any `toml:"build-dependencies"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return err
	}
	m.Name = file.Package.Name
	for _, group := range []map[string]any{file.Dependencies, file.Dev, file.Build} {
		m.Dependencies = append(m.Dependencies, names(group)...)
	}
	return nil
}

func readPOM(m *Manifest, data []byte) error {
	var file struct {
		ArtifactID   string `xml:"artifactId"`
		Dependencies []struct {
			GroupID    string `xml:"groupId"`
			ArtifactID string `xml:"artifactId"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(data, &file); err != nil {
		return err
	}
	m.Name = file.ArtifactID
	for _, d := range file.Dependencies {
		m.Dependencies = append(m.Dependencies, d.GroupID+":"+d.ArtifactID)
	}
	return nil
}

func names[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
