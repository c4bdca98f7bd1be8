// Mcpserver is a minimal server on the official SDK: one tool that reads a file,
// without any check, one that runs head, and as many more as a number says. With
// the argument http it prints the address at which it serves, otherwise it uses
// stdin and stdout.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "minimal", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	server.AddTool(&mcp.Tool{Name: "read_file", InputSchema: schema},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			data, err := os.ReadFile(in.Path)
			return text(string(data)), err
		})
	server.AddTool(&mcp.Tool{Name: "head", InputSchema: schema},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			out, err := exec.CommandContext(ctx, "head", "-n", "5", in.Path).Output()
			return text(string(out)), err
		})
	for i := range further() {
		server.AddTool(&mcp.Tool{Name: "tool" + strconv.Itoa(i), Description: "Do nothing. Returns: nothing.",
			InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(""), nil
		})
	}
	if len(os.Args) > 1 && os.Args[1] == "http" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("serves MCP at http://%s/mcp", listener.Addr())
		log.Fatal(http.Serve(listener,
			mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func further() int {
	if len(os.Args) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(os.Args[1])
	return n
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
