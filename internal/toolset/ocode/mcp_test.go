package ocode_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
)

// serverEnv makes the test binary an MCP server.
const serverEnv = "TEST_OCODE_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		_ = server().Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	os.Exit(m.Run())
}

func server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", Description: "Gives back what it is given.", InputSchema: schema},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}},
				StructuredContent: json.RawMessage(r.Params.Arguments),
			}, nil
		})
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: schema},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true,
					Content: []mcp.Content{&mcp.TextContent{Text: "the shelf is empty"}}},
				nil
		})
	s.AddTool(&mcp.Tool{Name: "picture", InputSchema: schema},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("png"),
				MIMEType: "image/png"}}}, nil
		})
	s.AddResource(&mcp.Resource{URI: "book://one", Name: "One", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "book://one", MIMEType: "text/plain",
				Text: "Once upon a time"}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "review", Description: "Reviews a book.",
		Arguments: []*mcp.PromptArgument{{Name: "book", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: "Review " + r.Params.Arguments["book"] + "."}}}}, nil
		})
	return s
}

// library is a bench with that server and others.
func library(t *testing.T, more ...mcpclient.Spec) *bench {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	client := mcpclient.New(mcpclient.Options{Version: "test", Dir: t.TempDir(), Patience: -1})
	t.Cleanup(func() { _ = client.Close() })
	specs := append([]mcpclient.Spec{{Name: "library", Command: []string{self},
		Env: map[string]string{serverEnv: "1"}}}, more...)
	for _, spec := range specs {
		require.NoError(t, client.Add(spec))
	}
	return newBenchWith(t, ocode.Deps{Servers: client})
}

func TestMCP(t *testing.T) {
	t.Run("action list", func(t *testing.T) {
		g := library(t).ok("mcp", args{"action": "list"})
		assert.Equal(t, "library:\n  tool echo: Gives back what it is given.\n  tool fail\n  tool picture\n"+
			"  resource book://one: One\n  prompt review: Reviews a book.",
			g.Output)
		servers := g.Metadata["servers"].([]any)
		require.Len(t, servers, 1)
		one := servers[0].(args)
		assert.Equal(t, "library", one["name"])
		assert.Len(t, one["tools"], 3)
		assert.Len(t, one["resources"], 1)
		assert.Len(t, one["prompts"], 1)
	})
	t.Run("action list with a server that is broken", func(t *testing.T) {
		broken := mcpclient.Spec{Name: "broken", Command: []string{"/no/such/program"}}
		g := library(t, broken).warns("broken cannot be reached", "mcp", args{"action": "list"})
		assert.Contains(t, g.Output, "tool echo", "the others are there")
	})
	t.Run("action list of one server", func(t *testing.T) {
		b := library(t, mcpclient.Spec{Name: "broken", Command: []string{"/no/such/program"}})
		assert.Len(t, b.ok("mcp", args{"action": "list", "server": "library"}).Metadata["servers"], 1)
		b.failsWith("", "mcp", args{"action": "list", "server": "broken"})
	})
	t.Run("action list without servers", func(t *testing.T) {
		assert.Equal(t, "No MCP servers", newBench(t).ok("mcp", args{"action": "list"}).Output)
	})
	t.Run("action call", func(t *testing.T) {
		g := library(t).ok("mcp",
			args{"action": "call", "server": "library", "method": "echo",
				"params": args{"n": json.Number("12345678901234567890"), "s": "ü"}})
		assert.JSONEq(t, `{"n":12345678901234567890,"s":"ü"}`, g.Output)
		assert.Contains(t, g.Output, "12345678901234567890", "every digit")
		assert.Equal(t, "ü", g.Metadata["structured"].(args)["s"])
		assert.Equal(t, "library", g.Metadata["server"])
		assert.Equal(t, "echo", g.Metadata["method"])
	})
	t.Run("action call of a tool that fails", func(t *testing.T) {
		library(t).fails("The tool fail of library failed: the shelf is empty", "mcp",
			args{"action": "call", "method": "fail"})
	})
	t.Run("action call for a picture", func(t *testing.T) {
		assert.Contains(t, library(t).call("mcp", args{"action": "call", "method": "picture"}).Output,
			"image/png, 3 bytes]")
	})
	t.Run("action resource", func(t *testing.T) {
		b := library(t)
		assert.Equal(t, "Once upon a time", b.ok("mcp", args{"action": "resource", "method": "book://one"}).Output)
		b.failsWith("book://two", "mcp", args{"action": "resource", "method": "book://two"})
	})
	t.Run("action prompt", func(t *testing.T) {
		g := library(t).ok("mcp", args{"action": "prompt", "method": "review", "params": args{"book": "One"}})
		assert.Equal(t, "user: Review One.", g.Output)
		assert.Len(t, g.Metadata["messages"], 1)
	})
	t.Run("method that the server does not have", func(t *testing.T) {
		g := library(t).failsWith("The MCP server library refused gone", "mcp",
			args{"action": "call", "server": "library", "method": "gone"})
		assert.Contains(t, g.Metadata["suggestion"], "Action list shows")
	})
	t.Run("server", func(t *testing.T) {
		b := library(t, mcpclient.Spec{Name: "other", Command: []string{"/no/such/program"}})
		b.fails("Server is required for action call", "mcp", args{"action": "call", "method": "echo"})
		g := b.failsWith("There is no MCP server named", "mcp",
			args{"action": "call", "server": "libary", "method": "echo"})
		assert.Contains(t, g.Metadata["suggestion"], "library")
		newBench(t).fails("No MCP server is configured", "mcp", args{"action": "call", "server": "x", "method": "y"})
	})
	t.Run("method", func(t *testing.T) {
		b := library(t)
		for _, action := range []string{"call", "resource", "prompt"} {
			b.fails("Method is required for action "+action, "mcp", args{"action": action})
		}
		b.failsWith("nope", "mcp", args{"action": "call", "method": "nope"})
	})
	t.Run("params left out", func(t *testing.T) {
		assert.Equal(t, "{}", library(t).ok("mcp", args{"action": "call", "method": "echo"}).Output)
	})
	t.Run("v1 names", func(t *testing.T) {
		g := library(t).ok("mcp",
			args{"action": "call", "server_name": "library", "tool_name": "echo", "tool_arguments": args{"a": 1}})
		assert.Equal(t, `{"a":1}`, g.Output)
		assert.Len(t, g.Metadata["deprecated_parameters"], 3)
	})
}
