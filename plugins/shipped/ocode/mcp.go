package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
)

type mcpParams struct {
	Action string         `json:"action"`
	Server string         `json:"server"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`

	raw json.RawMessage // Params as they were given
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

func mcp(deps Deps) tool.Tool {
	return newTool(deps, spec[mcpParams]{
		Definition: tool.Definition{
			Name:  "mcp",
			Title: "Use MCP servers",
			Description: "Works with the MCP servers that the operator has configured. list shows them with their tools, resources and prompts, or those of one server; " +
				"call calls the tool that method names, with params; resource reads the resource whose URI method is; prompt fills in the prompt that method names, with params. " +
				"server may be left out where there is one only. " +
				"Returns: what the server gave, as text, and in metadata server, method, structured, and for list servers.",
			Category:    "integration",
			Risk:        tool.Dangerous,
			Permissions: []tool.Permission{tool.Network},
			Examples: []tool.Example{
				{Params: json.RawMessage(`{"action":"list"}`)},
				{Params: json.RawMessage(`{"action":"call","server":"github","method":"search_issues","params":{"query":"is:open"}}`)},
				{Params: json.RawMessage(`{"action":"resource","server":"docs","method":"docs://readme"}`)},
				{Params: json.RawMessage(`{"action":"prompt","server":"docs","method":"review","params":{"file":"a.go"}}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "action", Type: "string", Required: true, Enum: registry.Strings("list", "call", "resource", "prompt"), Description: "What to do."},
			{Name: "server", Type: "string", Description: "The server's name in the configuration."},
			{Name: "method", Type: "string", Description: "The tool, the URI of the resource, or the prompt."},
			{Name: "params", Type: "object", Description: "What the tool or prompt is given."},
		},
		facts: `"server":{"type":"string","description":"The server."},` +
			`"method":{"type":"string","description":"The tool, resource or prompt."},` +
			`"structured":{"description":"What the tool gave as data."},` +
			`"servers":{"type":"array","items":{"type":"object"},"description":"Each with name, tools, resources and prompts."},` +
			`"messages":{"type":"array","items":{"type":"object"},"description":"The messages of a prompt."}`,
		aliases: aliases{{"server_name", "server", nil}, {"tool_name", "method", nil}, {"resource_uri", "method", nil}, {"tool_arguments", "params", nil}},
		run:     runMCP,
	})
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

// complete fills in the only server, and refuses what cannot be done.
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

// call calls a tool of the server.
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
	o.take(result.Contents)
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

// take puts contents into the output: texts as they are, others by what they
// are, and beside it.
func (o *outcome) take(contents []tool.Content) {
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
	o.take(parts)
	return nil
}

func (p mcpParams) prompt(ctx context.Context, deps Deps, o *outcome) error {
	arguments := make(map[string]string)
	for name, value := range p.Params {
		text, ok := value.(string)
		if !ok {
			text = string(tool.MustMarshal(value))
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
	o.take(contents)
	o.set("messages", messages)
	return nil
}
