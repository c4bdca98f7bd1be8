//lint:file-ignore SA1019 sampling and roots are what servers of older revisions have

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary is also the tests' server: TEST_MCP_SERVER is its kind.
func TestMain(m *testing.M) {
	if kind := os.Getenv("TEST_MCP_SERVER"); kind != "" {
		serve(kind)
		return
	}
	if os.Getenv("TEST_LOGIN_URL") != "" {
		os.Exit(callWithLogin())
	}
	os.Exit(m.Run())
}

func serve(kind string) {
	if log := os.Getenv("TEST_MCP_STARTS"); log != "" {
		f, _ := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
	switch kind {
	case "sdk":
		_ = sdkServer().Run(context.Background(), &mcp.StdioTransport{})
	case "gated":
		for !exists(os.Getenv("TEST_MCP_GATE")) {
			time.Sleep(5 * time.Millisecond)
		}
		_ = sdkServer().Run(context.Background(), &mcp.StdioTransport{})
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging now")
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(7)
	default:
		(&rawServer{kind: kind, out: bufio.NewWriter(os.Stdout), answers: make(chan string, 9)}).run()
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// rawServer speaks just enough of revision 2025-11-25, with a fault.
type rawServer struct {
	kind string
	mu   sync.Mutex
	out  *bufio.Writer

	answers chan string // answered ids
}

type rawMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

func (s *rawServer) run() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m rawMessage
		if json.Unmarshal([]byte(line), &m) == nil {
			s.handle(m)
		}
	}
}

func (s *rawServer) handle(m rawMessage) {
	switch m.Method {
	case "server/discover":
		switch s.kind {
		case "exit-on-discover":
			os.Exit(1)
		case "ignore-discover":
			return
		}
		s.answer(m.ID, `"error":{"code":-32601,"message":"Method not found"}`)
	case "initialize":
		if s.kind == "chatty" {
			s.line("Welcome to the chatty server!")
			s.line(`{"looks":"like JSON"}`)
		}
		revision := "2025-11-25"
		if s.kind == "old" {
			revision = "1999-01-01"
		}
		s.answer(m.ID, `"result":{"protocolVersion":"`+revision+`","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1.2"}}`)
	case "tools/list":
		tools := rawTools
		if file := os.Getenv("TEST_MCP_TOOLS"); file != "" {
			text, _ := os.ReadFile(file)
			tools = []string{string(text)}
		}
		if s.kind == "odd" {
			tools = append([]string{`null`, `{"name":5,"inputSchema":{}}`,
				`{"name":"worse","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`}, rawTools...)
		}
		s.answer(m.ID, `"result":{"tools":[`+strings.Join(tools, ",")+`]}`)
	case "tools/call":
		go s.call(m)
	case "":
		if s.answers != nil {
			s.answers <- string(m.ID)
		}
	case "ping":
		if s.kind != "deaf" {
			s.answer(m.ID, `"result":{}`)
		}
	}
}

var rawTools = []string{
	`{"name":"echo","description":"Echo.","inputSchema":{"type":"object","properties":{"z":{"type":"string"},` +
		`"a":{"type":"integer"}}},"annotations":{"readOnlyHint":true,"title":"Echo it"}}`,
	`{"name":"add.note","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false,"idempotentHint":true}}`,
	`{"name":"wipe","inputSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1,` +
		`"exclusiveMinimum":true,"description":"How many."}},"required":["n"]}}`,
	`{"name":"a_tool_whose_name_is_so_very_long_that_no_client_would_ever_take_it_as_it_is","inputSchema":{"type":"object"}}`,
}

func (s *rawServer) call(m rawMessage) {
	switch m.Params.Name {
	case "echo":
		s.answer(m.ID, `"result":{"content":[{"type":"text","text":"echo"},{"type":"image","data":"aGk=","mimeType":"image/png"},`+
			`{"type":"audio","data":"aG8=","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///x",`+
			`"name":"x","title":"X","size":7,"annotations":{"audience":["user"],"priority":0.5}},`+
			`{"type":"resource","resource":{"uri":"file:///y","mimeType":"text/plain","text":"why"}}],`+
			`"structuredContent":{"z":1,"a":12345678901234567890,"args":`+string(m.Params.Arguments)+`}}`)
	case "odd":
		s.answer(m.ID, `"result":{"content":[{"type":"text","text":"one"},null,{"type":"hologram","x":1},{"type":"text","text":5},`+
			`{"type":"text","text":"two"}],"structuredContent":{"z":12345678901234567890,"a":1}}`)
	case "numbers":
		s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"at":1764279999123456789}}}`)
		s.line(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
		s.line(`{"jsonrpc":"2.0","id":1.50,"method":"ping"}`)
		s.line(`{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object",` +
			`"properties":{"n":{"type":"integer","default":9007199254740993}}}}}`)
		ids := []string{<-s.answers, <-s.answers, <-s.answers}
		slices.Sort(ids)
		s.answer(m.ID, `"result":{"content":[{"type":"text","text":"`+strings.Join(ids, " ")+
			`","_meta":{"n":1764279999123456789}}]}`)
	case "die":
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		os.Exit(9)
	case "structured":
		s.answer(m.ID, `"result":{"content":[],"structuredContent":{"z":1,"a":12345678901234567890}}`)
	case "fail-structured":
		s.answer(m.ID, `"result":{"isError":true,"content":[],"structuredContent":{"why":"no"}}`)
	case "fail":
		s.answer(m.ID, `"result":{"isError":true,"content":[{"type":"text","text":"it did not work"}]}`)
	case "huge":
		s.answer(m.ID, `"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 3<<20)+`"}]}`)
	case "wait":
		// never answered
	default:
		s.answer(m.ID, `"error":{"code":-32602,"message":"Unknown tool"}`)
	}
}

func (s *rawServer) answer(id json.RawMessage, rest string) {
	s.line(`{` + rest + `,"jsonrpc":"2.0","id":` + string(id) + `}`)
}

func (s *rawServer) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, text)
	s.out.Flush()
}

// sdkServer is a server that asks, reports and changes.
func sdkServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	object := json.RawMessage(`{"type":"object"}`)
	add := func(name string, handler mcp.ToolHandler) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: object}, handler)
	}
	add("ask", askTool)
	add("roots", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["roots"].(*mcp.ListRootsResult)
		if !ok {
			return &mcp.CallToolResult{RequestState: "s",
				InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
		}
		var all []string
		for _, root := range answer.Roots {
			all = append(all, root.Name+" "+root.URI)
		}
		return text(strings.Join(all, ", ")), nil
	})
	add("describe", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := r.Session.CreateMessage(ctx,
			&mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{
				{Role: "user", Content: &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}},
				{Role: "user", Content: &mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"}},
				{Role: "assistant", Content: &mcp.TextContent{Text: "Hm."}},
				{Role: "user", Content: &mcp.TextContent{Text: "What is it?"}},
			}})
		if err != nil {
			return nil, err
		}
		return text(answer.Content.(*mcp.TextContent).Text), nil
	})
	add("visit", visitTool)
	add("register", registerTool())
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", textTool("grown"))
		return text("ok"), nil
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args := struct{ Steps int }{500}
		_ = json.Unmarshal(r.Params.Arguments, &args)
		for i := 1; i < args.Steps && ctx.Err() == nil; i++ {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: "step"})
			time.Sleep(time.Millisecond)
		}
		return text("over"), nil
	})
	add("sample", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
			MaxTokens: 10, SystemPrompt: "be brief",
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello?"}}}})
		if err != nil {
			return nil, err
		}
		return text(answer.Content.(*mcp.TextContent).Text), nil
	})
	add("cancelled", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Mark string }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		_ = r.Session.NotifyProgress(ctx,
			&mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		_ = os.WriteFile(args.Mark, nil, 0o600)
		return text("over"), nil
	})
	server.AddResource(&mcp.Resource{URI: "test://one", Name: "one", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "first"}}}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: "Hi " + r.Params.Arguments["who"]}}}}, nil
		})
	return server
}

// askTool asks for a name by an input-required result, which the SDK turns into a server request for
// older revisions.
func askTool(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
			Mode: "form", Message: "Your name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		}}}, nil
	}
	return text(fmt.Sprintf("%s %v", answer.Action, answer.Content["name"])), nil
}

// visitTool asks the user to visit the page in its arguments.
func visitTool(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := r.Params.InputResponses["page"].(*mcp.ElicitResult)
	if !ok {
		var args struct{ URL string }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"page": &mcp.ElicitParams{
			Mode: "url", Message: "Pay there.", URL: args.URL, ElicitationID: "1",
		}}}, nil
	}
	return text(fmt.Sprint(answer.Action, answer.Content)), nil
}

// registerTool refuses its calls until the user visited a page, and reports the visit.
func registerTool() mcp.ToolHandler {
	var calls atomic.Int64
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if calls.Add(1) == 1 {
			// The notification may come before or after the refusal.
			go func() {
				_ = r.Session.NotifyElicitationComplete(context.Background(),
					&mcp.ElicitationCompleteParams{ElicitationID: "reg"})
			}()
			return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Register.",
				URL: "https://register.example/?id=reg", ElicitationID: "reg"}})
		}
		return text("registered"), nil
	}
}

func textTool(s string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(s), nil }
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
