package model_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/model"
)

// endpoint answers every request with handle and returns a client.
func endpoint(t *testing.T, handle http.HandlerFunc, o model.Options) *model.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	if o.URL == "" {
		o.URL = server.URL + "/v1/"
	}
	o.Model, o.Place = "small", "agent.hcl:7"
	c, err := model.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestSample(t *testing.T) {
	var path, key, extra string
	var body map[string]any
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		path, key, extra = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Team")
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &body)
		_, _ = io.WriteString(w,
			`{"model":"small-2026","choices":[{"message":{"role":"assistant","content":"forty-two"},"finish_reason":"stop"}]}`)
	}, model.Options{Key: "sk-test", Headers: map[string]string{"X-Team": "a"}})
	response, err := c.Sample(t.Context(), tool.SampleRequest{System: "Be brief.", Prompt: "6 x 7?", MaxTokens: 9})
	require.NoError(t, err)
	assert.Equal(t, &tool.SampleResponse{Text: "forty-two", Model: "small-2026"}, response)
	assert.Equal(t, "/v1/chat/completions", path)
	assert.Equal(t, "Bearer sk-test", key)
	assert.Equal(t, "a", extra)
	assert.Equal(t, map[string]any{
		"model": "small", "stream": false, "max_tokens": float64(9),
		"messages": []any{
			map[string]any{"role": "system", "content": "Be brief."},
			map[string]any{"role": "user", "content": "6 x 7?"},
		},
	}, body)
}

func TestMaxTokensUnderItsNewerName(t *testing.T) {
	var asked []map[string]any
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		asked = append(asked, body)
		if _, old := body["max_tokens"]; old {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w,
				`{"error":{"message":"Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"}}]}`)
	}, model.Options{MaxTokens: 77})
	response, err := c.Sample(t.Context(), tool.SampleRequest{Prompt: "x"})
	require.NoError(t, err)
	assert.Equal(t, "small", response.Model)
	require.Len(t, asked, 2)
	assert.EqualValues(t, 77, asked[1]["max_completion_tokens"])
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name            string
		status          int
		body            string
		code            tool.Code
		message, advice string
	}{
		{"key", 401, `{"error":{"message":"Incorrect API key sk-test"}}`, tool.PermissionDenied,
			"Incorrect API key [redacted]", "key in the model block"},
		{"model", 404, `{"error":"model 'small' not found"}`, tool.NotFound, "model 'small' not found", "agent.hcl:7"},
		{"rate", 429, ``, tool.Unavailable, "status 429", "after 30"},
		{"server", 500, `<html>`, tool.Unavailable, "status 500", "agent.hcl:7"},
		{"question", 400, `{"error":{"message":"too long"}}`, tool.InvalidArgument, "too long", "Ask for less"},
		{"redirect", 307, ``, tool.Unavailable, "redirects", "redirects are not followed"},
		{"no completion", 200, `{"choices":[]}`, tool.Unavailable, "no choices", "OpenAI-compatible"},
		{"no JSON", 200, `hello`, tool.Unavailable, "is not a chat completion", "OpenAI-compatible"},
		{"declined", 200, `{"choices":[{"message":{"content":null,"refusal":"I can't."}}]}`, tool.Unavailable,
			"I can't.", "something else"},
		{"no tokens", 200, `{"choices":[{"message":{"content":""},"finish_reason":"length"}]}`, tool.Unavailable,
			"tokens", "max_tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "30")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}, model.Options{Key: "sk-test"})
			_, err := c.Sample(t.Context(), tool.SampleRequest{Prompt: "x"})
			e := tool.AsError(err)
			require.NotNil(t, e)
			assert.Equal(t, tt.code, e.Code)
			assert.Contains(t, e.Message, tt.message)
			assert.Contains(t, e.Suggestion, tt.advice)
			assert.NotContains(t, e.Message, "sk-test")
		})
	}
}

func TestTimeoutAndCancellation(t *testing.T) {
	release := make(chan struct{})
	c := endpoint(t, func(_ http.ResponseWriter, r *http.Request) { <-release },
		model.Options{Timeout: 50 * time.Millisecond})
	defer close(release)
	_, err := c.Sample(t.Context(), tool.SampleRequest{Prompt: "x"})
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
	assert.Contains(t, tool.AsError(err).Suggestion, "timeout")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Sample(ctx, tool.SampleRequest{Prompt: "x"})
	assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
}

// A host written as an address may be private; a name only if the operator allows it.
func TestPrivateNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"}}]}`)
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	ask := func(host string, private bool) error {
		c, err := model.New(model.Options{URL: "http://" + host + port, Model: "m", Private: private})
		require.NoError(t, err)
		_, err = c.Sample(t.Context(), tool.SampleRequest{Prompt: "x"})
		return err
	}
	assert.NoError(t, ask("127.0.0.1", false))
	assert.NoError(t, ask("localhost", false))
	err := ask("ip6-localhost.localhost", false)
	assert.Error(t, err)
}

func TestUnusableURL(t *testing.T) {
	for _, u := range []string{"", "ftp://x", "https://", "https://user:pw@host/v1", "://"} {
		_, err := model.New(model.Options{URL: u, Model: "m", Place: "agent.hcl:7"})
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), u)
	}
}

func TestImagesAndAudioGoAlong(t *testing.T) {
	var body struct{ Messages json.RawMessage }
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"a cat"}}]}`)
	}, model.Options{})
	response, err := c.Sample(t.Context(), tool.SampleRequest{Messages: []tool.Content{
		{Kind: tool.KindImage, Role: "user", Data: []byte("hi"), MIMEType: "image/png"},
		{Kind: tool.KindAudio, Role: "user", Data: []byte("ho"), MIMEType: "audio/mpeg"},
		{Kind: tool.KindText, Role: "assistant", Text: "Hm."},
	}, Prompt: "What is it?"})
	require.NoError(t, err)
	assert.Equal(t, "a cat", response.Text)
	assert.JSONEq(t, `[
		{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},
		{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aG8=","format":"mp3"}}]},
		{"role":"assistant","content":"Hm."},
		{"role":"user","content":"What is it?"}
	]`, string(body.Messages))
	_, err = c.Sample(t.Context(),
		tool.SampleRequest{Messages: []tool.Content{{Kind: tool.KindAudio, Role: "user", Data: []byte("ho"),
			MIMEType: "audio/ogg"}}})
	assert.ErrorIs(t, err, &tool.Error{Code: tool.Unsupported})
	assert.ErrorContains(t, err, "audio/ogg")
}
