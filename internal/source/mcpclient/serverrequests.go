//lint:file-ignore SA1019 sampling and logging are what servers of older revisions have

package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// elicit passes a server's form, or page, to the user of the call it belongs to.
func (c *conn) elicit(ctx context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	form := tool.Form{Message: fmt.Sprintf("The MCP server %s asks: %s", c.server.spec.Name,
		show.Sanitize(request.Params.Message, show.MostMessage))}
	if request.Params.Mode == "url" {
		var err error
		if form, err = c.server.visit(request.Params); err != nil {
			return nil, err
		}
	}
	var err error
	if form.Schema, err = formOf(request.Params.RequestedSchema); err != nil {
		return nil, err
	}
	f := c.server.calls.asking(ctx, c)
	if f == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	answer, err := f.askUser(ctx, form)
	if err != nil {
		return nil, err
	}
	return elicitResult(answer)
}

func (f *pendingCall) askUser(ctx context.Context, form tool.Form) (tool.Answer, error) {
	key := f.questionKey(form)
	answer, err := f.askCaller(ctx,
		func(ctx context.Context, call *tool.Call) (any, error) { return call.Ask(ctx, key, form) })
	if err != nil {
		return tool.Answer{}, err
	}
	return answer.(tool.Answer), nil
}

// questionKey names a question. If a server starts over and asks it again, it gets the same name.
func (f *pendingCall) questionKey(form tool.Form) string {
	sum := sha256.Sum256(tool.MustMarshal(form))
	key := "mcp." + hex.EncodeToString(sum[:8])
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[key]++
	return fmt.Sprintf("%s.%d", key, f.asked[key])
}

func elicitResult(a tool.Answer) (*mcp.ElicitResult, error) {
	out := &mcp.ElicitResult{Action: a.Action}
	if !a.Accepted() || len(a.Content) == 0 {
		return out, nil
	}
	var err error
	if out.Content, err = exact.Object(a.Content); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return out, nil
}

// askCaller hands a question to the caller that follows the pending call and waits for the answer.
func (f *pendingCall) askCaller(ctx context.Context, ask func(context.Context, *tool.Call) (any, error)) (any, error) {
	q := &question{ask: ask, answer: make(chan any, 1)}
	ended := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call was ended"}
	select {
	case f.questions <- q:
	case <-f.done:
		return nil, ended
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-f.done:
		return nil, ended
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sample asks the language model of the call that the server's request belongs to.
func (c *conn) sample(ctx context.Context, request *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	f := c.server.calls.asking(ctx, c)
	if f == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "sampling is offered during a call only"}
	}
	if err := c.server.maySample(f); err != nil {
		return nil, err
	}
	asked := tool.SampleRequest{System: request.Params.SystemPrompt,
		MaxTokens: min(int(request.Params.MaxTokens), maxSampleTokens)}
	prompt, texts := promptOf(request.Params.Messages)
	if texts {
		asked.Prompt = prompt
	} else if asked.Messages = conversation(request.Params.Messages); asked.Messages == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "a model is asked with texts, images and audio only"}
	}
	type outcome struct {
		response *tool.SampleResponse
		err      error
	}
	answer, err := f.askCaller(ctx, func(ctx context.Context, call *tool.Call) (any, error) {
		response, err := call.Sample(ctx, asked)
		if errors.Is(err, tool.ErrInputRequired) {
			return nil, err // the client's model is asked as the user is
		}
		return outcome{response, err}, nil
	})
	if err != nil {
		return nil, err
	}
	o := answer.(outcome)
	if o.err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: o.err.Error()}
	}
	return &mcp.CreateMessageResult{
		Role: "assistant", Model: o.response.Model, StopReason: "endTurn",
		Content: &mcp.TextContent{Text: o.response.Text},
	}, nil
}

// promptOf writes a conversation as one prompt. texts is false if a part is not a text.
func promptOf(messages []*mcp.SamplingMessage) (prompt string, texts bool) {
	var parts []string
	for _, m := range messages {
		text, ok := m.Content.(*mcp.TextContent)
		if !ok {
			return "", false
		}
		if len(messages) == 1 {
			return text.Text, true
		}
		parts = append(parts, string(m.Role)+": "+text.Text)
	}
	return strings.Join(parts, "\n\n"), true
}

// conversation converts messages of texts, images and audio; nil if there is anything else.
func conversation(messages []*mcp.SamplingMessage) []tool.Content {
	all := make([]tool.Content, 0, len(messages))
	for _, m := range messages {
		switch m.Content.(type) {
		case *mcp.TextContent, *mcp.ImageContent, *mcp.AudioContent:
			made := content(m.Content)
			made.Role, made.MCP = string(m.Role), nil
			all = append(all, made)
		default:
			return nil
		}
	}
	return all
}

func (c *conn) progress(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
	p := request.Params
	if f := c.server.calls.byToken(p.ProgressToken); f != nil {
		f.report(tool.Progress{Done: p.Progress, Total: p.Total, Message: show.Sanitize(p.Message, show.MostMessage)})
	}
}

func level(l mcp.LoggingLevel) slog.Level {
	switch l {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		return slog.LevelError
	}
	return slog.LevelInfo
}

func (c *conn) log(_ context.Context, request *mcp.LoggingMessageRequest) {
	text, ok := request.Params.Data.(string)
	if !ok {
		text = string(tool.MustMarshal(request.Params.Data))
	}
	name := request.Params.Logger
	c.say(level(request.Params.Level), c.server.client.hide(text), "logger", show.SanitizeLine(name, show.MostName))
}
