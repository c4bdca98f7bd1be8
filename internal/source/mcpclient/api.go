package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Resource is a resource of a server.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	// Template reports whether URI is a URI template (RFC 6570).
	Template bool `json:"template,omitempty"`
}

// Prompt is a prompt template of a server.
type Prompt struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is a message of an expanded prompt.
type PromptMessage struct {
	// Role is "user" or "assistant".
	Role    string       `json:"role"`
	Content tool.Content `json:"content"`
}

// Names returns the servers' names in the order they were added.
func (c *Client) Names() []string {
	names := []string{}
	for _, s := range c.servers.All() {
		names = append(names, s.spec.Name)
	}
	return names
}

// find returns a server. The error is a *tool.Error of code not_found.
func (c *Client) find(name string) (*server, error) {
	if s, ok := c.servers.Find(name); ok {
		return s, nil
	}
	names := c.Names()
	err := tool.Errorf(tool.NotFound, "there is no MCP server named %q", name)
	if len(names) == 0 {
		return nil, err.Suggest("Declare one in an mcp block of agent.hcl.")
	}
	return nil, err.Suggest("%s", nearest.Hint(name, names, "The servers are "+strings.Join(names, ", ")+"."))
}

func (c *Client) connected(ctx context.Context, name string) (*conn, error) {
	s, err := c.find(name)
	if err != nil {
		return nil, err
	}
	return s.acquire(ctx)
}

// Tools describes a server's tools under its own names, connecting if unknown. The spec's include and exclude
// apply, prefix does not. leftOut explains why others are not offered.
func (c *Client) Tools(ctx context.Context, name string) (defs []*tool.Definition, leftOut []*tool.Error, err error) {
	s, err := c.find(name)
	if err != nil {
		return nil, nil, err
	}
	if _, known := s.known(); !known {
		if _, err := s.acquire(ctx); err != nil {
			return nil, nil, err
		}
	}
	defs = []*tool.Definition{}
	found, refused := s.admitted()
	for i := range found.Tools {
		t := &found.Tools[i]
		switch {
		case !s.spec.selects(t.Name):
		case refused[t.Name] != nil:
			leftOut = append(leftOut, refused[t.Name])
		default:
			def, _ := s.definition(t.Name, t)
			defs = append(defs, def)
		}
	}
	return defs, leftOut, nil
}

// admitted returns the server's listing, and why some of its tools may not be used.
func (s *server) admitted() (*listing, map[string]*tool.Error) {
	s.Lock()
	found := s.listing
	s.Unlock()
	store, refused := s.client.options.Pins, make(map[string]*tool.Error)
	if store == nil {
		return found, refused
	}
	for i := range found.Tools {
		t := &found.Tools[i]
		if err := store.Admit(s.source(), t.Name, pins.Definition(t)); err != nil {
			refused[t.Name] = err
		}
	}
	if _, err := store.Keep(); err != nil {
		s.client.logger.Warn("what the tools of an MCP server say cannot be kept for the user", "server", s.spec.Name,
			"error", err)
	}
	return found, refused
}

func (s *server) source() string { return "mcp " + s.spec.Name }

// Call calls a tool of a server by its own name, with arguments as a JSON object. The server's requests meanwhile
// go to the services of call.
func (c *Client) Call(ctx context.Context, name, toolName string, arguments json.RawMessage,
	call *tool.Call) (*tool.Result, error) {
	s, err := c.find(name)
	if err != nil {
		return nil, err
	}
	if !s.spec.selects(toolName) {
		return nil, s.offersNone(toolName)
	}
	if c.options.Pins != nil {
		if _, err := s.acquire(ctx); err != nil {
			return nil, err
		}
		found, refused := s.admitted()
		if err := refused[toolName]; err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found.Tools, func(t upstreamTool) bool { return t.Name == toolName }) {
			return nil, s.offersNone(toolName)
		}
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	inner := *call
	inner.Params = arguments
	return s.call(ctx, toolName, &inner)
}

func (s *server) offersNone(toolName string) *tool.Error {
	return tool.Errorf(tool.NotFound, "the MCP server %s offers no tool named %q", s.spec.Name,
		toolName).Suggest("List the tools of the server.")
}

// Resources lists a server's resources, then its templates.
func (c *Client) Resources(ctx context.Context, name string) (all []Resource, leftOut int, err error) {
	l, err := c.connected(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	all = []Resource{}
	if caps := l.session.InitializeResult().Capabilities; caps == nil || caps.Resources == nil {
		return all, 0, nil
	}
	left := listBudget
	add := func(r Resource) {
		if r, ok := saidResource(r); ok && left.takes(r) {
			all = append(all, r)
		} else {
			leftOut++
		}
	}
	err = pages("resources", func(cursor string) (string, error) {
		page, err := l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, r := range page.Resources {
			add(Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType})
		}
		return page.NextCursor, nil
	})
	if err != nil {
		return nil, 0, l.callError(ctx, "the list of resources", err)
	}
	err = pages("resource templates", func(cursor string) (string, error) {
		page, err := l.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, r := range page.ResourceTemplates {
			add(Resource{URI: r.URITemplate, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType,
				Template: true})
		}
		return page.NextCursor, nil
	})
	if err != nil && l.answered("", err) == nil { // many servers have resources but no templates
		return nil, 0, l.callError(ctx, "the list of resource templates", err)
	}
	return all, leftOut, nil
}

// ReadResource reads a resource of a server.
func (c *Client) ReadResource(ctx context.Context, name, uri string) ([]tool.Content, error) {
	l, err := c.connected(ctx, name)
	if err != nil {
		return nil, err
	}
	result, err := l.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, l.callError(ctx, "the resource "+uri, err)
	}
	l.server.Succeeded()
	parts := []tool.Content{}
	for _, part := range result.Contents {
		parts = append(parts, resource(part))
	}
	return parts, nil
}

// Prompts lists the prompts of a server.
func (c *Client) Prompts(ctx context.Context, name string) (all []Prompt, leftOut int, err error) {
	l, err := c.connected(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	all = []Prompt{}
	if caps := l.session.InitializeResult().Capabilities; caps == nil || caps.Prompts == nil {
		return all, 0, nil
	}
	left := listBudget
	err = pages("prompts", func(cursor string) (string, error) {
		page, err := l.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, p := range page.Prompts {
			if said, ok := saidPromptOf(p); ok && left.takes(said) {
				all = append(all, said)
			} else {
				leftOut++
			}
		}
		return page.NextCursor, nil
	})
	if err != nil {
		return nil, 0, l.callError(ctx, "the list of prompts", err)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, leftOut, nil
}

// GetPrompt expands a prompt of a server.
func (c *Client) GetPrompt(ctx context.Context, name, prompt string, arguments map[string]string) ([]PromptMessage,
	error) {
	l, err := c.connected(ctx, name)
	if err != nil {
		return nil, err
	}
	result, err := l.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt, Arguments: arguments})
	if err != nil {
		return nil, l.callError(ctx, fmt.Sprintf("the prompt %q", prompt), err)
	}
	l.server.Succeeded()
	messages := []PromptMessage{}
	left := listBudget
	for i, m := range result.Messages {
		c := content(m.Content)
		c.Text = show.Sanitize(c.Text, saidPrompt)
		message := PromptMessage{show.SanitizeLine(string(m.Role), show.MostName), c}
		if !left.takes(message.Role + c.Text) {
			return messages,
				tool.Errorf(tool.TooLarge, "the prompt %q of the MCP server %s is longer than %d KiB", prompt,
					name, listBudget>>10).Suggest("Its first %d messages fit; ask for a shorter prompt.", i)
		}
		messages = append(messages, message)
	}
	return messages, nil
}
