package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/keep/redact"
)

// Effects lists what the file does beyond its inert form, in the order of the
// fields of Config. It is empty for a file that needs no approval, and only for
// such a file: a part that differs from its inert form and that no block type
// speaks for is listed by its name.
func (c *Config) Effects() []Effect {
	var all []Effect
	whole, inert := reflect.ValueOf(*c), reflect.ValueOf(*c.Inert())
	for i := range whole.NumField() {
		field := whole.Type().Field(i)
		if !field.IsExported() || slices.Contains(notRead, field.Name) ||
			reflect.DeepEqual(whole.Field(i).Interface(), inert.Field(i).Interface()) {
			continue
		}
		if field.Name == "Secrets" &&
			(len(c.EnvNames) > 0 || slices.ContainsFunc(c.Variables, func(v Variable) bool { return v.Sensitive })) {
			continue // what they are of speaks for them
		}
		effects := c.effectsOf(field.Name, inert.Field(i))
		if len(effects) == 0 {
			effects = []Effect{{Pos: c.Path, Block: "file", Kind: Sets, Attribute: snake(field.Name)}}
		}
		all = append(all, effects...)
	}
	for i := range all {
		all[i].redact(c.Secrets)
	}
	return all
}

// notRead are the fields that are not read from the file.
var notRead = []string{"Leads", "Keep", "Digests"}

// effectsOf asks the parts of a field of Config what they do.
func (c *Config) effectsOf(field string, inert reflect.Value) []Effect {
	switch field {
	case "Instructions":
		return []Effect{{Pos: c.Path, Block: "file", Kind: Sets, Attribute: "instructions", Value: c.Instructions}}
	case "Tools":
		return each(c.Tools, toolEffects)
	case "Resources":
		return each(c.Resources, resourceEffects)
	case "Prompts":
		return each(c.Prompts, promptEffects)
	case "Plugins":
		return each(c.Plugins, Plugin.effects)
	case "Servers":
		return each(c.Servers, Server.effects)
	case "Agents":
		return each(c.Agents, Agent.effects)
	case "Taskfile":
		return c.Taskfile.effects()
	case "Model":
		return c.Model.effects()
	case "Policy":
		return c.Policy.effects()
	case "Toolsets":
		return each(c.Toolsets, Toolset.effects)
	case "Variables":
		return each(c.Variables, Variable.effects)
	case "EnvNames":
		return each(slices.Sorted(slices.Values(c.EnvNames)), envEffects)
	case "Workspace":
		return settingEffects("workspace", c.Workspace.Pos, c.Workspace, inert)
	case "Web":
		return settingEffects("web", c.Web.Pos, c.Web, inert)
	case "Record":
		return settingEffects("record", c.Record.Pos, c.Record, inert)
	case "Limits":
		return settingEffects("limits", c.Limits.Pos, c.Limits, inert)
	case "Sandbox":
		return settingEffects("sandbox", c.Sandbox.Pos, *c.Sandbox, inert.Elem())
	case "Builtins":
		return settingEffects("builtin", c.Path, c.Builtins, inert)
	}
	return nil
}

func each[T any](list []T, effects func(T) []Effect) (all []Effect) {
	for _, item := range list {
		all = append(all, effects(item)...)
	}
	return all
}

// settingEffects lists the attributes of a block that differ from its inert
// form, whichever they are.
func settingEffects(block, pos string, value any, inert reflect.Value) (all []Effect) {
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Name == "Pos" || reflect.DeepEqual(v.Field(i).Interface(), inert.Field(i).Interface()) {
			continue
		}
		e := Effect{Pos: pos, Block: block, Kind: Sets, Attribute: snake(field.Name)}
		switch list, isList := v.Field(i).Interface().([]string); {
		case isList && block != "web" && block != "record":
			e.Paths = paths(list)
		case field.Name == "Root":
			e.Paths = paths([]string{v.Field(i).String()})
		default:
			e.Value = shown(v.Field(i))
		}
		all = append(all, e)
	}
	return all
}

func toolEffects(t argv.Spec) []Effect {
	e := Effect{Pos: t.Pos, Block: "tool", Name: t.Name, Kind: Runs}.granted(t.Access)
	switch {
	case t.Passthrough != nil:
		e.Argv, e.Rest = append([]string{t.Passthrough.Command}, t.Passthrough.Prepend...), true
	case t.Command != nil:
		e = e.command(t.Command)
	}
	for _, out := range t.Outputs {
		if out.File != nil {
			e.Paths = append(e.Paths, Path{Path: shownExpr(out.File)})
		}
	}
	return []Effect{e}
}

func resourceEffects(r argv.Resource) []Effect {
	e := Effect{Pos: r.Pos, Block: "resource", Name: r.Name, Kind: Offers}
	switch {
	case r.Command != nil:
		e.Kind = Runs
		e = e.granted(r.Access).command(r.Command)
	case r.Content.File != nil:
		e.Paths = []Path{{Path: shownExpr(r.Content.File)}}
	}
	return []Effect{e}
}

func promptEffects(p argv.Prompt) []Effect {
	e := Effect{Pos: p.Pos, Block: "prompt", Name: p.Name, Kind: Offers}
	for _, m := range p.Messages {
		if m.File != nil {
			e.Paths = append(e.Paths, Path{Path: shownExpr(m.File)})
		}
	}
	return []Effect{e}
}

func (p Plugin) effects() []Effect {
	e := Effect{Pos: p.Pos, Block: "plugin", Name: p.Name, Kind: Runs, Argv: append([]string{p.Source}, p.Args...),
		Env: p.Env}
	return []Effect{e.granted(p.Access).also(p, "Name", "Source", "Args", "Env", "Access", "Config", "Pos")}
}

func (s Server) effects() []Effect {
	e := Effect{Pos: s.Pos, Block: "mcp server", Name: s.Name, Kind: Runs, Argv: s.Command, Env: s.Env}
	told := []string{"Name", "Command", "Env", "URL", "Headers", "OAuth", "Access", "Pos"}
	if s.URL != "" {
		e.Kind, e.URL = Connects, s.URL
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			e.More = append(e.More, Setting{"header " + name, s.Headers[name]})
		}
	}
	e = e.granted(s.Access).also(s, told...)
	if s.OAuth != nil {
		e = e.also(*s.OAuth, "ClientSecret", "Pos")
	}
	return []Effect{e}
}

func (a Agent) effects() []Effect {
	e := Effect{Pos: a.Pos, Block: "agent", Name: a.Role, Kind: Runs, Argv: a.Command, Env: a.Env}
	return []Effect{e.granted(a.Access).also(a, "Role", "Description", "Command", "Env", "Access", "Pos")}
}

func (t *Taskfile) effects() []Effect {
	e := Effect{Pos: t.Pos, Block: "taskfile", Kind: Runs, Argv: []string{"task"}, Rest: true}
	return []Effect{e.granted(t.Access).also(*t, "Access", "Pos")}
}

func (m *Model) effects() []Effect {
	e := Effect{Pos: m.Pos, Block: "model", Name: m.Name, Kind: Connects, URL: m.URL}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		e.More = append(e.More, Setting{"header " + name, m.Headers[name]})
	}
	return []Effect{e.also(*m, "URL", "Name", "Key", "Headers", "Pos")}
}

func (p *Policy) effects() (all []Effect) {
	add := func(pos, name, attribute string, action Action) {
		if !restricts(action) {
			all = append(all, Effect{Pos: pos, Block: "policy", Name: name, Kind: Decides, Attribute: attribute,
				Value: string(action)})
		}
	}
	for _, risk := range slices.Sorted(maps.Keys(p.Risks)) {
		add(p.Pos, "", "tools of risk "+string(risk), p.Risks[risk])
	}
	for _, permission := range slices.Sorted(maps.Keys(p.Permissions)) {
		add(p.Pos, "", "tools with permission "+string(permission), p.Permissions[permission])
	}
	for _, r := range p.Rules {
		if !r.Disabled {
			add(r.Pos, r.Name, r.conditions()+r.Limits.said(), r.Action)
		}
	}
	return all
}

// said says what changes need nobody's word, behind the conditions of a rule.
func (l Bounds) said() string {
	var all []string
	if l.Files > 0 {
		all = append(all, fmt.Sprintf("files %d", l.Files))
	}
	if l.Bytes > 0 {
		all = append(all, fmt.Sprintf("bytes %d", l.Bytes))
	}
	if len(l.Paths) > 0 {
		all = append(all, fmt.Sprintf("paths %q", l.Paths))
	}
	if l.Deletes {
		all = append(all, "deletes")
	}
	if len(all) == 0 {
		return ""
	}
	return ", changes within " + strings.Join(all, ", ") + " pass"
}

// conditions says which calls a rule is for.
func (r Rule) conditions() string {
	var all []string
	for _, c := range []Setting{{"tool", r.Tool}, {"params", r.Params}, {"command", r.Command},
		{"permission", string(r.Permission)}, {"risk", string(r.Risk)}} {
		if c.Value != "" {
			all = append(all, c.Name+" "+strconv.Quote(c.Value))
		}
	}
	return strings.Join(all, ", ")
}

func (t Toolset) effects() (all []Effect) {
	for _, name := range slices.Sorted(maps.Keys(t.Rename)) {
		all = append(all, Effect{Pos: t.Pos, Block: "toolset", Name: t.Name, Kind: Sets, Attribute: "rename " + name,
			Value: t.Rename[name]})
	}
	return all
}

func (v Variable) effects() []Effect {
	if !v.Sensitive {
		return nil
	}
	return []Effect{{Pos: v.Pos, Block: "variable", Name: v.Name, Kind: Sets, Attribute: "sensitive",
		Value: "true: results do not show its value"}}
}

func envEffects(name string) []Effect {
	return []Effect{{Block: "file", Kind: Reads, Value: name}}
}

// command adds what a template runs.
func (e Effect) command(t *argv.Template) Effect {
	for i := range t.Argv {
		e.Argv = append(e.Argv, shownExpr(&t.Argv[i]))
	}
	if t.Stdin != nil {
		stdin := shownExpr(t.Stdin)
		e.Stdin = &stdin
	}
	for name, value := range t.Env {
		if e.Env == nil {
			e.Env = make(map[string]string)
		}
		e.Env[name] = shownExpr(&value)
	}
	return e
}

// granted adds what the sandbox grants.
func (e Effect) granted(a Access) Effect {
	e.Network, e.Read, e.Write = a.Network, paths(a.Read), paths(a.Write)
	return e
}

// also adds all other fields of a block that are set, but those that were told.
func (e Effect) also(block any, told ...string) Effect {
	v := reflect.ValueOf(block)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && !v.Field(i).IsZero() && !slices.Contains(told, field.Name) {
			e.More = append(e.More, Setting{snake(field.Name), shown(v.Field(i))})
		}
	}
	return e
}

// paths notes where paths lead.
func paths(list []string) (all []Path) {
	for _, p := range list {
		leads, err := realpath.Of(p)
		switch {
		case err != nil:
			leads = Unknown
		case leads == p:
			leads = ""
		}
		all = append(all, Path{p, leads})
	}
	return all
}

// shown writes the value of a setting.
func shown(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case []string:
		return strings.Join(value, ", ")
	case time.Duration:
		return value.String()
	case map[string]tool.Risk:
		return strings.TrimPrefix(fmt.Sprint(value), "map")
	}
	return fmt.Sprint(v.Interface())
}

// snake writes the name of a field as agent.hcl does.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && 'A' <= r && r <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// shownExpr writes an expression for people.
func shownExpr(e *argv.Expr) string {
	switch {
	case e.Param != "":
		return "{" + e.Param + "}"
	case e.When != nil:
		return "{" + e.When.Param + "?" + shownExpr(&e.When.Then) + ":" + shownExpr(&e.When.Else) + "}"
	case e.All:
		return "{all parameters}"
	case e.Concat == nil:
		return e.Literal
	}
	var b strings.Builder
	for i := range e.Concat {
		b.WriteString(shownExpr(&e.Concat[i]))
	}
	return b.String()
}

// redact takes secrets out of every text.
func (e *Effect) redact(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	secret := redact.New(secrets)
	hide := func(text *string) { *text = secret.String(*text) }
	for _, text := range []*string{&e.Name, &e.Attribute, &e.Value, &e.URL} {
		hide(text)
	}
	e.Argv = slices.Clone(e.Argv)
	for i := range e.Argv {
		hide(&e.Argv[i])
	}
	if e.Stdin != nil {
		hide(e.Stdin)
	}
	e.Env = maps.Clone(e.Env)
	for name, value := range e.Env {
		e.Env[name] = secret.String(value)
	}
	for _, list := range [][]Path{e.Read, e.Write, e.Paths} {
		for i := range list {
			hide(&list[i].Path)
			hide(&list[i].Leads)
		}
	}
	for i := range e.More {
		hide(&e.More[i].Value)
	}
}
