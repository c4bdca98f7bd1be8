package mcpserve_test

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/command"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// revisions returns one of each era.
func revisions() []string { return []string{"2025-06-18", "2025-11-25", "2026-07-28"} }

func (w *web) connect(revision string, o *mcp.ClientOptions, roots ...*mcp.Root) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	client.AddRoots(roots...)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

func openAt(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

func openWorkspace(t *testing.T) *workspace.Workspace { return openAt(t, t.TempDir()) }

func literal(text string) *argv.Expr { return &argv.Expr{Literal: text} }

func param(name string) argv.Expr { return argv.Expr{Param: name} }

// offering returns a host with resources and prompts, in a workspace with a note.
func offering(t *testing.T, o host.Options) (*host.Host, string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.md"), []byte("# Note\n"), 0o644))
	ws := openAt(t, dir)
	deps := command.Deps{Workspace: ws}
	var resources []tool.Resource
	for _, r := range []argv.Resource{
		{Name: "note", URI: "doc://note", Title: "Note", Description: "A note.", Watch: true,
			Content: argv.Content{File: literal("note.md"), MIME: "text/markdown"}},
		{Name: "logo", URI: "img://logo", Content: argv.Content{Data: []byte{1, 0, 2}, MIME: "image/png"}},
		{Name: "item", URI: "item://{id}",
			Params:   []argv.Param{{Name: "id", Type: argv.TypeString, Pattern: "^[a-z]+$"}},
			Complete: map[string]argv.Suggestions{"id": {Values: []string{"beta", "alpha", "aleph"}}},
			Content:  argv.Content{Text: &argv.Expr{Concat: []argv.Expr{{Literal: "item "}, param("id")}}}},
		{Name: "run", URI: "run://{word}", Params: []argv.Param{{Name: "word", Type: argv.TypeString}},
			Risk:    tool.ReadOnly,
			Command: &argv.Template{Argv: []argv.Expr{{Literal: "printf"}, {Literal: "%s."}, param("word")}},
			Content: argv.Content{MIME: "text/plain"}},
		{Name: "gone", URI: "doc://gone", Content: argv.Content{File: literal("no-such-file")}},
	} {
		made, err := command.NewResource(r, deps)
		require.NoError(t, err)
		resources = append(resources, made)
	}
	prompt, err := command.NewPrompt(argv.Prompt{
		Name: "review", Description: "Review a file.", Complete: map[string]argv.Suggestions{
			"tone": {Values: []string{"kind", "strict"}},
			"area": {Values: []string{"all"},
				By: map[string]map[string][]string{"tone": {"kind": {"names", "tests"}, "strict": {"locks", "names"}}}},
		},
		Arguments: []argv.Argument{
			{Param: argv.Param{Name: "file", Type: argv.TypeString, Path: argv.Read}, Title: "File"},
			{Param: argv.Param{Name: "tone", Type: argv.TypeString, Default: json.RawMessage(`"kind"`)}},
			{Param: argv.Param{Name: "area", Type: argv.TypeString, Default: json.RawMessage(`"all"`)}},
		},
		Messages: []argv.Message{
			{Role: "user", Content: argv.Content{Kind: tool.KindText,
				Text: &argv.Expr{Concat: []argv.Expr{{Literal: "Review "}, param("file"), {Literal: ", "},
					param("tone")}}}},
			{Role: "assistant", Content: argv.Content{Kind: tool.KindResource, URI: literal("doc://note"),
				File: literal("note.md")}},
		},
	}, deps)
	require.NoError(t, err)
	asking, err := command.NewPrompt(argv.Prompt{
		Name: "asks",
		Asks: []argv.Ask{{Key: "who", Message: argv.Expr{Literal: "Who?"},
			Fields: []argv.Field{{Param: argv.Param{Name: "name", Type: argv.TypeString}, Required: true}}}},
		Messages: []argv.Message{{Role: "user",
			Content: argv.Content{Kind: tool.KindText, Text: &argv.Expr{Param: "ask.who.name"}}}},
	}, deps)
	require.NoError(t, err)
	o.Root = dir
	o.Sources = []host.Source{host.Offering(source{echoTool()}, resources, []tool.Prompt{prompt, asking})}
	h, err := host.New(t.Context(), o)
	require.NoError(t, err)
	return h, dir
}

func codeOf(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestResources(t *testing.T) {
	h, _ := offering(t, host.Options{})
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			session := w.connect(revision, nil)
			list, err := session.ListResources(t.Context(), nil)
			require.NoError(t, err)
			var uris []string
			for _, r := range list.Resources {
				uris = append(uris, r.URI)
			}
			assert.ElementsMatch(t, []string{"doc://note", "img://logo", "doc://gone"}, uris)
			templates, err := session.ListResourceTemplates(t.Context(), nil)
			require.NoError(t, err)
			assert.Len(t, templates.ResourceTemplates, 2)

			for uri, want := range map[string]mcp.ResourceContents{
				"doc://note":   {URI: "doc://note", MIMEType: "text/markdown", Text: "# Note\n"},
				"img://logo":   {URI: "img://logo", MIMEType: "image/png", Blob: []byte{1, 0, 2}},
				"item://alpha": {URI: "item://alpha", MIMEType: "text/plain", Text: "item alpha"},
				"run://a%20b":  {URI: "run://a%20b", MIMEType: "text/plain", Text: "a b."},
			} {
				read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				require.NoError(t, err, uri)
				require.Len(t, read.Contents, 1)
				assert.Equal(t, want, *read.Contents[0], uri)
			}
			for _, uri := range []string{"item://UPPER", "none://x", "doc://gone"} {
				_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				assert.Equal(t, int64(jsonrpc.CodeInvalidParams), codeOf(err), "%s: %v", uri, err)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	h, _ := offering(t, host.Options{})
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	asked := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult,
		error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Jo of " + r.Params.Message}}, nil
	}}
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			session := w.connect(revision, asked)
			list, err := session.ListPrompts(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Prompts, 2)
			assert.Equal(t, []*mcp.PromptArgument{{Name: "file", Title: "File", Required: true}, {Name: "tone"},
				{Name: "area"}}, list.Prompts[1].Arguments)

			got, err := session.GetPrompt(t.Context(),
				&mcp.GetPromptParams{Name: "review", Arguments: map[string]string{"file": "e\u0301.md"}})
			require.NoError(t, err)
			assert.Equal(t, "Review a file.", got.Description)
			assert.Equal(t, "Review e\u0301.md, kind", got.Messages[0].Content.(*mcp.TextContent).Text)
			assert.Equal(t, mcp.Role("assistant"), got.Messages[1].Role)
			assert.Equal(t, "# Note\n", got.Messages[1].Content.(*mcp.EmbeddedResource).Resource.Text)

			got, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "asks"})
			require.NoError(t, err)
			assert.Equal(t, "Jo of Who?", got.Messages[0].Content.(*mcp.TextContent).Text)

			for _, p := range []*mcp.GetPromptParams{
				{Name: "review"},
				{Name: "review", Arguments: map[string]string{"file": "a", "more": "b"}},
				{Name: "reviews"},
			} {
				_, err = session.GetPrompt(t.Context(), p)
				assert.Equal(t, int64(jsonrpc.CodeInvalidParams), codeOf(err), "%v", err)
			}
			_, err = session.GetPrompt(t.Context(),
				&mcp.GetPromptParams{Name: "review", Arguments: map[string]string{"file": "/etc/passwd"}})
			assert.ErrorContains(t, err, "outside")
		})
	}
}

func TestCompletion(t *testing.T) {
	h, _ := offering(t, host.Options{})
	session := serveWeb(t, h, mcpserve.HTTPOptions{}).connect("2025-11-25", nil)
	prompt, template := &mcp.CompleteReference{Type: "ref/prompt", Name: "review"},
		&mcp.CompleteReference{Type: "ref/resource", URI: "item://{id}"}
	for _, tt := range []struct {
		ref         *mcp.CompleteReference
		name, typed string
		chosen      map[string]string
		want        []string
	}{
		{prompt, "tone", "", nil, []string{"kind", "strict"}},
		{prompt, "tone", "s", nil, []string{"strict"}},
		{prompt, "file", "no", nil, []string{"note.md"}},
		{prompt, "none", "", nil, []string{}},
		{prompt, "area", "", nil, []string{"all"}},
		{prompt, "area", "", map[string]string{"tone": "kind"}, []string{"all", "names", "tests"}},
		{prompt, "area", "n", map[string]string{"tone": "strict", "file": "note.md"}, []string{"names"}},
		{prompt, "area", "", map[string]string{"tone": "other"}, []string{"all"}},
		{template, "id", "al", nil, []string{"aleph", "alpha"}},
	} {
		params := &mcp.CompleteParams{Ref: tt.ref, Argument: mcp.CompleteParamsArgument{Name: tt.name, Value: tt.typed}}
		if tt.chosen != nil {
			params.Context = &mcp.CompleteContext{Arguments: tt.chosen}
		}
		r, err := session.Complete(t.Context(), params)
		require.NoError(t, err)
		assert.Equal(t, tt.want, r.Completion.Values, "%s %q %v", tt.name, tt.typed, tt.chosen)
	}
	_, err := session.Complete(t.Context(),
		&mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "none"},
			Argument: mcp.CompleteParamsArgument{Name: "x"}})
	assert.Equal(t, int64(jsonrpc.CodeInvalidParams), codeOf(err))
}

func TestWatchedResources(t *testing.T) {
	h, dir := offering(t, host.Options{})
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	look := w.server.ResourceChanges(t.Context())
	var updates atomic.Int32
	session := w.connect("2025-11-25",
		&mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			if r.Params.URI == "doc://note" {
				updates.Add(1)
			}
		}})
	require.NoError(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "doc://note"}))
	assert.Error(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "doc://unknown"}))
	testproc.Until(t, "word of an update", func() (bool, string) { // once more, until the stream is open
		require.NoError(t, os.WriteFile(filepath.Join(dir, "note.md"), []byte(time.Now().String()), 0o644))
		look()
		return updates.Load() > 0, ""
	})
}

func TestResourcesComeAndGo(t *testing.T) {
	h, _ := offering(t, host.Options{})
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	session := w.connect("2025-11-25", nil)
	require.NoError(t, h.Reload(t.Context(), []host.Source{source{echoTool()}}, host.Toolset{}))
	w.server.Refresh()
	list, err := session.ListResources(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, list.Resources)
	prompts, err := session.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, prompts.Prompts)
	_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://note"})
	assert.Error(t, err)
}

// Policies apply to resources and prompts as to tools.
func TestResourcesAreJudged(t *testing.T) {
	h, _ := offering(t, host.Options{Judge: func(_ context.Context, p host.Proposal) host.Decision {
		switch p.Tool {
		case "resource:run":
			assert.Equal(t, []string{"printf", "%s.", "x"}, p.Argv)
			return host.Decision{Action: host.Deny, Reason: "not here"}
		case "resource:note":
			return host.Decision{Action: host.Ask, Reason: "it is private"}
		}
		return host.Decision{Action: host.Allow}
	}})
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	for _, revision := range revisions() {
		decision := "once"
		session := w.connect(revision,
			&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult,
				error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
			}})
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "run://x"})
		assert.ErrorContains(t, err, "not here")
		_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://note"})
		assert.NoError(t, err)
		decision = "deny"
		_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://note"})
		assert.ErrorContains(t, err, "did not approve")
	}
}
