package mcpclient

import (
	"encoding/json"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// maxName bounds a tool's name: [host.MaxForeignName].
const maxName = 48

// remoteTools returns the tools that the spec selects, under names that every client accepts. A name depends only
// on the tool: policy, approvals and pins use it. If two tools get one name, the one whose own name sorts first is
// offered.
func (s *server) remoteTools(found *listing) []tool.Tool {
	offered := make(map[string]*upstreamTool)
	for i := range found.Tools {
		t := &found.Tools[i]
		if t.Name == "" || !s.spec.selects(t.Name) {
			continue
		}
		name := s.portable(t)
		other := offered[name]
		if other == nil || t.Name < other.Name {
			offered[name] = t
		}
		if other != nil {
			s.client.logger.Warn("an MCP server lists two tools of one name, of which one is offered", "server", s.spec.Name,
				"name", name, "tools", []string{other.Name, t.Name})
		}
	}
	var tools []tool.Tool
	for i := range found.Tools {
		t := &found.Tools[i]
		if name := s.portable(t); offered[name] == t {
			made := &remoteTool{server: s, name: t.Name, declared: t}
			made.definition, made.losses = s.definition(name, t)
			tools = append(tools, made)
		}
	}
	return tools
}

func (s *server) portable(t *upstreamTool) string {
	return tool.PortableName(s.spec.Prefix+t.Name, maxName)
}

// Offered returns the source's name for a tool of the server; "" if not selected.
func (s *Source) Offered(own string) string {
	if !s.server.spec.selects(own) {
		return ""
	}
	return s.server.portable(&upstreamTool{Name: own})
}

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

// definition converts a tool, and returns what its schemas lose.
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

// risk returns the operator's risk, or else the annotations'.
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

// returns returns the schema of the structured result, if usable.
func returns(raw json.RawMessage) (json.RawMessage, []schema.Loss) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || len(top) == 0 {
		return nil, nil
	}
	return schema.Adapt(raw)
}
