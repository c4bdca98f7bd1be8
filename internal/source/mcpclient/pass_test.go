package mcpclient_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// caller is the host's side of a call.
type caller struct {
	tool.Services
	answers  map[string]tool.Answer
	progress chan tool.Progress
	sampled  tool.SampleRequest
	model    func() (*tool.SampleResponse, error)
}

func (c *caller) Ask(_ context.Context, key string, form tool.Form) (tool.Answer, error) {
	if a, ok := c.answers[key]; ok {
		return a, nil
	}
	return tool.Answer{}, &tool.InputRequired{Key: key, Form: form}
}

func (c *caller) Progress(_ context.Context, p tool.Progress) {
	select {
	case c.progress <- p:
	default:
	}
}

func (c *caller) Sample(_ context.Context, r tool.SampleRequest) (*tool.SampleResponse, error) {
	c.sampled = r
	if c.model != nil {
		return c.model()
	}
	return &tool.SampleResponse{Text: "hi", Model: "m"}, nil
}

// eachWay runs a test over stdio and HTTP, in both eras.
func eachWay(t *testing.T, options mcpclient.Options, test func(t *testing.T, client *mcpclient.Client)) {
	for _, version := range []string{"2025-06-18", "2025-11-25", ""} {
		name := version
		if name == "" {
			name = "newest"
		}
		t.Run("stdio "+name, func(t *testing.T) {
			spec := upstream("sdk")
			spec.Protocol = version
			test(t, open(t, options, spec))
		})
		t.Run("http "+name, func(t *testing.T) {
			server := sdkServer()
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: version == "", PropagateRequestCancellation: true})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer hush" {
					http.Error(w, "who are you?", http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			test(t, open(t, options, mcpclient.Spec{
				Name: "up", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer hush"}, Protocol: version,
				StartTimeout: time.Minute}))
		})
	}
}

func TestQuestionsReachTheUser(t *testing.T) {
	eachWay(t, mcpclient.Options{}, func(t *testing.T, client *mcpclient.Client) {
		user := &caller{answers: make(map[string]tool.Answer)}
		call := newCall("{}")
		call.Host = user
		_, err := client.Call(t.Context(), "up", "ask", nil, call)
		require.ErrorIs(t, err, tool.ErrInputRequired)
		input := new(tool.InputRequired)
		require.ErrorAs(t, err, &input)
		assert.Equal(t, "The MCP server up asks: Your name?", input.Form.Message)
		assert.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string"}}}`, string(input.Form.Schema))

		user.answers[input.Key] = tool.Answer{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}
		result, err := client.Call(t.Context(), "up", "ask", nil, call)
		require.NoError(t, err)
		require.Equal(t, "accept Ada", result.Text())

		user.answers[input.Key] = tool.Answer{Action: "decline"}
		call.RequestID = "another"
		result, err = client.Call(t.Context(), "up", "ask", nil, call)
		require.NoError(t, err, "an answer that is there already is used, as after a restart of the host")
		require.Equal(t, "decline <nil>", result.Text())
	})
}

func TestWithoutAUserTheCallFails(t *testing.T) {
	client := open(t, mcpclient.Options{}, upstream("sdk"))
	_, err := client.Call(t.Context(), "up", "ask", nil, newCall("{}"))
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
}

func TestProgressPasses(t *testing.T) {
	testneed.NotShort(t, "passes thousands of messages in each version of the protocol")
	eachWay(t, mcpclient.Options{}, func(t *testing.T, client *mcpclient.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		user := &caller{progress: make(chan tool.Progress, 1000)}
		call := newCall("{}")
		call.Host = user
		ended := make(chan error)
		go func() {
			_, err := client.Call(ctx, "up", "progress", json.RawMessage(`{"steps":5000}`), call)
			ended <- err
		}()
		p := testproc.Receive(t, user.progress)
		require.Equal(t, 3.0, p.Total)
		require.Equal(t, "step", p.Message)
		cancel()
		require.ErrorIs(t, testproc.Receive(t, ended), context.Canceled)
	})
}

func TestSamplingPasses(t *testing.T) {
	spec := upstream("sdk")
	spec.Protocol = "2025-11-25"
	client := open(t, mcpclient.Options{Sampling: true}, spec)
	user := new(caller)
	call := newCall("{}")
	call.Host = user
	result, err := client.Call(t.Context(), "up", "sample", nil, call)
	require.NoError(t, err)
	require.Equal(t, "hi", result.Text())
	require.Equal(t, tool.SampleRequest{System: "be brief", Prompt: "hello?", MaxTokens: 10}, user.sampled)
}

// TestSamplingThroughTheClientsModel answers sampling by a question, as a client of the newest revision
// is asked for its model's answer.
func TestSamplingThroughTheClientsModel(t *testing.T) {
	spec := upstream("sdk")
	spec.Protocol = "2025-11-25"
	client := open(t, mcpclient.Options{Sampling: true}, spec)
	asked := &tool.InputRequired{Key: "sample.1"}
	user := &caller{model: func() (*tool.SampleResponse, error) { return nil, asked }}
	call := newCall("{}")
	call.Host = user
	_, err := client.Call(t.Context(), "up", "sample", nil, call)
	require.ErrorIs(t, err, tool.ErrInputRequired)
	user.model = func() (*tool.SampleResponse, error) { return &tool.SampleResponse{Text: "later"}, nil }
	result, err := client.Call(t.Context(), "up", "sample", nil, call)
	require.NoError(t, err)
	require.Equal(t, "later", result.Text())
	require.Equal(t, 1, client.Status()[0].Starts)
}

// TestQuestionsReachNobodyElse has calls of two sessions in progress when a server asks that cannot
// name its call.
func TestQuestionsReachNobodyElse(t *testing.T) {
	spec := upstream("sdk")
	spec.Protocol = "2025-11-25"
	client := open(t, mcpclient.Options{}, spec)
	other := newCall("{}")
	other.Session, other.Host = "other", &caller{progress: make(chan tool.Progress, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, "up", "cancelled", nil, other)
		ended <- err
	}()
	testproc.Receive(t, other.Host.(*caller).progress)
	call := newCall("{}")
	call.Host = &caller{}
	result, err := client.Call(t.Context(), "up", "ask", nil, call)
	require.NoError(t, err, "nobody is asked")
	require.Equal(t, "cancel <nil>", result.Text())
	cancel()
	require.ErrorIs(t, testproc.Receive(t, ended), context.Canceled)
}

func TestCancellationPasses(t *testing.T) {
	eachWay(t, mcpclient.Options{}, func(t *testing.T, client *mcpclient.Client) {
		mark := filepath.Join(t.TempDir(), "cancelled")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		user := &caller{progress: make(chan tool.Progress, 1)}
		call := newCall("{}")
		call.Host = user
		ended := make(chan error)
		go func() {
			_, err := client.Call(ctx, "up", "cancelled", tool.MustMarshal(map[string]string{"mark": mark}), call)
			ended <- err
		}()
		testproc.Receive(t, user.progress)
		cancel()
		require.ErrorIs(t, testproc.Receive(t, ended), context.Canceled)
		require.Eventually(t, func() bool { _, err := os.Stat(mark); return err == nil }, time.Minute,
			5*time.Millisecond)
	})
}

func TestRootsAreToldToWhoAsks(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", ""} {
		spec := upstream("sdk")
		spec.Protocol, spec.Roots = version, []string{"/srv/the project", "/srv/lib#1"}
		result, err := open(t, mcpclient.Options{}, spec).Call(t.Context(), "up", "roots", nil, newCall("{}"))
		require.NoError(t, err)
		require.Equal(t, "lib#1 file:///srv/lib%231, the project file:///srv/the%20project", result.Text(), version)
	}
}

func TestPagesToVisitAreShownToTheUser(t *testing.T) {
	eachWay(t, mcpclient.Options{}, func(t *testing.T, client *mcpclient.Client) {
		for url, shown := range map[string]struct{ url, domain string }{
			"https://pay.example/x?y=1#z":        {"https://pay.example/x?y=1#z", "pay.example"},
			"https://b\u00fccher.example:8443/a": {"https://xn--bcher-kva.example:8443/a", "xn--bcher-kva.example"},
			"https://pay.example\u200b.evil/x":   {"https://pay.example.evil/x", "pay.example.evil"},
			"http://127.0.0.1:8080/cb":           {"http://127.0.0.1:8080/cb", "127.0.0.1"},
		} {
			user := &caller{answers: make(map[string]tool.Answer)}
			call := newCall(string(tool.MustMarshal(map[string]string{"url": url})))
			call.Host, call.RequestID = user, url
			_, err := client.Call(t.Context(), "up", "visit", call.Params, call)
			input := new(tool.InputRequired)
			require.ErrorAs(t, err, &input)
			assert.Equal(t, tool.Form{URL: shown.url,
				Message: "The MCP server up asks you to visit a page of " + shown.domain + ": Pay there."}, input.Form)
			user.answers[input.Key] = tool.Answer{Action: "accept"}
			result, err := client.Call(t.Context(), "up", "visit", call.Params, call)
			require.NoError(t, err)
			assert.Equal(t, "acceptmap[]", result.Text())
		}
		for _, url := range []string{
			"http://pay.example/", "file:///etc/passwd", "javascript:alert(1)", "https://pay.example@evil.example/",
			"https:///x", "not a url",
			"https://pay.example/" + strings.Repeat("x", 5000),
		} {
			call := newCall(string(tool.MustMarshal(map[string]string{"url": url})))
			call.Host, call.RequestID = &caller{}, url
			_, err := client.Call(t.Context(), "up", "visit", call.Params, call)
			require.Error(t, err, url)
			assert.NotErrorIs(t, err, tool.ErrInputRequired, url)
		}
	})
}

// A server may refuse a call until the user visited a page; then the call is repeated.
func TestACallWaitsForThePageItRequires(t *testing.T) {
	register := func(action string) (*tool.Result, error) {
		spec := upstream("sdk")
		spec.Protocol = "2025-11-25"
		client := open(t, mcpclient.Options{}, spec)
		user := &caller{answers: make(map[string]tool.Answer)}
		call := newCall("{}")
		call.Host = user
		_, err := client.Call(t.Context(), "up", "register", nil, call)
		input := new(tool.InputRequired)
		require.ErrorAs(t, err, &input)
		assert.Equal(t, "https://register.example/?id=reg", input.Form.URL)
		assert.Contains(t, input.Form.Message, "register.example: Register.")
		user.answers[input.Key] = tool.Answer{Action: action}
		return client.Call(t.Context(), "up", "register", nil, call)
	}
	result, err := register("accept")
	require.NoError(t, err)
	assert.Equal(t, "registered", result.Text())
	_, err = register("decline")
	require.ErrorIs(t, err, &tool.Error{Code: tool.Denied})
	require.ErrorContains(t, err, "register.example")
}

func TestSamplingPassesImagesAndAudio(t *testing.T) {
	spec := upstream("sdk")
	spec.Protocol = "2025-11-25"
	user := new(caller)
	call := newCall("{}")
	call.Host = user
	result, err := open(t, mcpclient.Options{Sampling: true}, spec).Call(t.Context(), "up", "describe", nil, call)
	require.NoError(t, err)
	require.Equal(t, "hi", result.Text())
	require.Equal(t, tool.SampleRequest{MaxTokens: 10, Messages: []tool.Content{
		{Kind: tool.KindImage, Role: "user", Data: []byte("png"), MIMEType: "image/png"},
		{Kind: tool.KindAudio, Role: "user", Data: []byte("wav"), MIMEType: "audio/wav"},
		{Kind: tool.KindText, Role: "assistant", Text: "Hm."},
		{Kind: tool.KindText, Role: "user", Text: "What is it?"},
	}}, user.sampled)
}
