package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// maxName is how long a tool's name may be: [host.MaxForeignName].
const maxName = 48

// remoteTools gives the tools that the spec selects, under names that every
// client accepts. Of two that would get one name the second is told apart by a
// digest.
func (s *server) remoteTools(found *listing) []tool.Tool {
	taken := make(map[string]bool)
	var tools []tool.Tool
	for i := range found.Tools {
		t := &found.Tools[i]
		if t.Name == "" || !s.spec.selects(t.Name) {
			continue
		}
		name := portableName(s.spec.Prefix, t.Name)
		if taken[name] {
			name = withDigest(name, t.Name)
		}
		if taken[name] {
			continue
		}
		taken[name] = true
		made := &remoteTool{server: s, name: t.Name, declared: t}
		made.definition, made.losses = s.definition(name, t)
		tools = append(tools, made)
	}
	return tools
}

// selects reports whether a tool is included and not excluded.
func (s *Spec) selects(name string) bool {
	return (len(s.Include) == 0 || matchesAny(s.Include, name)) && !matchesAny(s.Exclude, name)
}

func matchesAny(globs []string, name string) bool {
	for _, glob := range globs {
		if doublestar.MatchUnvalidated(glob, name) {
			return true
		}
	}
	return false
}

// portableName makes a name of letters, digits, "_" and "-", at most maxName
// long.
func portableName(prefix, name string) string {
	full := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, prefix+name)
	if len(full) > maxName {
		return withDigest(full, prefix+name)
	}
	return full
}

// withDigest ends name in a digest of what it stands for.
func withDigest(name, of string) string {
	sum := sha256.Sum256([]byte(of))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// definition is a tool as toolhost describes it, and what its schemas go without.
func (s *server) definition(name string, t *upstreamTool) (*tool.Definition, []schema.Loss) {
	parameters, losses := schema.Parameters(t.Input)
	returns, more := returns(t.Output)
	def := &tool.Definition{
		Name: name, Title: t.Title, Description: t.Description, Category: "mcp",
		Parameters: parameters, Returns: returns,
		Risk: s.risk(t), Idempotent: t.Annotations.Idempotent, Timeout: s.spec.CallTimeout,
	}
	if def.Title == "" {
		def.Title = t.Annotations.Title
	}
	if s.spec.URL != "" || s.spec.Network || len(s.spec.Hosts) > 0 {
		def.Permissions = []tool.Permission{tool.Network}
	}
	return def, append(losses, more...)
}

// risk is what the operator says, or else what the annotations do.
func (s *server) risk(t *upstreamTool) tool.Risk {
	best, risk := -1, tool.Risk("")
	for glob, r := range s.spec.Risk {
		if len(glob) > best && doublestar.MatchUnvalidated(glob, t.Name) {
			best, risk = len(glob), r
		}
	}
	switch {
	case best >= 0:
		return risk
	case t.Annotations.ReadOnly:
		return tool.ReadOnly
	case t.Annotations.Destructive != nil && !*t.Annotations.Destructive:
		return tool.SafeWrite
	}
	return tool.Dangerous
}

// returns is the schema of the structured result, where there is a usable one.
func returns(raw json.RawMessage) (json.RawMessage, []schema.Loss) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || len(top) == 0 {
		return nil, nil
	}
	return schema.Adapt(raw)
}
