package config

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
)

// grammar has what each block may contain, by its type. fileForm is the file; a type with further words is a
// variant in another place.
var grammar = sync.OnceValue(func() map[string]*hcl.BodySchema {
	return map[string]*hcl.BodySchema{
		fileForm: schema("instructions", "workspace", "variable name", "locals", "tool name", "resource name",
			"prompt name", "plugin name",
			"mcp name", "agent role", "taskfile", "toolset name", "policy", "sandbox", "limits", "web", "record",
			"model", "credential name",
			"permissions", "builtin name"),
		"agent":      schema("command prompt description env timeout " + accessAttrs),
		"argument":   schema("title description required default enum pattern min max path complete"),
		"ask":        schema("message optional roots form", "field name", "model"),
		"builtin":    schema("unescape"),
		"command":    schema("argv env stdin timeout success report"),
		"credential": schema("host header value username password"),
		"example":    schema("args params description"),
		"field":      schema("type title description default enum titles min max format required"),
		"limits":     schema("output timeout processes"),
		"mcp": schema("command env url headers prefix include exclude risk timeout start_timeout protocol roots "+
			accessAttrs, "oauth"),
		"message":         schema("role type " + partAttrs),
		"model":           schema("url model key headers private timeout max_tokens"),
		"model of an ask": schema("prompt system max_tokens"),
		"oauth": schema("grant client_id client_secret client_secret_file private_key_file assertion_file " +
			"client_metadata_url issuer scopes redirect_port private"),
		"operands":            schema("type first last into min max refuse reason"),
		"option":              schema("value values optional refuse"),
		"output":              schema("type base64 schema empty " + partAttrs),
		"param":               schema("type description default enum pattern min max path dash"),
		"param beside schema": schema("path dash"),
		"param of a resource": schema("description enum pattern min max path complete"),
		"passthrough": schema("command prepend forbid unknown number separator option_style timeout success report",
			"option names", "operands"),
		"permissions": schema("grant"),
		"plugin": schema("source version sha256 args env prefix timeout start_timeout idle_timeout permissions "+accessAttrs,
			"config"),
		"policy": schema("read_only safe_write dangerous permissions", "rule name"),
		"prompt": schema("title description", "argument name", "ask name", "message"),
		"record": schema("keep size required ignore"),
		"reject": schema("args params description"),
		"resource": schema("title description watch base64 risk permissions "+partAttrs+" "+accessAttrs,
			"param name", "command"),
		"rule": schema("tool params command permission risk action expires disabled reason " +
			"files paths deletes bytes beyond"),
		"sandbox":  schema("level mask watch memory " + accessAttrs),
		"taskfile": schema("path timeout " + accessAttrs),
		"tool": schema("title description risk permissions task params_schema "+accessAttrs, "param name",
			"passthrough", "command", "ask name", "output", "example", "reject"),
		"toolset":               schema("tools rename resources prompts search"),
		"variable":              schema("default description sensitive"),
		"web":                   schema("allow timeout max_size search"),
		"workspace":             schema("root allow protect"),
		"lock file":             schema("format", "plugin name", "tools source"),
		"plugin in a lock file": schema("version constraint from key sha256"),
		"tools in a lock file":  schema("sha256"),
	}
})

// fileForm is the form of agent.hcl outside of all blocks.
const fileForm = "agent.hcl itself"

// holds reports whether a block of a form may have an attribute or block of that name.
func holds(form, name string) bool {
	s := grammar()[form]
	if s == nil {
		return false
	}
	attrs, blocks := names(s)
	return slices.Contains(attrs, name) || slices.Contains(blocks, name)
}

// nested returns the blocks in a block of a form that may contain name.
func nested(form, name string) []string {
	_, blocks := names(grammar()[form])
	return slices.DeleteFunc(blocks, func(b string) bool { return !holds(b, name) })
}

// around returns the block types that may contain both a block of this type and name.
func around(kind, name string) (all []string) {
	for _, form := range forms() {
		if _, blocks := names(grammar()[form]); slices.Contains(blocks, kind) && holds(form, name) {
			all = append(all, form)
		}
	}
	return all
}

// forms returns the types of blocks, and the file itself, without variants.
func forms() []string {
	all := slices.Sorted(maps.Keys(grammar()))
	return slices.DeleteFunc(all, func(form string) bool { return form != fileForm && strings.Contains(form, " ") })
}

// home returns where a misplaced item belongs, "" if unclear. top is the type of the file's block around it.
func home(form, top, name string) (hint string) {
	if in := nested(form, name); len(in) > 0 && len(in) < 3 {
		return "It belongs in the " + either(in) + " block."
	}
	if form == fileForm {
		return ""
	}
	kind, _, _ := strings.Cut(form, " ")
	out := around(kind, name)
	switch {
	case slices.Contains(out, fileForm):
		return "It belongs at the top of agent.hcl, outside of all blocks."
	case slices.Contains(out, top):
		out = []string{top}
	}
	if len(out) > 0 {
		return "It belongs in the " + either(out) + " block, outside of " + kind + "."
	}
	return ""
}

// elsewhere returns which blocks may have an item of that name, if they are few.
func elsewhere(name string) string {
	all := slices.DeleteFunc(forms(), func(form string) bool { return !holds(form, name) })
	if len(all) == 1 || len(all) == 2 {
		return "It belongs in a " + either(all) + " block."
	}
	return ""
}

func either(kinds []string) string { return strings.Join(kinds, " or ") }
