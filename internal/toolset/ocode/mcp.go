package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
)

type mcpParams struct {
	Action string         `json:"action"`
	Server string         `json:"server"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`

	raw json.RawMessage // Params as given
}

// UnmarshalJSON keeps the digits of numbers in Params.
func (p *mcpParams) UnmarshalJSON(data []byte) error {
	type plain mcpParams
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	var raw struct {
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(data, &raw)
	p.raw = raw.Params
	return err
}

func runMCP(ctx context.Context, deps Deps, call *tool.Call, p mcpParams) (*outcome, error) {
	if deps.Servers == nil || len(deps.Servers.Names()) == 0 {
		if p.Action == "list" && p.Server == "" {
			return &outcome{output: "No MCP servers", metadata: facts{"servers": []any{}}}, nil
		}
		return nil, tool.Errorf(tool.Unavailable, "No MCP server is configured").
			Suggest("The operator adds one to agent.hcl: mcp \"NAME\" { command = [...] }.")
	}
	if p.Action == "list" {
		return p.list(ctx, deps)
	}
	if err := p.complete(deps); err != nil {
		return nil, err
	}
	o := &outcome{metadata: facts{"server": p.Server, "method": p.Method}}
	switch p.Action {
	case "call":
		return o, p.call(ctx, deps, call, o)
	case "resource":
		return o, p.resource(ctx, deps, o)
	}
	return o, p.prompt(ctx, deps, o)
}

// complete fills in the only server and checks the parameters.
func (p *mcpParams) complete(deps Deps) error {
	names := deps.Servers.Names()
	if p.Server == "" && len(names) == 1 {
		p.Server = names[0]
	}
	switch {
	case p.Server == "":
		return invalid("Name one of "+strings.Join(names, ", ")+".", "Server is required for action %s", p.Action)
	case p.Method == "":
		return invalid("Action list shows what the server has.", "Method is required for action %s", p.Action)
	}
	return nil
}

func (p mcpParams) call(ctx context.Context, deps Deps, call *tool.Call, o *outcome) error {
	result, err := deps.Servers.Call(ctx, p.Server, p.Method, p.raw, call)
	if tool.CodeOf(err) == tool.InvalidArgument {
		e := *tool.AsError(err)
		return e.Suggest("Action list shows the server's tools, with their parameters.")
	}
	if err != nil {
		return err
	}
	if len(result.Structured) > 0 {
		o.set("structured", result.Structured)
	}
	o.addContents(result.Contents)
	if result.Failed != nil {
		text := o.output
		if text == "" {
			text = result.Failed.Message
		}
		o.output = ""
		return tool.Errorf(tool.CommandFailed, "The tool %s of %s failed: %s", p.Method, p.Server, text).
			Suggest("Correct params as the tool's description says; action list shows it.")
	}
	return nil
}

// addContents adds contents to the output: text as it is, others as a description with the content beside it.
func (o *outcome) addContents(contents []tool.Content) {
	var texts []string
	for _, c := range contents {
		switch {
		case c.Text != "" || c.Kind == tool.KindText:
			texts = append(texts, c.Text)
		case c.Kind == tool.KindLink:
			texts = append(texts, strings.TrimSpace(c.Name+" "+c.URI))
		default:
			texts = append(texts, fmt.Sprintf("[%s %s, %d bytes]", c.Kind, c.MIMEType, len(c.Data)))
			o.contents = append(o.contents, c)
		}
	}
	o.output = strings.Join(texts, "\n")
}

func (p mcpParams) resource(ctx context.Context, deps Deps, o *outcome) error {
	parts, err := deps.Servers.ReadResource(ctx, p.Server, p.Method)
	if err != nil {
		return err
	}
	o.addContents(parts)
	return nil
}

func (p mcpParams) prompt(ctx context.Context, deps Deps, o *outcome) error {
	arguments := make(map[string]string)
	var given map[string]json.RawMessage
	if err := json.Unmarshal(p.raw, &given); err != nil && len(p.raw) > 0 {
		return err
	}
	for name, value := range given {
		text := ""
		if value[0] != '"' || json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		arguments[name] = text
	}
	messages, err := deps.Servers.GetPrompt(ctx, p.Server, p.Method, arguments)
	if err != nil {
		return err
	}
	var contents []tool.Content
	for _, m := range messages {
		c := m.Content
		if c.Kind == tool.KindText {
			c.Text = m.Role + ": " + c.Text
		}
		contents = append(contents, c)
	}
	o.addContents(contents)
	o.set("messages", messages)
	return nil
}

type listedServer struct {
	Name      string               `json:"name"`
	Tools     []listedTool         `json:"tools"`
	Resources []mcpclient.Resource `json:"resources"`
	Prompts   []mcpclient.Prompt   `json:"prompts"`
	LeftOut   []string             `json:"left_out,omitempty"`
	Error     string               `json:"error,omitempty"`
}

type listedTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

// list shows one server or all. An unreachable one is reported and does not hide others.
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
