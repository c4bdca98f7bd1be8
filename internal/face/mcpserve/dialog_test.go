package mcpserve_test

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/source/command"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// samples asks a model and counts how often it began.
func samples(began *int) *fake {
	return newTool("samples", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		*began++
		response, err := c.Sample(ctx, tool.SampleRequest{System: "Be brief.", Prompt: "6 x 7?", MaxTokens: 9})
		if err != nil {
			return nil, err
		}
		return tool.Text(response.Text + " by " + response.Model), nil
	})
}

func TestSamplingOfTheClientsModel(t *testing.T) {
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			began := 0
			w := serveWeb(t, newHost(t, host.Options{}, samples(&began)), mcpserve.HTTPOptions{})
			var asked *mcp.CreateMessageParams
			session := w.connect(revision,
				&mcp.ClientOptions{CreateMessageHandler: func(_ context.Context,
					r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					asked = r.Params
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
							Content: &mcp.TextContent{Text: "42"}},
						nil
				}})
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "samples"})
			require.NoError(t, err)
			assert.Equal(t, "42 by m", r.Content[0].(*mcp.TextContent).Text)
			assert.Equal(t, "Be brief.", asked.SystemPrompt)
			assert.Equal(t, int64(9), asked.MaxTokens)
			assert.Equal(t, "6 x 7?", asked.Messages[0].Content.(*mcp.TextContent).Text)
		})
	}
}

func TestTheConfiguredModelComesFirst(t *testing.T) {
	for _, revision := range revisions() {
		began := 0
		h := newHost(t, host.Options{Sample: func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
			return &tool.SampleResponse{Text: "own", Model: "configured"}, nil
		}}, samples(&began))
		session := serveWeb(t, h, mcpserve.HTTPOptions{}).connect(revision,
			&mcp.ClientOptions{CreateMessageHandler: func(context.Context,
				*mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				t.Error("the client's model was asked")
				return nil, nil
			}})
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "samples"})
		require.NoError(t, err)
		assert.Equal(t, "own by configured", r.Content[0].(*mcp.TextContent).Text)
		assert.Equal(t, 1, began)
	}
}

// A client without a model gets its revision's error.
func TestNoModel(t *testing.T) {
	began := 0
	w := serveWeb(t, newHost(t, host.Options{}, samples(&began)), mcpserve.HTTPOptions{})
	r, err := w.connect("2025-11-25", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "samples"})
	require.NoError(t, err)
	assert.True(t, r.IsError)
	assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, "model block")

	message, headers := stateless("samples", "{}", "{}", "")
	e := answer(t, w.post(message, headers...))["error"].(map[string]any)
	assert.Equal(t, float64(-32021), e["code"])
	assert.Equal(t, map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}}, e["data"])
}

// three is a tool that asks a user, a model and the client.
func three(t *testing.T, h host.Options, optional bool) *host.Host {
	spec := argv.Spec{
		Name: "three", Risk: tool.ReadOnly,
		Asks: []argv.Ask{
			{Key: "who", Message: argv.Expr{Literal: "Who?"}, Optional: optional,
				Fields: []argv.Field{{Param: argv.Param{Name: "name", Type: argv.TypeString}, Required: true}}},
			{Key: "what", Optional: optional, Model: &argv.AskModel{Prompt: argv.Expr{Literal: "What?"}}},
			{Key: "where", Optional: optional, Roots: true},
		},
		Command: &argv.Template{Argv: []argv.Expr{{Literal: "printf"}, {Literal: "%s,"}, param("ask.who.name"),
			param("ask.what.text"), param("ask.where.roots")}},
	}
	made, err := command.New(spec, command.Deps{Workspace: openWorkspace(t)})
	require.NoError(t, err)
	return newHost(t, h, made)
}

func TestEveryKindOfQuestion(t *testing.T) {
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			w := serveWeb(t, three(t, host.Options{}, false), mcpserve.HTTPOptions{})
			session := w.connect(revision, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Jo"}}, nil
				},
				CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
					error) {
					return &mcp.CreateMessageResult{Role: "assistant", Content: &mcp.TextContent{Text: "that"}}, nil
				},
			}, &mcp.Root{URI: "file:///a"}, &mcp.Root{URI: "file:///b"})
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "three"})
			require.NoError(t, err)
			assert.Equal(t, "Jo,that,file:///a,file:///b,", r.Content[0].(*mcp.TextContent).Text)
		})
	}
}

// A form closed at once, as by a client that cannot draw it, differs from a user who does not answer.
func TestAFormThatIsClosedAtOnce(t *testing.T) {
	for _, revision := range revisions() {
		for _, action := range []string{"decline", "cancel"} {
			w := serveWeb(t, three(t, host.Options{}, false), mcpserve.HTTPOptions{})
			session := w.connect(revision, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: action}, nil
				},
				CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
					error) {
					return &mcp.CreateMessageResult{Role: "assistant", Content: &mcp.TextContent{Text: "that"}}, nil
				},
			}, &mcp.Root{URI: "file:///a"})
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "three"})
			require.NoError(t, err)
			text := r.Content[0].(*mcp.TextContent).Text
			assert.Contains(t, text, "closed it at once, before anybody could read it", revision)
			assert.NotContains(t, text, "the user did not answer")
			assert.Contains(t, text, "toolhost call three")
		}
	}
}

func TestQuestionsGoOutTogether(t *testing.T) {
	w := serveWeb(t, three(t, host.Options{}, false), mcpserve.HTTPOptions{})
	const all = `{"elicitation":{},"sampling":{},"roots":{}}`
	message, headers := stateless("three", "{}", all, "")
	result := answer(t, w.post(message, headers...))["result"].(map[string]any)
	assert.Len(t, result["inputRequests"], 3)

	// After a partial answer, only the rest is asked again.
	more := fmt.Sprintf(`"requestState":%q,"inputResponses":{"who":{"action":"accept","content":{"name":"Jo"}}},`,
		result["requestState"])
	message, headers = stateless("three", "{}", all, more)
	result = answer(t, w.post(message, headers...))["result"].(map[string]any)
	assert.Len(t, result["inputRequests"], 2)
	assert.NotContains(t, result["inputRequests"], "who")
	more = fmt.Sprintf(`"requestState":%q,"inputResponses":{"what":{"role":"assistant","model":"m",`+
		`"content":{"type":"text","text":"that"}},"where":{"roots":[]}},`, result["requestState"])
	message, headers = stateless("three", "{}", all, more)
	assert.Equal(t, "Jo,that,", textOf(t, answer(t, w.post(message, headers...))))
}

// Of optional questions only those are sent that the client can answer.
func TestOptionalQuestionsHeedCapabilities(t *testing.T) {
	w := serveWeb(t, three(t, host.Options{}, true), mcpserve.HTTPOptions{})
	for capability, key := range map[string]string{"elicitation": "who", "sampling": "what", "roots": "where"} {
		message, headers := stateless("three", "{}", fmt.Sprintf(`{%q:{}}`, capability), "")
		requests := answer(t, w.post(message, headers...))["result"].(map[string]any)["inputRequests"].(map[string]any)
		assert.Len(t, requests, 1)
		assert.Contains(t, requests, key)
	}
	message, headers := stateless("three", "{}", "{}", "")
	assert.Equal(t, ",", textOf(t, answer(t, w.post(message, headers...))))
}

// An approval needs the signed state of its question; the answer to a tool's own form may come at once,
// but must be valid.
func TestAnswersWithoutAQuestion(t *testing.T) {
	h, runs := dangerous(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	_, key := w.ask("write", `{}`)
	message, headers := stateless("write", `{"path":"another"}`, elicitation, fmt.Sprintf(`"inputResponses":{%q:%s},`, key, yes))
	assert.Equal(t, "input_required", answer(t, w.post(message, headers...))["result"].(map[string]any)["resultType"])
	assert.Zero(t, *runs)

	w = serveWeb(t, newHost(t, host.Options{}, twice()), mcpserve.HTTPOptions{})
	both := `"inputResponses":{"first":{"action":"accept","content":{"name":"a"}},"second":{"action":"accept",` +
		`"content":{"name":%s}},"third":{"action":"cancel"}},`
	message, headers = stateless("twice", `{}`, elicitation, fmt.Sprintf(both, `"b"`))
	assert.Equal(t, `accept {"name":"a"} accept {"name":"b"}`, textOf(t, answer(t, w.post(message, headers...))))
	message, headers = stateless("twice", `{}`, elicitation, fmt.Sprintf(both, `7`))
	assert.Contains(t, textOf(t, answer(t, w.post(message, headers...))), "does not fit the form")
}

func TestLogLinesReachTheClient(t *testing.T) {
	talks := newTool("talks", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		for level, text := range map[slog.Level]string{slog.LevelDebug: "quiet", slog.LevelInfo: "told",
			slog.LevelError: "the key is hush-hush"} {
			c.Log(ctx, level, text)
		}
		return tool.Text("done"), nil
	})
	w := serveWeb(t, newHost(t, host.Options{Secrets: []string{"hush-hush"}}, talks), mcpserve.HTTPOptions{})
	var mu sync.Mutex
	heard := make(map[string]string)
	session := w.connect("2025-11-25",
		&mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			mu.Lock()
			defer mu.Unlock()
			heard[fmt.Sprint(r.Params.Data)] = string(r.Params.Level) + " " + r.Params.Logger
		}})
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "talks"})
	require.NoError(t, err)
	require.NoError(t, session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}))
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "talks"})
	require.NoError(t, err)
	testproc.Until(t, "both are heard", func() (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) >= 2, fmt.Sprint(heard)
	})
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, map[string]string{"told": "info talks", "the key is [redacted]": "error talks"}, heard)
}

// A question that contains a secret is not sent to a model.
func TestSecretsAreNotSampled(t *testing.T) {
	leaks := newTool("leaks", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		response, err := c.Sample(ctx, tool.SampleRequest{Prompt: "What is hush-hush?"})
		if err != nil {
			return nil, err
		}
		return tool.Text(response.Text), nil
	})
	w := serveWeb(t, newHost(t, host.Options{Secrets: []string{"hush-hush"}}, leaks), mcpserve.HTTPOptions{})
	message, headers := stateless("leaks", "{}", `{"sampling":{}}`, "")
	data, err := json.Marshal(answer(t, w.post(message, headers...)))
	require.NoError(t, err)
	assert.Contains(t, string(data), "What is [redacted]?")
}

// What a model said before an approval is what runs after it, and what the approval is for.
func TestAnApprovalCoversTheModelsAnswer(t *testing.T) {
	spec := argv.Spec{
		Name: "says", Risk: tool.Dangerous, Params: []argv.Param{{Name: "a", Type: argv.TypeString}},
		Asks:    []argv.Ask{{Key: "what", Model: &argv.AskModel{Prompt: argv.Expr{Literal: "What?"}}}},
		Command: &argv.Template{Argv: []argv.Expr{{Literal: "echo"}, param("a"), param("ask.what.text")}},
	}
	for _, revision := range revisions() {
		made, err := command.New(spec, command.Deps{Workspace: openWorkspace(t)})
		require.NoError(t, err)
		asked, judged, remembered := 0, []string{}, ""
		h := newHost(t, host.Options{
			Sample: func(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
				asked++
				return &tool.SampleResponse{Text: fmt.Sprint("answer ", asked), Model: "m"}, nil
			},
			Judge: func(_ context.Context, p host.Proposal) host.Decision {
				judged = append(judged, fmt.Sprint(p.Argv))
				return host.Decision{Action: host.Ask, Reason: "dangerous"}
			},
			Remember: func(_ context.Context, p host.Proposal) error {
				remembered = string(p.Params)
				return nil
			},
		}, made)
		var shown string
		session := serveWeb(t, h, mcpserve.HTTPOptions{}).connect(revision,
			&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult,
				error) {
				shown = r.Params.Message
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "always"}}, nil
			}})
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "says", Arguments: map[string]any{"a": "x"}})
		require.NoError(t, err)
		assert.Equal(t, "x answer 1\n", r.Content[0].(*mcp.TextContent).Text)
		assert.Contains(t, shown, "$ echo x 'answer 1'")
		assert.Equal(t, []string{"[echo x answer 1]", "[echo x answer 1]"}, judged)
		assert.Equal(t, 1, asked, "nothing is asked twice")
		assert.JSONEq(t, `{"a":"x","ask.what.text":"answer 1","ask.what.model":"m"}`, remembered)
	}
}

func TestWithoutAnswers(t *testing.T) {
	params, answers := host.WithoutAnswers(json.RawMessage(`{"a":1.50,"ask.who.name":"Jo","ask.who.age":7,"ask.what.text":"x"}`))
	assert.Equal(t, `{"a":1.50}`, string(params))
	assert.Equal(t, "accept", answers["who"].Action)
	assert.JSONEq(t, `{"name":"Jo","age":7}`, string(answers["who"].Content))
	assert.JSONEq(t, `{"text":"x"}`, string(answers["what"].Content))
}

// A URL to visit goes only to clients that can show it.
func TestAPageToVisit(t *testing.T) {
	visits := newTool("visits", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		answer, err := c.Ask(ctx, "page", tool.Form{Message: "Visit pay.example?", URL: "https://pay.example/x"})
		if err != nil {
			return nil, err
		}
		return tool.Text(answer.Action), nil
	})
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, action := range []string{"accept", "decline", "cancel"} {
			w := serveWeb(t, newHost(t, host.Options{}, visits), mcpserve.HTTPOptions{})
			var asked *mcp.ElicitParams
			session := w.connect(revision, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = r.Params
					return &mcp.ElicitResult{Action: action}, nil
				},
			})
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "visits"})
			require.NoError(t, err)
			assert.Equal(t, action, r.Content[0].(*mcp.TextContent).Text)
			assert.Equal(t, "url", asked.Mode)
			assert.Equal(t, "https://pay.example/x", asked.URL)
			assert.Equal(t, "Visit pay.example?", asked.Message)
			assert.NotEmpty(t, asked.ElicitationID)
			assert.Nil(t, asked.RequestedSchema)
		}
		forms := &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Error("it was asked")
				return nil, nil
			},
		}
		r, err := serveWeb(t, newHost(t, host.Options{}, visits), mcpserve.HTTPOptions{}).connect(revision,
			forms).CallTool(t.Context(), &mcp.CallToolParams{Name: "visits"})
		if revision == "2026-07-28" {
			assert.Equal(t, int64(mcp.CodeMissingRequiredClientCapabilities), codeOf(err))
			assert.ErrorContains(t, err, "Visit pay.example?")
			continue
		}
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, "toolhost call")
	}
}

// Images and audio reach the client's model unchanged.
func TestSamplingWithAnImage(t *testing.T) {
	looks := newTool("looks", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		response, err := c.Sample(ctx, tool.SampleRequest{Messages: []tool.Content{
			{Kind: tool.KindImage, Role: "user", Data: []byte("png"), MIMEType: "image/png"},
			{Kind: tool.KindText, Role: "user", Text: "What is it?"},
		}})
		if err != nil {
			return nil, err
		}
		return tool.Text(response.Text), nil
	})
	for _, revision := range revisions() {
		var asked *mcp.CreateMessageParams
		session := serveWeb(t, newHost(t, host.Options{}, looks), mcpserve.HTTPOptions{}).connect(revision,
			&mcp.ClientOptions{
				CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
					error) {
					asked = r.Params
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
						Content: &mcp.TextContent{Text: "a cat"}}, nil
				},
			})
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "looks"})
		require.NoError(t, err)
		assert.Equal(t, "a cat", r.Content[0].(*mcp.TextContent).Text)
		require.Len(t, asked.Messages, 2)
		assert.Equal(t, []byte("png"), asked.Messages[0].Content.(*mcp.ImageContent).Data)
		assert.Equal(t, "What is it?", asked.Messages[1].Content.(*mcp.TextContent).Text)
	}
}
