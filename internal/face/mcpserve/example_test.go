package mcpserve_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

type greet struct{}

func (greet) Definition() *tool.Definition {
	return &tool.Definition{
		Name: "greet", Description: "Greet somebody. Returns: the greeting.", Risk: tool.ReadOnly,
		Parameters: []byte(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
}

func (greet) Call(_ context.Context, call *tool.Call) (*tool.Result, error) {
	var in struct{ Name string }
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	return tool.Textf("Hello, %s!", in.Name), nil
}

// A Go program offers tools over MCP beside what else it serves.
func ExampleHTTP() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h, err := host.New(context.Background(),
		host.Options{Root: dir, Sources: []host.Source{host.Tools("mine", greet{})}})
	if err != nil {
		log.Fatal(err)
	}
	handler := mcpserve.NewHTTP(mcpserve.New(h, mcpserve.Options{Name: "mine", Version: "1.0.0"}), mcpserve.HTTPOptions{
		Token: "a secret of at least 16 characters",
	})
	defer handler.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	server := httptest.NewServer(mux)
	defer server.Close()

	// A client could be any program on this machine.
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint:   server.URL + "/mcp",
		HTTPClient: &http.Client{Transport: bearer("a secret of at least 16 characters")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(),
		&mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "world"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: Hello, world!
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
