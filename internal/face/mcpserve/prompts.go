package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// refreshPrompts offers a catalog's prompts instead and notifies clients of changes.
func (s *Server) refreshPrompts(catalog *host.Catalog) {
	gone := s.prompts
	s.prompts = make(map[string]*host.Entry)
	for _, entry := range catalog.Prompts() {
		def := entry.Tool.(tool.Prompt).Prompt()
		if before := gone[def.Name]; before == nil ||
			!same(describePrompt(before.Tool.(tool.Prompt).Prompt()), describePrompt(def)) {
			s.sdk.AddPrompt(describePrompt(def), s.getPrompt)
		}
		s.prompts[def.Name] = entry
		delete(gone, def.Name)
	}
	for name := range gone {
		s.sdk.RemovePrompts(name)
	}
}

func describePrompt(def *tool.PromptDefinition) *mcp.Prompt {
	p := &mcp.Prompt{Name: def.Name, Title: def.Title, Description: def.Description}
	for _, a := range def.Arguments {
		p.Arguments = append(p.Arguments,
			&mcp.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	return p
}

func (s *Server) getPrompt(ctx context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	conn := connOf(ctx)
	ctx, done, err := conn.begin(ctx)
	if err != nil {
		return nil, failure(tool.AsError(err))
	}
	defer done()
	outcome, open, err := s.callWithQuestions(ctx, conn, fromGet(request), conn.session.Prompt)
	switch {
	case err != nil:
		return nil, err
	case open != nil:
		return &mcp.GetPromptResult{InputRequests: open.requests, RequestState: open.state}, nil
	case outcome.Err != nil:
		return nil, failure(outcome.Err)
	}
	result := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}
	if entry, err := s.host.Catalog().Prompt(request.Params.Name); err == nil {
		result.Description = entry.Tool.(tool.Prompt).Prompt().Description
	}
	for i, content := range contents(outcome.Result.Contents) {
		result.Messages = append(result.Messages,
			&mcp.PromptMessage{Role: mcp.Role(outcome.Result.Contents[i].Role), Content: content})
	}
	return result, nil
}

// mostCompletions is the protocol's bound of a completion's values.
const mostCompletions = 100

// complete serves completion/complete: arguments of prompts and variables of resource templates.
func (s *Server) complete(ctx context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	entry, err := s.referred(request.Params.Ref)
	if err != nil {
		return nil, err
	}
	wanted := tool.Completion{Argument: request.Params.Argument.Name, Typed: request.Params.Argument.Value}
	if request.Params.Context != nil {
		wanted.Chosen = request.Params.Context.Arguments
	}
	values, err := s.host.Complete(ctx, entry, wanted)
	if err != nil {
		return nil, failure(tool.AsError(err))
	}
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}, Total: len(values)}}
	result.Completion.HasMore = len(values) > mostCompletions
	result.Completion.Values = append(result.Completion.Values, values[:min(len(values), mostCompletions)]...)
	return result, nil
}

// referred returns the entry that a completion is for.
func (s *Server) referred(ref *mcp.CompleteReference) (*host.Entry, error) {
	if ref == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "ref is missing: name a prompt or a resource template"}
	}
	if ref.Type == "ref/prompt" {
		entry, err := s.host.Catalog().Prompt(ref.Name)
		if err != nil {
			return nil, failure(tool.AsError(err))
		}
		return entry, nil
	}
	entry, ok := s.host.Catalog().Template(ref.URI)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no resource template " + ref.URI}
	}
	return entry, nil
}
