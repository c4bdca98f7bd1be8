package mcpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type fake struct {
	def  tool.Definition
	call func(ctx context.Context, c *tool.Call) (*tool.Result, error)
}

func (f *fake) Definition() *tool.Definition { return &f.def }

func (f *fake) Call(ctx context.Context, c *tool.Call) (*tool.Result, error) { return f.call(ctx, c) }

func newTool(name string, risk tool.Risk, call func(context.Context, *tool.Call) (*tool.Result, error)) *fake {
	return &fake{def: tool.Definition{Name: name, Description: "Test. Returns: text.", Risk: risk}, call: call}
}

func echoTool() *fake {
	f := newTool("echo", tool.ReadOnly,
		func(_ context.Context, c *tool.Call) (*tool.Result, error) { return tool.Text(string(c.Params)), nil })
	f.def.Parameters = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},` +
		`"required":["text"],"additionalProperties":false}`)
	return f
}

type source []tool.Tool

func (source) Name() string { return "test" }

func (s source) Tools(context.Context) ([]tool.Tool, error) { return s, nil }

func newHost(t *testing.T, o host.Options, tools ...tool.Tool) *host.Host {
	t.Helper()
	o.Root, o.Sources = t.TempDir(), []host.Source{source(tools)}
	h, err := host.New(t.Context(), o)
	require.NoError(t, err)
	return h
}

func newForeignHost(t *testing.T, tools ...tool.Tool) *host.Host {
	t.Helper()
	h, err := host.New(t.Context(),
		host.Options{Root: t.TempDir(), Sources: []host.Source{host.Foreign(source(tools), nil)}})
	require.NoError(t, err)
	return h
}

// wire is a client that sends raw lines.
type wire struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	end  func() error // receiving ends
}

func dial(t *testing.T, h *host.Host) *wire {
	t.Helper()
	return dialWith(t, h, mcpserve.Options{})
}

func dialWith(t *testing.T, h *host.Host, o mcpserve.Options) *wire {
	t.Helper()
	o.Name, o.Version = "toolhost", "test"
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), done: make(chan error, 1), end: outR.Close}
	s := mcpserve.New(h, o)
	go func() {
		err := s.ServeStdio(context.Background(), inR, outW)
		_ = outW.Close()
		w.done <- err
	}()
	t.Cleanup(func() { _ = inW.Close() })
	return w
}

func (w *wire) send(line string) {
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
}

func (w *wire) receive() map[string]any {
	w.t.Helper()
	late := time.AfterFunc(testproc.Patience, func() { _ = w.end() })
	line, err := w.out.ReadString('\n')
	require.True(w.t, late.Stop(), "nothing comes")
	require.NoError(w.t, err)
	var m map[string]any
	require.NoError(w.t, json.Unmarshal([]byte(line), &m), line)
	return m
}

func (w *wire) initialize(version string) map[string]any {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version))
	answer := w.receive()
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

// A client waits for an answer to everything with an id.
func TestWrongMessagesAreAnswered(t *testing.T) {
	w := dial(t, newHost(t, host.Options{}))
	w.initialize("2025-11-25")
	for _, test := range []struct {
		line string
		id   any
		code float64
	}{
		{`{"jsonrpc":"2.0","id":11}`, 11.0, -32600},
		{`{"jsonrpc":"2.0","id":12,"METHOD":"ping"}`, 12.0, -32600},
		{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, 5.0, -32600},
		{`{"id":"a","method":"ping"}`, "a", -32600},
		{`{"jsonrpc":"2.0","id":6,"method":5}`, 6.0, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":[1],"method":5}`, nil, -32600},
		{`[]`, nil, -32600},
		{`[{"jsonrpc":"2.0","id":7}]`, 7.0, -32600},
		{`5`, nil, -32600},
		{`null`, nil, -32600},
		{`{}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":8,"method":"ping"} {"jsonrpc":"2.0","id":9,"method":"ping"}`, nil, -32700},
		{`{"jsonrpc":"2.0","id":8,"method":"ping"} more`, nil, -32700},
		{`{"jsonrpc":"2.0","id":8,`, nil, -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`, 1.0, -32600},
		{`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"bogus"}}`, 2.0, -32602},
		{`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel"}`, 2.0, -32600},
	} {
		w.send(test.line)
		m := w.receive()
		assert.Contains(t, m, "id", test.line)
		assert.Equal(t, test.id, m["id"], test.line)
		e, _ := m["error"].(map[string]any)
		assert.Equal(t, test.code, e["code"], "%s: %v", test.line, m)
		assert.NotContains(t, e["message"], "Go value of type map", test.line)
	}
	for _, level := range []string{"debug", "emergency"} {
		w.send(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"` + level + `"}}`)
		assert.NotNil(t, w.receive()["result"], "control: %s", level)
	}

	r := serveWeb(t, newHost(t, host.Options{}), mcpserve.HTTPOptions{}).post(`{"jsonrpc":"2.0","id":11}`,
		"Mcp-Protocol-Version", "2025-11-25")
	assert.Equal(t, http.StatusBadRequest, r.StatusCode)
	assert.Equal(t, 11.0, answer(t, r)["id"])
}

func TestInitializeAndList(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			w := dial(t, newHost(t, host.Options{}, echoTool(), newTool("wipe_all", tool.Dangerous, nil)))
			result := w.initialize(version)["result"].(map[string]any)
			assert.Equal(t, version, result["protocolVersion"])
			changes := map[string]any{"listChanged": true}
			assert.Equal(t, map[string]any{
				"tools": changes, "prompts": changes,
				"resources":   map[string]any{"listChanged": true, "subscribe": true},
				"completions": map[string]any{}, "logging": map[string]any{},
			}, result["capabilities"], "also what may come later")

			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			tools := w.receive()["result"].(map[string]any)["tools"].([]any)
			require.Len(t, tools, 2)
			wipe := tools[1].(map[string]any)
			assert.Equal(t, "Wipe all", wipe["title"])
			assert.Equal(t, map[string]any{"title": "Wipe all", "readOnlyHint": false, "destructiveHint": true,
				"idempotentHint": false, "openWorldHint": false}, wipe["annotations"])
			assert.Equal(t, "object", wipe["inputSchema"].(map[string]any)["type"])
			assert.NotContains(t, wipe, "_meta")
		})
	}
}

func TestBadMessagesDoNotEndTheServer(t *testing.T) {
	bad := map[string]string{
		"no JSON":        `hello`,
		"cut off":        `{"jsonrpc":"2.0","id":1,`,
		"no message":     `{"a":1}`,
		"broken batch":   `[{"jsonrpc"`,
		"wrong version":  `{"jsonrpc":"1.0","id":5,"method":"tools/list"}`,
		"far too long":   strings.Repeat("x", mcpserve.MaxMessage+1),
		"deeply nested":  strings.Repeat("[", 5000),
		"unusual params": `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`,
	}
	for name, line := range bad {
		t.Run(name, func(t *testing.T) {
			w := dial(t, newHost(t, host.Options{}, echoTool()))
			w.initialize("2025-11-25")
			w.send(line)
			assert.NotNil(t, w.receive()["error"])
			w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"still here"}}}`)
			assert.Contains(t, fmt.Sprint(w.receive()["result"]), "still here")
		})
	}
}

func TestAnOversizedRequestIsAnsweredUnderItsID(t *testing.T) {
	w := dial(t, newHost(t, host.Options{}, echoTool()))
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
		strings.Repeat("x", mcpserve.MaxMessage) + `"}}}`)
	answer := w.receive()
	assert.EqualValues(t, 41, answer["id"])
	assert.Contains(t, fmt.Sprint(answer["error"]), "longer than")
}

func TestEndOfInputEndsRunningCalls(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	h := newHost(t, host.Options{},
		newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}))
	w := dial(t, h)
	w.initialize("2025-11-25")
	go func() { _, _ = io.Copy(io.Discard, w.out) }()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
	testproc.Receive(t, started, "a call")
	require.NoError(t, w.in.Close())
	require.NoError(t, testproc.Receive(t, w.done, "the end of the server"))
	testproc.Receive(t, ended, "the end of the call")
}

func connect(t *testing.T, h *host.Host, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	w := dial(t, h)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(),
		&mcp.IOTransport{Reader: io.NopCloser(w.out), Writer: w.in, MaxLineLength: -1}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestCallResults(t *testing.T) {
	structured := newTool("structured", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		return tool.JSON(map[string]any{"n": 1}), nil
	})
	mixed := newTool("mixed", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Contents: []tool.Content{
			{Kind: tool.KindText, Text: "a"},
			{Kind: tool.KindImage, Data: []byte{1}, MIMEType: "image/png"},
			{Kind: tool.KindLink, URI: "file:///x", Name: "x"},
		}}, nil
	})
	session := connect(t, newHost(t, host.Options{}, echoTool(), structured, mixed), nil)

	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "structured"})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"n": 1.0}, r.StructuredContent)

	r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "mixed"})
	require.NoError(t, err)
	require.Len(t, r.Content, 3)
	assert.IsType(t, &mcp.ImageContent{}, r.Content[1])
	assert.IsType(t, &mcp.ResourceLink{}, r.Content[2])

	r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"txt": 1}})
	require.NoError(t, err, "a tool's error is a result")
	assert.True(t, r.IsError)
	text := r.Content[0].(*mcp.TextContent).Text
	assert.Contains(t, text, "text: is required")
	assert.Contains(t, text, `did you mean "text"?`)

	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"})
	assert.Error(t, err, "an unknown tool is an error of the protocol")

	big := strings.Repeat("é\n", 1<<19)
	r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": big}})
	require.NoError(t, err)
	var back struct{ Text string }
	require.NoError(t, json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &back))
	assert.Equal(t, big, back.Text)
}

func TestCancellationReachesTheTool(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	session := connect(t, newHost(t, host.Options{},
		newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
	require.Error(t, err)
	testproc.Receive(t, ended, "the end of the call")
}

// A cancelled request is not answered, unless it was answered before.
func TestACancelledRequestIsNotAnswered(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	h := newHost(t, host.Options{}, echoTool(),
		newTool("wait", tool.ReadOnly, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}))
	w := dial(t, h)
	w.initialize("2025-11-25")
	w.send(callMessage(1, "wait", "{}"))
	testproc.Receive(t, started, "a call")
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
	w.send(fmt.Sprintf(cancel, 1))
	testproc.Receive(t, ended, "the end of the call")
	for id := 2; id < 4; id++ {
		w.send(callMessage(id, "echo", `{"text":"a"}`))
		assert.EqualValues(t, id, w.receive()["id"])
		w.send(fmt.Sprintf(cancel, id))
	}
	require.NoError(t, w.in.Close())
	_, err := w.out.ReadString('\n')
	require.ErrorIs(t, err, io.EOF, "nothing else was sent")
	require.NoError(t, testproc.Receive(t, w.done, "the end of the server"), "and nothing is waited for")
}

func TestProgressIsReported(t *testing.T) {
	seen := make(chan *mcp.ProgressNotificationParams, 10)
	h := newHost(t, host.Options{},
		newTool("work", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			c.Progress(ctx, tool.Progress{Done: 1, Total: 2, Message: "half"})
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	session := connect(t, h,
		&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
			r *mcp.ProgressNotificationClientRequest) {
			seen <- r.Params
		}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	params := &mcp.CallToolParams{Name: "work"}
	params.SetProgressToken("p1")
	go func() { _, _ = session.CallTool(ctx, params) }()
	p := testproc.Receive(t, seen, "progress")
	assert.Equal(t, "p1", p.ProgressToken)
	assert.Equal(t, "half", p.Message)
}

func TestApprovalByElicitation(t *testing.T) {
	runs := 0
	write := newTool("write", tool.Dangerous, func(context.Context, *tool.Call) (*tool.Result, error) {
		runs++
		return tool.Text("done"), nil
	})
	options := host.Options{Judge: func(context.Context, host.Proposal) host.Decision {
		return host.Decision{Action: host.Ask, Rule: "dangerous", Reason: "It is dangerous."}
	}}
	for decision, want := range map[string]int{"once": 1, "always": 1, "deny": 0} {
		t.Run(decision, func(t *testing.T) {
			runs = 0
			var message string
			session := connect(t, newHost(t, options, write), &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					message = r.Params.Message
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
				},
			})
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "write"})
			require.NoError(t, err)
			assert.Contains(t, message, "Write? (rule dangerous)")
			assert.Equal(t, want, runs)
			assert.Equal(t, want == 0, r.IsError)
		})
	}
	t.Run("a client without elicitation", func(t *testing.T) {
		runs = 0
		w := dial(t, newHost(t, options, write))
		w.initialize("2025-11-25")
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`)
		result := w.receive()["result"].(map[string]any)
		assert.Equal(t, true, result["isError"])
		assert.Contains(t, fmt.Sprint(result), "needs approval and no one is there to ask")
		assert.Zero(t, runs)
	})
}

func TestRefreshTellsTheClient(t *testing.T) {
	h := newHost(t, host.Options{}, echoTool())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: "test"})
	go func() { _ = s.ServeStdio(t.Context(), inR, outW) }()
	changed := make(chan struct{}, 1000)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW},
		&mcp.ClientSessionOptions{})
	require.NoError(t, err)
	defer session.Close()
	testproc.Until(t, "word of a change", func() (bool, string) { // a connected client may not listen yet
		s.Announce()
		return len(changed) > 0, ""
	})

	require.NoError(t,
		h.Reload(t.Context(), []host.Source{source{newTool("other", tool.ReadOnly, nil)}}, host.Toolset{}))
	s.Refresh()
	testproc.Receive(t, changed, "word of the change")
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 1)
	assert.Equal(t, "other", list.Tools[0].Name)
}

// A client that is notified in the middle of a change lists all of it, or nothing.
func TestListsShowAllOfAChange(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	named := func(prefix string) (tools source) {
		for i := range 50 {
			tools = append(tools, newTool(fmt.Sprint(prefix, i), tool.ReadOnly, nil))
		}
		return tools
	}
	h := newHost(t, host.Options{}, named("a")...)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: "test"})
	go func() { _ = s.ServeStdio(t.Context(), inR, outW) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	require.NoError(t, err)
	defer session.Close()
	over := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			default:
			}
			sources := []host.Source{named([]string{"b", "a"}[n%2])}
			if assert.NoError(t, h.Reload(t.Context(), sources, host.Toolset{})) {
				s.Refresh()
			}
		}
	})
	for range 200 {
		list, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		first := make(map[string]int)
		for _, listed := range list.Tools {
			first[listed.Name[:1]]++
		}
		if !assert.Len(t, first, 1, "%v", first) || !assert.Len(t, list.Tools, 50) {
			break
		}
	}
	close(over)
	changing.Wait()
}

// A tool can be called as soon as the host has it, even before Refresh.
func TestACallOfAToolThatHasJustCome(t *testing.T) {
	h := newHost(t, host.Options{}, echoTool())
	session := connect(t, h, nil)
	late := newTool("late", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		return tool.Text("here"), nil
	})
	require.NoError(t, h.Reload(t.Context(), []host.Source{source{late}}, host.Toolset{}))
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "late"})
	require.NoError(t, err)
	assert.Equal(t, "here", r.Content[0].(*mcp.TextContent).Text)
}

// events is a recorder for tests.
type events struct {
	mu   sync.Mutex
	told []string
}

func (e *events) Step(context.Context, string) (int, error) { return 1, nil }

func (e *events) Event(_ context.Context, _, event string, payload any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, event+" "+string(tool.MustMarshal(payload)))
	return nil
}

func (e *events) ArtifactDir(string) string { return "" }

// A call of an unknown tool is a protocol error, and in the record and the trace a failed call, as on
// the command line.
func TestUnknownToolIsRecorded(t *testing.T) {
	recorded := new(events)
	var outcomes []string
	trace := func(ctx context.Context, part string, call *tool.Call) (context.Context, func(*host.Outcome)) {
		return ctx, func(o *host.Outcome) { outcomes = append(outcomes, part+" "+call.Tool+" "+string(o.Err.Code)) }
	}
	w := dial(t, newHost(t, host.Options{Recorder: recorded, Trace: trace}, echoTool()))
	w.initialize("2025-06-18")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ecko","arguments":{"text":"x"}}}`)
	assert.Contains(t, w.receive()["error"].(map[string]any)["message"], `Did you mean "echo"?`)
	require.Len(t, recorded.told, 2)
	assert.Contains(t, recorded.told[0], `tool_call_started`)
	assert.Contains(t, recorded.told[0], `"params":{"text":"x"}`)
	assert.Contains(t, recorded.told[1], `tool_call_finished`)
	assert.Contains(t, recorded.told[1], `"error":"not_found"`)
	assert.Equal(t, []string{"call ecko not_found"}, outcomes)
}

// TestTheClientNamesItsRequests: a call has the client's name for it, if valid.
func TestTheClientNamesItsRequests(t *testing.T) {
	w := dial(t, newHost(t, host.Options{},
		newTool("name", tool.ReadOnly, func(_ context.Context, c *tool.Call) (*tool.Result, error) {
			return tool.Text(c.RequestID), nil
		})))
	w.initialize("2025-11-25")
	for i, c := range []struct{ meta, want string }{
		{`{}`, "tool_step_0001"},
		{`{"request_id":"mine-7"}`, "mine-7"},
		{`{"request_id":""}`, "tool_step_0003"},
		{`{"request_id":7}`, "tool_step_0004"},
		{`{"request_id":"` + strings.Repeat("x", 200) + `"}`, strings.Repeat("x", 200)},
		{`{"request_id":"` + strings.Repeat("x", 201) + `"}`, "tool_step_0006"},
	} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"name","arguments":{},"_meta":%s}}`,
			i+1, c.meta))
		content := w.receive()["result"].(map[string]any)["content"].([]any)[0].(map[string]any)
		assert.Equal(t, c.want, content["text"])
	}
}

// Calls under way at the end of the input are answered, by a result or an error, before the server
// ends.
func TestTheEndOfTheInputAnswersWhatIsUnderWay(t *testing.T) {
	began := make(chan struct{})
	w := dial(t, newHost(t, host.Options{}, echoTool(), newTool("nap", tool.ReadOnly,
		func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		})))
	w.initialize("2025-06-18")
	w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nap","arguments":{}}}`)
	testproc.Receive(t, began)
	w.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
	require.NoError(t, w.in.Close())
	assert.EqualValues(t, 8, w.receive()["id"])
	late := w.receive()
	assert.EqualValues(t, 7, late["id"])
	require.Contains(t, late, "error")
	assert.Contains(t, late["error"].(map[string]any)["message"], "the input ended")
	_, err := w.out.ReadString('\n')
	require.ErrorIs(t, err, io.EOF, "one answer each")
	require.NoError(t, testproc.Receive(t, w.done))
}
