package ocode

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/peer/mcpclient"
)

// listedServer is what a server has.
type listedServer struct {
	Name      string               `json:"name"`
	Tools     []listedTool         `json:"tools"`
	Resources []mcpclient.Resource `json:"resources"`
	Prompts   []mcpclient.Prompt   `json:"prompts"`
	LeftOut   []string             `json:"left_out,omitempty"`
	Error     string               `json:"error,omitempty"`
}

// listedTool is a tool of a server.
type listedTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

// list shows one server, or all. A server that cannot be reached is told about,
// and no reason to leave out the others.
func (p mcpParams) list(ctx context.Context, deps Deps) (*outcome, error) {
	names := deps.Servers.Names()
	if p.Server != "" {
		names = []string{p.Server}
	}
	o := &outcome{}
	var parts []string
	servers := []listedServer{}
	for _, name := range names {
		s, err := lookAt(ctx, deps.Servers, name)
		if err != nil && p.Server != "" {
			return nil, err
		}
		if err != nil {
			s.Error = err.Error()
			o.warn(fmt.Sprintf("%s cannot be reached: %v", name, err))
		}
		for _, why := range s.LeftOut {
			o.warn(why)
		}
		servers, parts = append(servers, s), append(parts, s.text())
	}
	if p.Server == "" && allBroken(servers) {
		return nil, tool.Errorf(tool.Unavailable, "No MCP server can be reached: %s", servers[0].Error).
			Suggest("toolhost doctor tells more of each.").With("servers", servers)
	}
	o.output = strings.Join(parts, "\n")
	o.set("servers", servers)
	return o, nil
}

func allBroken(servers []listedServer) bool {
	for _, s := range servers {
		if s.Error == "" {
			return false
		}
	}
	return true
}

// lookAt asks a server for what it has.
func lookAt(ctx context.Context, client *mcpclient.Client, name string) (s listedServer, err error) {
	s = listedServer{Name: name, Tools: []listedTool{}, Resources: []mcpclient.Resource{},
		Prompts: []mcpclient.Prompt{}}
	tools, leftOut, err := client.Tools(ctx, name)
	if err != nil {
		return s, err
	}
	for _, why := range leftOut {
		s.LeftOut = append(s.LeftOut, why.Message)
	}
	for _, d := range tools {
		s.Tools = append(s.Tools, listedTool{d.Name, d.Description, d.Parameters})
	}
	var resources, prompts int
	if s.Resources, resources, err = client.Resources(ctx, name); err != nil {
		return s, err
	}
	s.Prompts, prompts, err = client.Prompts(ctx, name)
	if resources+prompts > 0 {
		s.LeftOut = append(s.LeftOut, fmt.Sprintf("%d resources and %d prompts of %s are left out: their names hold "+
			"characters that cannot be seen, or the list is too long", resources, prompts, name))
	}
	return s, err
}

// text shows a server in lines.
func (s listedServer) text() string {
	lines := []string{s.Name + ":"}
	if s.Error != "" {
		return s.Name + ": " + s.Error
	}
	for _, t := range s.Tools {
		lines = append(lines, "  tool "+t.Name+described(t.Description))
	}
	for _, r := range s.Resources {
		kind := "resource "
		if r.Template {
			kind = "resource template "
		}
		lines = append(lines, "  "+kind+r.URI+described(r.Name))
	}
	for _, p := range s.Prompts {
		lines = append(lines, "  prompt "+p.Name+described(p.Description))
	}
	return strings.Join(lines, "\n")
}

func described(text string) string {
	if text == "" {
		return ""
	}
	return ": " + oneLine(text)
}
