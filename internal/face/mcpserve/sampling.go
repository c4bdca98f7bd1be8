package mcpserve

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// defaultMaxTokens bounds a model's answer if the question does not; the protocol requires a bound.
const defaultMaxTokens = 4096

// sampler returns a function that asks the client's model at once; nil if this client, or its revision,
// cannot.
func (s *Server) sampler(in *requestInfo) func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
	if !in.canSample() || isStateless(in.session) {
		return nil
	}
	return func(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error) {
		waiting, cancel := context.WithTimeout(ctx, s.options.AskTimeout)
		defer cancel()
		result, err := in.session.CreateMessage(waiting, sampling(request))
		if err != nil {
			return nil, tool.Errorf(tool.Unavailable, "the client's model did not answer: %w", err).
				Suggest("Do it without a model, or ask the user to add a model block to agent.hcl.")
		}
		return &tool.SampleResponse{Text: textOf([]mcp.Content{result.Content}), Model: result.Model}, nil
	}
}

func sampling(request tool.SampleRequest) *mcp.CreateMessageParams {
	p := &mcp.CreateMessageParams{SystemPrompt: request.System, MaxTokens: int64(request.MaxTokens)}
	for _, m := range request.Messages {
		p.Messages = append(p.Messages, &mcp.SamplingMessage{Role: mcp.Role(m.Role), Content: content(m)})
	}
	if request.Prompt != "" || len(p.Messages) == 0 {
		p.Messages = append(p.Messages,
			&mcp.SamplingMessage{Role: "user", Content: &mcp.TextContent{Text: request.Prompt}})
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = defaultMaxTokens
	}
	return p
}

func textOf(contents []mcp.Content) string {
	var texts []string
	for _, c := range contents {
		if text, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
