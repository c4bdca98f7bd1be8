package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// upstream declares this test binary as a server of that kind.
func upstream(kind string) mcpclient.Spec {
	self, _ := os.Executable()
	return mcpclient.Spec{Name: "up", Command: []string{self}, Env: map[string]string{"TEST_MCP_SERVER": kind},
		StartTimeout: time.Minute}
}

func open(t *testing.T, options mcpclient.Options, specs ...mcpclient.Spec) *mcpclient.Client {
	t.Helper()
	client := mcpclient.New(options)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for _, spec := range specs {
		require.NoError(t, client.Add(spec))
	}
	return client
}

func toolsOf(t *testing.T, source *mcpclient.Source) map[string]tool.Tool {
	t.Helper()
	tools, err := source.Tools(t.Context())
	require.NoError(t, err)
	byName := make(map[string]tool.Tool)
	for _, each := range tools {
		byName[each.Definition().Name] = each
	}
	return byName
}

func newCall(params string) *tool.Call {
	return &tool.Call{Tool: "t", Session: "s", RequestID: "r", Step: 1, Params: json.RawMessage(params)}
}

func TestToolsAreDescribed(t *testing.T) {
	spec := upstream("raw")
	spec.Prefix = "up_"
	spec.Risk = map[string]tool.Risk{"wi*": tool.SafeWrite, "*": tool.Dangerous, "echo": tool.ReadOnly}
	spec.CallTimeout = time.Minute
	tools := toolsOf(t, open(t, mcpclient.Options{}, spec).Sources()[0])
	require.Len(t, tools, 4)

	echo := tools["up_echo"].Definition()
	assert.Equal(t, "Echo it", echo.Title)
	assert.Equal(t, tool.ReadOnly, echo.Risk)
	assert.Equal(t, time.Minute, echo.Timeout)
	assert.Equal(t, `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`,
		string(echo.Parameters), "as the server wrote it")
	assert.Equal(t, tool.Dangerous, tools[tool.PortableName("up_add.note", 48)].Definition().Risk, "overridden")
	assert.True(t, tools[tool.PortableName("up_add.note", 48)].Definition().Idempotent)
	wipe := tools["up_wipe"].Definition()
	assert.Equal(t, tool.SafeWrite, wipe.Risk)
	assert.JSONEq(t,
		`{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":1,"description":"How many."}},"required":["n"]}`,
		string(wipe.Parameters),
		"what draft 4 writes is spelled as in 2020-12")
	for name := range tools {
		assert.LessOrEqual(t, len(name), 48)
	}
}

func TestOddEntriesAreLeftOutAlone(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	client := open(t, mcpclient.Options{Logger: logger}, upstream("odd"))
	assert.Len(t, toolsOf(t, client.Sources()[0]), 4, "the tools that can be read")
	result, err := client.Call(t.Context(), "up", "odd", nil, newCall("{}"))
	require.NoError(t, err)
	texts := []string{}
	for _, c := range result.Contents {
		texts = append(texts, c.Text)
	}
	assert.Equal(t, []string{"one", "null", `{"type":"hologram","x":1}`, `{"type":"text","text":5}`, "two"}, texts)
	assert.Equal(t, `{"z":12345678901234567890,"a":1}`, string(result.Structured))
	assert.Contains(t, log.String(), "entries=3")
}

func TestRiskComesFromAnnotations(t *testing.T) {
	tools := toolsOf(t, open(t, mcpclient.Options{}, upstream("raw")).Sources()[0])
	assert.Equal(t, tool.ReadOnly, tools["echo"].Definition().Risk)
	assert.Equal(t, tool.SafeWrite, tools[tool.PortableName("add.note", 48)].Definition().Risk)
	assert.Equal(t, tool.Dangerous, tools["wipe"].Definition().Risk)
}

func TestIncludeAndExclude(t *testing.T) {
	spec := upstream("raw")
	spec.Include, spec.Exclude = []string{"e*", "w*"}, []string{"wipe"}
	client := open(t, mcpclient.Options{}, spec)
	require.Len(t, toolsOf(t, client.Sources()[0]), 1)
	_, err := client.Call(t.Context(), "up", "wipe", nil, newCall("{}"))
	require.ErrorIs(t, err, &tool.Error{Code: tool.NotFound}, "what is excluded cannot be called by name either")
}

func TestResultsPassUnchanged(t *testing.T) {
	for _, kind := range []string{"raw", "exit-on-discover", "chatty"} {
		t.Run(kind, func(t *testing.T) {
			client := open(t, mcpclient.Options{}, upstream(kind))
			result, err := toolsOf(t, client.Sources()[0])["echo"].Call(t.Context(),
				newCall(`{"z":"<&>","a":9007199254740993}`))
			require.NoError(t, err)
			assert.Equal(t, []tool.Content{
				{Kind: tool.KindText, Text: "echo"},
				{Kind: tool.KindImage, Data: []byte("hi"), MIMEType: "image/png"},
				{Kind: tool.KindAudio, Data: []byte("ho"), MIMEType: "audio/wav"},
				{Kind: tool.KindLink, URI: "file:///x", Name: "x",
					MCP: json.RawMessage(`{"annotations":{"audience":["user"],"priority":0.5},"title":"X","size":7}`)},
				{Kind: tool.KindResource, URI: "file:///y", MIMEType: "text/plain", Text: "why"},
			}, result.Contents)
			assert.Equal(t, `{"z":1,"a":12345678901234567890,"args":{"z":"<&>","a":9007199254740993}}`,
				strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(result.Structured)))
		})
	}
}

func TestAServerThatFailsTheNewestProtocolIsRemembered(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	for _, kind := range []string{"exit-on-discover", "ignore-discover"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			spec := upstream(kind)
			spec.StartTimeout = 12 * time.Second // the newest protocol gets a third of it
			spec.Env["TEST_MCP_STARTS"] = filepath.Join(dir, "starts")
			options := mcpclient.Options{CacheDir: filepath.Join(dir, "cache")}
			client := open(t, options, spec)
			toolsOf(t, client.Sources()[0])
			require.Equal(t, 2, countLines(t, spec.Env["TEST_MCP_STARTS"]),
				"asked in the newest protocol, then started afresh")
			status := client.Status()[0]
			assert.True(t, status.Pinned)
			assert.Equal(t, "2025-11-25", status.Protocol)

			again := open(t, options, spec)
			_, err := toolsOf(t, again.Sources()[0])["echo"].Call(t.Context(), newCall("{}"))
			require.NoError(t, err)
			require.Equal(t, 3, countLines(t, spec.Env["TEST_MCP_STARTS"]), "spoken to in the older protocol at once")
		})
	}
}

func countLines(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	return strings.Count(string(data), "\n")
}

func TestListingFromTheCacheStartsNothing(t *testing.T) {
	dir := t.TempDir()
	spec := upstream("raw")
	spec.Env["TEST_MCP_STARTS"] = filepath.Join(dir, "starts")
	options := mcpclient.Options{CacheDir: filepath.Join(dir, "cache"), Patience: -1}
	_, err := open(t, options, spec).Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	require.Equal(t, 0, countLines(t, spec.Env["TEST_MCP_STARTS"]), "without patience nothing is started")

	open(t, options, spec).Load(t.Context(), "")
	require.Equal(t, 1, countLines(t, spec.Env["TEST_MCP_STARTS"]))
	require.Len(t, toolsOf(t, open(t, options, spec).Sources()[0]), 4)
	require.Equal(t, 1, countLines(t, spec.Env["TEST_MCP_STARTS"]), "the cache tells")
}

// What a listing of the cache lacks, or what is left out of it, may be there again: the server is asked.
func TestAListingThatLacksToolsIsNotKeptForEver(t *testing.T) {
	const one, two = `{"name":"one","inputSchema":{"type":"object"}}`, `{"name":"two","inputSchema":{"type":"object"}}`
	for name, test := range map[string]struct {
		since  string
		starts int // of a list, and of a call of one
	}{
		"dropped":       {``, 1},
		"changed":       {two + `,{"name":"one","description":"Now.","inputSchema":{"type":"object"}}`, 1},
		"added":         {one + `,` + two + `,{"name":"three","inputSchema":{"type":"object"}}`, 1},
		"partly gone":   {two, 0},
		"another order": {two + `,` + one, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			list, starts := filepath.Join(dir, "list"), filepath.Join(dir, "starts")
			spec := upstream("raw")
			spec.Prefix = "u_"
			spec.Env["TEST_MCP_TOOLS"], spec.Env["TEST_MCP_STARTS"] = list, starts
			next := func() *mcpclient.Client {
				return open(t, mcpclient.Options{CacheDir: filepath.Join(dir, "cache"),
					Pins: pins.Open(pins.Place{Dir: filepath.Join(dir, "pins")})}, spec)
			}
			require.NoError(t, os.WriteFile(list, []byte(one+","+two), 0o600))
			_, _, err := next().Tools(t.Context(), "up")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(list, []byte(test.since), 0o600))
			next().Connect(t.Context())
			before := countLines(t, starts)

			require.NoError(t, os.WriteFile(list, []byte(one+","+two), 0o600))
			listing := next()
			listed := toolsOf(t, listing.Sources()[0])
			require.Equal(t, test.starts, countLines(t, starts)-before)
			if test.starts > 0 {
				require.Len(t, listed, 2)
			}
			require.NoError(t, os.WriteFile(list, []byte(test.since), 0o600))
			next().Connect(t.Context())
			require.NoError(t, os.WriteFile(list, []byte(one+","+two), 0o600))
			calling := next()
			require.True(t, calling.Load(t.Context(), "u_one"))
			require.Len(t, toolsOf(t, calling.Sources()[0]), 2)
		})
	}
}

func TestAHangingServerDelaysNobody(t *testing.T) {
	changed := make(chan string, 1)
	hang := upstream("hang")
	hang.Name, hang.StartTimeout = "hang", time.Hour
	client := open(t, mcpclient.Options{Patience: 50 * time.Millisecond,
		OnChange: func(name string) { changed <- name }}, hang, upstream("raw"))
	_, err := client.Sources()[0].Tools(t.Context())
	require.ErrorContains(t, err, "still starting")
	if _, err := client.Sources()[1].Tools(t.Context()); err != nil {
		require.Equal(t, "up", testproc.Receive(t, changed), "the other one comes when it is ready")
	}
	require.Len(t, toolsOf(t, client.Sources()[1]), 4)
	began := time.Now()
	require.NoError(t, client.Close())
	require.Less(t, time.Since(began), time.Minute)
}

func TestAServerThatDoesNotStartTellsWhy(t *testing.T) {
	var log bytes.Buffer
	spec := upstream("exit")
	client := open(t, mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Secrets: []string{"licence"}},
		spec)
	_, err := client.Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	require.ErrorContains(t, err, "exit status 7")
	require.ErrorContains(t, err, "no [redacted] found")
	require.Equal(t, mcpclient.Failed, client.Status()[0].State)
	require.NoError(t, client.Close())
	require.Contains(t, log.String(), "no [redacted] found")

	missing := mcpclient.Spec{Name: "missing", Command: []string{"no-such-program-anywhere"}}
	_, err = open(t, mcpclient.Options{}, missing).Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.CommandNotFound})
}

func TestAnUnknownRevisionIsNamed(t *testing.T) {
	_, err := open(t, mcpclient.Options{}, upstream("old")).Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	require.ErrorContains(t, err, `unsupported protocol version: "1999-01-01"`)
	require.NotContains(t, err.Error(), "exit status")
}

func TestAStructuredResultIsTextToo(t *testing.T) {
	client := open(t, mcpclient.Options{}, upstream("raw"))
	result, err := client.Call(t.Context(), "up", "structured", nil, newCall("{}"))
	require.NoError(t, err)
	const said = `{"z":1,"a":12345678901234567890}`
	require.Equal(t, []string{said, said}, []string{result.Text(), string(result.Structured)})
	result, err = client.Call(t.Context(), "up", "fail-structured", nil, newCall("{}"))
	require.NoError(t, err)
	require.Equal(t, `{"why":"no"}`, result.Failed.Message)
}

func TestFailures(t *testing.T) {
	client := open(t, mcpclient.Options{MaxMessage: 1 << 20}, upstream("raw"))
	call := func(name string) (*tool.Result, error) {
		return client.Call(t.Context(), "up", name, nil, newCall("{}"))
	}

	result, err := call("fail")
	require.NoError(t, err)
	require.Equal(t, "it did not work", result.Failed.Message)

	_, err = call("unknown")
	require.ErrorIs(t, err, &tool.Error{Code: tool.InvalidArgument})
	require.ErrorContains(t, err, "Unknown tool")

	_, err = call("huge")
	require.ErrorIs(t, err, &tool.Error{Code: tool.TooLarge})
	_, err = call("echo")
	require.NoError(t, err, "the connection lives on")

	_, err = call("die")
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	require.ErrorContains(t, err, "exit status 9")
	require.ErrorContains(t, err, "out of cheese")
	_, err = call("echo")
	require.NoError(t, err, "the next call starts it again")
	require.Equal(t, 1, client.Status()[0].Losses)
}

func TestABrokenServerIsLeftAlone(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	spec := upstream("exit")
	spec.Protocol = "2025-11-25"
	spec.Env["TEST_MCP_STARTS"] = starts
	client := open(t, mcpclient.Options{}, spec)
	var err error
	began := time.Now()
	for calls := 0; calls < 20 || calls < 2000 && !strings.Contains(err.Error(), "not tried again"); calls++ {
		_, err = client.Call(t.Context(), "up", "echo", nil, newCall("{}"))
		require.Error(t, err)
	}
	require.ErrorContains(t, err, "not tried again")
	most, rest, took := 5, 2*time.Second, time.Since(began) // each rest is twice as long as the one before
	for ; took > rest; rest *= 2 {
		took -= rest
		most++
	}
	require.LessOrEqual(t, countLines(t, starts), most)
	require.False(t, client.Status()[0].RetryAt.IsZero())
}

func TestADeafServerIsEnded(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	client := open(t, mcpclient.Options{}, upstream("deaf"))
	toolsOf(t, client.Sources()[0])
	pid := client.Status()[0].PID
	another := make(chan error, 1)
	go func() {
		_, err := client.Call(t.Context(), "up", "wait", nil, newCall("{}"))
		another <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := client.Call(ctx, "up", "wait", nil, newCall("{}"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, testproc.Receive(t, another), "toolhost ended it, because after a call that timed out it did not answer a ping")
	require.Eventually(t, func() bool { return client.Status()[0].PID != pid }, time.Minute, 20*time.Millisecond)
	_, err = client.Call(t.Context(), "up", "echo", nil, newCall("{}"))
	require.NoError(t, err)
}

func TestChangedListsAreTold(t *testing.T) {
	for _, version := range []string{"2025-11-25", ""} {
		t.Run("version "+version, func(t *testing.T) {
			changed := make(chan string, 4)
			spec := upstream("sdk")
			spec.Protocol = version
			client := open(t, mcpclient.Options{OnChange: func(name string) { changed <- name }}, spec)
			require.NotContains(t, toolsOf(t, client.Sources()[0]), "grown")
			_, err := client.Call(t.Context(), "up", "grow", nil, newCall("{}"))
			require.NoError(t, err)
			require.Equal(t, "up", testproc.Receive(t, changed))
			require.Contains(t, toolsOf(t, client.Sources()[0]), "grown")
		})
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	eachWay(t, mcpclient.Options{}, func(t *testing.T, client *mcpclient.Client) {
		resources, _, err := client.Resources(t.Context(), "up")
		require.NoError(t, err)
		require.Equal(t, []mcpclient.Resource{{URI: "test://one", Name: "one", MIMEType: "text/plain"}}, resources)
		contents, err := client.ReadResource(t.Context(), "up", "test://one")
		require.NoError(t, err)
		require.Equal(t, "first", contents[0].Text)
		_, err = client.ReadResource(t.Context(), "up", "test://two")
		require.Error(t, err)
		prompts, _, err := client.Prompts(t.Context(), "up")
		require.NoError(t, err)
		require.Equal(t, []mcpclient.Prompt{{Name: "greet",
			Arguments: []mcpclient.PromptArgument{{Name: "who", Required: true}}}}, prompts)
		messages, err := client.GetPrompt(t.Context(), "up", "greet", map[string]string{"who": "Ada"})
		require.NoError(t, err)
		require.Equal(t, "Hi Ada", messages[0].Content.Text)
		tools, _, err := client.Tools(t.Context(), "up")
		require.NoError(t, err)
		require.NotEmpty(t, tools)
		_, _, err = client.Tools(t.Context(), "upp")
		require.ErrorContains(t, err, "no MCP server named")
	})
}

func TestHTTPFailures(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	client := open(t, mcpclient.Options{}, mcpclient.Spec{Name: "up", URL: web.URL})
	_, err := client.Sources()[0].Tools(t.Context())
	require.ErrorContains(t, err, "404")
	web.Close()
	_, err = client.Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer web.Close()
	client := open(t, mcpclient.Options{},
		mcpclient.Spec{Name: "up", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer hush"}})
	_, err := client.Sources()[0].Tools(t.Context())
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	require.Empty(t, leaked)
}

func TestLargeAnswersOverHTTPAreBounded(t *testing.T) {
	server := sdkServer()
	server.AddTool(&mcp.Tool{Name: "huge", InputSchema: json.RawMessage(`{"type":"object"}`)},
		textTool(strings.Repeat("x", 3<<20)))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	client := open(t, mcpclient.Options{MaxMessage: 1 << 20},
		mcpclient.Spec{Name: "up", URL: web.URL, StartTimeout: time.Minute})
	_, err := client.Call(t.Context(), "up", "huge", nil, newCall("{}"))
	require.Error(t, err)
	_, err = client.Call(t.Context(), "up", "grow", nil, newCall("{}"))
	require.NoError(t, err)
}

func TestCallsRunAtTheSameTime(t *testing.T) {
	client := open(t, mcpclient.Options{}, upstream("raw"))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			result, err := client.Call(t.Context(), "up", "echo", json.RawMessage(fmt.Sprintf(`{"a":%d}`, i)),
				newCall("{}"))
			assert.NoError(t, err)
			assert.Contains(t, string(result.Structured), fmt.Sprintf(`{"a":%d}`, i))
		})
	}
	all.Wait()
	require.Equal(t, 1, client.Status()[0].Starts)
}

func TestSpecsThatCannotBeUsed(t *testing.T) {
	client := open(t, mcpclient.Options{})
	for _, spec := range []mcpclient.Spec{
		{}, {Name: "x"}, {Name: "x", Command: []string{"a"}, URL: "http://b"},
		{Name: "x", URL: "http://b", Risk: map[string]tool.Risk{"*": "mild"}},
	} {
		require.ErrorIs(t, client.Add(spec), &tool.Error{Code: tool.InvalidArgument})
	}
	require.NoError(t, client.Add(mcpclient.Spec{Name: "x", URL: "http://b"}))
	require.ErrorIs(t, client.Add(mcpclient.Spec{Name: "x", URL: "http://b"}), &tool.Error{Code: tool.Conflict})
}
