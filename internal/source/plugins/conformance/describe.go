package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
)

type plugin struct {
	*pluginclient.Description
	tools map[string]*described
}

type described struct {
	pluginclient.Tool
	params, returns *schema.Schema // returns may be nil
}

func describeChecks() []check {
	return []check{
		{"describe.answer", "answer Describe with a name and a version", stepOf(checkDescribe)},
		{"describe.stable", "answer Describe alike each time", stepOf(checkStable)},
		{"describe.config", "declare a configuration schema that is a JSON Schema of an object, or none",
			stepOf(checkConfigSchema)},
		{"configure.accept", "accept a configuration that its schema allows", stepOf(checkConfigure)},
		{"configure.refuse", "answer a configuration that is not valid JSON with an error, and not by ending", checkBadConfig},
		{"tools.definitions", "give every tool a name, a description with a Returns: clause, a risk, and JSON Schemas",
			checkDefinitions},
		{"tools.examples", "give examples that the tool's own schema allows, for one tool at least", checkExamples},
		{"tools.services", "declare only services that exist", checkServices},
	}
}

func checkDescribe(ctx context.Context, k *kit, p *process) error {
	d, err := p.client.Describe(ctx)
	if err != nil {
		return fmt.Errorf("%w%s", err, p.lastWords())
	}
	k.report.Plugin, k.report.Version = d.Name, d.Version
	if d.Name == "" || d.Version == "" {
		return fmt.Errorf("the name is %q and the version %q", d.Name, d.Version)
	}
	return nil
}

func checkStable(ctx context.Context, k *kit, p *process) error {
	var answers [2][]byte
	for i := range answers {
		d, err := p.rpc.Describe(ctx, &toolpb.DescribeRequest{})
		if err != nil {
			return err
		}
		if answers[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(d); err != nil {
			return err
		}
	}
	if !bytes.Equal(answers[0], answers[1]) {
		return errors.New("two answers differ")
	}
	return nil
}

func checkConfigSchema(ctx context.Context, k *kit, p *process) error {
	d, err := p.client.Describe(ctx)
	if err != nil {
		return err
	}
	if len(d.ConfigSchema) == 0 {
		return skip("it takes no configuration")
	}
	return objectSchema(d.ConfigSchema)
}

func objectSchema(raw json.RawMessage) error {
	if _, err := schema.Compile(raw); err != nil {
		return err
	}
	var s struct{ Type any }
	if err := json.Unmarshal(raw, &s); err != nil || s.Type != "object" {
		return fmt.Errorf("the type of the schema is %v and has to be object", s.Type)
	}
	return nil
}

func checkConfigure(ctx context.Context, k *kit, p *process) error {
	d, err := k.configure(ctx, p)
	if err != nil {
		return err
	}
	k.plugin = &plugin{Description: d, tools: make(map[string]*described)}
	for _, t := range d.Tools {
		params, err := schema.Compile(t.Definition.Parameters)
		if err != nil {
			continue // tools.definitions reports it
		}
		known := &described{Tool: t, params: params}
		if len(t.Definition.Returns) > 0 {
			known.returns, _ = schema.Compile(t.Definition.Returns)
		}
		k.plugin.tools[t.Definition.Name] = known
	}
	return nil
}

// configure passes the configuration as toolhost does.
func (k *kit) configure(ctx context.Context, p *process) (*pluginclient.Description, error) {
	first, err := p.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	config := k.options.Config
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	if len(first.ConfigSchema) > 0 {
		compiled, err := schema.Compile(first.ConfigSchema)
		if err != nil {
			return nil, err
		}
		normalized, _, violations := compiled.Decode(config)
		if len(violations) > 0 {
			return nil, fmt.Errorf("the configuration %s is not what its schema asks for (%s): give another with "+
				"--plugin-config", config, violations[0])
		}
		config = normalized
	}
	return p.client.Configure(ctx, pluginclient.Setup{Config: config, Root: k.workspace, HostVersion: "conformance"})
}

func checkBadConfig(ctx context.Context, k *kit) error {
	p, err := k.another(ctx)
	if err != nil {
		return err
	}
	defer p.kill()
	ctx, cancel := k.step(ctx)
	defer cancel()
	_, err = p.client.Configure(ctx, pluginclient.Setup{Config: json.RawMessage("{broken"), Root: k.workspace})
	if !p.alive() {
		return fmt.Errorf("it ended%s", p.lastWords())
	}
	if err == nil && len(k.configSchema(ctx, p)) > 0 {
		return errors.New("it accepted invalid JSON")
	}
	if errors.Is(err, pluginclient.ErrConnection) && ctx.Err() != nil {
		return errors.New("it did not answer")
	}
	return nil
}

func (k *kit) configSchema(ctx context.Context, p *process) json.RawMessage {
	d, err := p.client.Describe(ctx)
	if err != nil {
		return nil
	}
	return d.ConfigSchema
}

func checkDefinitions(_ context.Context, k *kit) error {
	_, p, err := k.ready()
	if err != nil {
		return err
	}
	if len(p.Tools) == 0 {
		return errors.New("it has no tools")
	}
	var wrong []error
	seen := make(map[string]bool)
	for _, t := range p.Tools {
		d := t.Definition
		if seen[d.Name] {
			wrong = append(wrong, fmt.Errorf("two tools are named %q", d.Name))
		}
		seen[d.Name] = true
		wrong = append(wrong, definitionMistakes(d)...)
	}
	return errors.Join(wrong...)
}

func definitionMistakes(d *tool.Definition) (wrong []error) {
	say := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("tool %q: "+format, append([]any{d.Name}, args...)...))
	}
	if d.Name == "" || len(d.Name) > 64 ||
		strings.Trim(d.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		say("a name has 1 to 64 letters, digits, _ and -")
	}
	if !d.Risk.Valid() {
		say("the risk is %q and has to be read_only, safe_write or dangerous", d.Risk)
	}
	if !strings.Contains(d.Description, "Returns:") {
		say(`the description has to end in a clause "Returns: ..."`)
	}
	if err := objectSchema(d.Parameters); err != nil {
		say("parameters: %v", err)
	}
	if len(d.Returns) > 0 {
		if _, err := schema.Compile(d.Returns); err != nil {
			say("returns: %v", err)
		}
	}
	return wrong
}

func checkExamples(_ context.Context, k *kit) error {
	_, p, err := k.ready()
	if err != nil {
		return err
	}
	var wrong []error
	count := 0
	for _, t := range p.Tools {
		known := p.tools[t.Definition.Name]
		for _, e := range t.Definition.Examples {
			count++
			if known == nil {
				continue
			}
			if _, _, violations := known.params.Decode(e.Params); len(violations) > 0 && !t.Normalizes {
				wrong = append(wrong,
					fmt.Errorf("tool %q: the example %s: %s", t.Definition.Name, e.Params, violations[0]))
			}
		}
	}
	if count == 0 {
		return errors.New("no tool has an example, so calls cannot be checked")
	}
	return errors.Join(wrong...)
}

func checkServices(_ context.Context, k *kit) error {
	process, p, err := k.ready()
	if err != nil {
		return err
	}
	if process.version < 2 {
		return skip("version 1 declares none")
	}
	known := "emit ask sample state call_tool"
	for _, s := range p.Services {
		if !strings.Contains(" "+known+" ", " "+s+" ") {
			return fmt.Errorf("there is no service %q: there are %s", s, known)
		}
	}
	return nil
}
