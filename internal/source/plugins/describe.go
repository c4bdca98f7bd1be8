package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
)

// Inspect starts an undeclared program, without configuration, and returns its description. The error is a
// *tool.Error.
func (m *Manager) Inspect(ctx context.Context, program string) (*Description, error) {
	spec := Spec{Name: strings.TrimPrefix(filepath.Base(program), "toolhost-plugin-"), Path: program}
	p, err := newPlugin(m, spec)
	if err != nil {
		return nil, err
	}
	p.unconfigured = true
	defer p.Close()
	return p.describe(ctx)
}

// Checksum returns the SHA-256 of a plugin's program, in lower-case hex. The error is a *tool.Error.
func Checksum(path string) (string, error) {
	spec := Spec{Name: filepath.Base(path), Path: path}
	b, err := openProgram(spec)
	if err != nil {
		return "", err
	}
	defer b.close()
	if err := b.hash(); err != nil {
		return "", unreadable(spec, err)
	}
	return b.sha256, nil
}

// checkConfig validates the configuration against the plugin's schema, and fills in defaults.
func checkConfig(spec Spec, declared json.RawMessage) (json.RawMessage, error) {
	config := spec.Config
	if spec.ResolveConfig != nil {
		var err error
		if config, err = spec.ResolveConfig(declared); err != nil {
			return nil, err
		}
	}
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	if len(declared) == 0 {
		if string(config) != "{}" {
			return nil, invalidSpec(spec, "takes no configuration", "Remove its config block.")
		}
		return config, nil
	}
	declared, losses := schema.Adapt(declared)
	err, compiled := schema.Mistake(losses), (*schema.Schema)(nil)
	if err == nil {
		compiled, err = schema.Compile(declared)
	}
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "plugin %s declares an invalid configuration schema: %w",
			spec.Name, err).
			Suggest("This is a mistake in the plugin; tell its author.")
	}
	config, _, violations := compiled.Decode(config)
	if len(violations) == 0 {
		return config, nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "the configuration of plugin %s is wrong: %s", spec.Name,
		schema.Join(violations)).
		Suggest("Fix the plugin's config block.").With("violations", violations)
}

// checkDescription refuses a description that would break code listing the tools.
func checkDescription(name string, d *pluginclient.Description) error {
	seen := make(map[string]bool)
	for _, t := range d.Tools {
		if err := checkDefinition(t.Definition); err != nil {
			return tool.Errorf(tool.Unavailable, "plugin %s offers a tool that cannot be used: %w", name, err).
				Suggest("This is a mistake in the plugin; tell its author.")
		}
		if seen[t.Definition.Name] {
			return tool.Errorf(tool.Unavailable, "plugin %s offers two tools named %q", name, t.Definition.Name).
				Suggest("This is a mistake in the plugin; tell its author.")
		}
		seen[t.Definition.Name] = true
	}
	return nil
}

func checkDefinition(d *tool.Definition) error {
	switch {
	case !validName(d.Name):
		return fmt.Errorf("%q is not a valid tool name: use 1 to 64 letters, digits, '_' and '-'", d.Name)
	case !d.Risk.Valid():
		return fmt.Errorf("tool %q has the risk %q, which is none of read_only, safe_write and dangerous", d.Name,
			d.Risk)
	case len(d.Parameters) > 0 && !isObject(d.Parameters):
		return fmt.Errorf("the parameters of tool %q are not a JSON Schema object", d.Name)
	case len(d.Returns) > 0 && !isObject(d.Returns):
		return fmt.Errorf("the result of tool %q has no JSON Schema object", d.Name)
	}
	for _, e := range d.Examples {
		if !json.Valid(e.Params) {
			return fmt.Errorf("an example of tool %q is not valid JSON", d.Name)
		}
	}
	return nil
}

func validName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

func (p *plugin) learn(d *pluginclient.Description, b *binary) {
	p.Lock()
	p.description = d
	if b != nil {
		p.sha256 = b.sha256
	}
	p.Unlock()
	if !p.spec.Shipped && b != nil {
		if err := p.manager.cache.store(&p.spec, b, d); err != nil {
			p.manager.logger.Warn("the plugin's tools were not cached", "plugin", p.spec.Name, "error", err)
		}
	}
}
