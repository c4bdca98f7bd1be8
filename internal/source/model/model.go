// Package model asks a language model behind an OpenAI-compatible endpoint, for sampling by tools if agent.hcl has
// a model block.
package model

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
)

// Defaults of Options.
const (
	DefaultTimeout   = 2 * time.Minute
	DefaultMaxTokens = 4096
)

// maxAnswer bounds an endpoint's answer, in bytes.
const maxAnswer = 8 << 20

// Options configures a Client. URL and Model are required.
type Options struct {
	// URL is the endpoint's base, "https://models.example/v1"; requests go to /chat/completions below it. A
	// literal address or "localhost" may be non-public.
	URL string
	// Model is the model's name there.
	Model string
	// Key is the bearer token. May be empty.
	Key string
	// Headers are sent with each request.
	Headers map[string]string
	// Private lets the host in URL have a non-public address.
	Private bool
	// Timeout bounds one question. Zero means DefaultTimeout.
	Timeout time.Duration
	// MaxTokens bounds answers to questions without their own bound. Zero means DefaultMaxTokens.
	MaxTokens int
	// TLS configures https; nil means Go's defaults.
	TLS *tls.Config
	// Place is where the model is declared, "agent.hcl:12", for messages.
	Place string
}

// Client asks one model. It is safe for concurrent use.
type Client struct {
	options  Options
	endpoint string
	host     string
	http     *netguard.Client
}

// New returns a client without connecting. The error is invalid_argument for an invalid URL.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "%s: the model's url cannot be used", o.Place).
			Suggest("Write the base of an OpenAI-compatible endpoint, such as https://models.example/v1.")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	client, err := netguard.New(guard(o, u))
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(u.JoinPath().String(), "/"), "/chat/completions")
	return &Client{options: o, endpoint: base + "/chat/completions", host: u.Host, http: client}, nil
}

// guard allows only the operator's host, without redirects, which would carry the key and the prompt away.
func guard(o Options, u *url.URL) netguard.Options {
	limits := netguard.Options{
		MaxBytes: maxAnswer, Timeout: o.Timeout, HeaderTimeout: o.Timeout, IdleTimeout: o.Timeout,
		MaxRedirects: -1, TLS: o.TLS,
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		limits.Ports = []int{80, 443, port}
	}
	_, notAddress := netip.ParseAddr(u.Hostname())
	if o.Private || notAddress == nil || strings.EqualFold(u.Hostname(), "localhost") { // no name server decides
		limits.Allow = []string{u.Hostname()}
	}
	return limits
}

// Close closes idle connections.
func (c *Client) Close() { c.http.Close() }

// Sample asks the model one question. The error is a *tool.Error of code unavailable (no answer, no
// capacity), permission_denied (the key), not_found (the model or the endpoint), invalid_argument (the
// question), timeout or cancelled.
func (c *Client) Sample(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error) {
	body, err := c.question(request)
	if err != nil {
		return nil, err
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return nil, err
	}
	// Reasoning models require the newer name.
	if answer.StatusCode == http.StatusBadRequest && parseComplaint(answer.Body).Param == "max_tokens" {
		body.MaxCompletionTokens, body.MaxTokens = body.MaxTokens, 0
		if answer, err = c.post(ctx, body); err != nil {
			return nil, err
		}
	}
	if answer.StatusCode != http.StatusOK {
		return nil, c.refused(answer)
	}
	return c.read(answer.Body)
}

type chat struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	MaxTokens           int       `json:"max_tokens,omitempty"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitempty"`
	Stream              bool      `json:"stream"`
}

// message is a chat message. Content is a text, or parts.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type part struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *imagePart `json:"image_url,omitempty"`
	Audio *audioPart `json:"input_audio,omitempty"`
}

type imagePart struct {
	URL string `json:"url"`
}

type audioPart struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

// messageOf converts a part of a conversation. Such endpoints accept audio in two formats.
func messageOf(c tool.Content) (message, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	switch c.Kind {
	case tool.KindText:
		return message{c.Role, c.Text}, nil
	case tool.KindImage:
		return message{c.Role,
			[]part{{Type: "image_url", Image: &imagePart{"data:" + c.MIMEType + ";base64," + data}}}}, nil
	case tool.KindAudio:
		switch c.MIMEType {
		case "audio/wav", "audio/x-wav", "audio/wave":
			return message{c.Role, []part{{Type: "input_audio", Audio: &audioPart{data, "wav"}}}}, nil
		case "audio/mpeg", "audio/mp3":
			return message{c.Role, []part{{Type: "input_audio", Audio: &audioPart{data, "mp3"}}}}, nil
		}
	}
	return message{}, tool.Errorf(tool.Unsupported, "the model cannot be asked with %s of type %q", c.Kind, c.MIMEType).
		Suggest("Send texts, images, or audio as audio/wav or audio/mpeg.")
}

func (c *Client) question(request tool.SampleRequest) (chat, error) {
	body := chat{Model: c.options.Model, MaxTokens: request.MaxTokens}
	if body.MaxTokens <= 0 {
		body.MaxTokens = c.options.MaxTokens
	}
	if request.System != "" {
		body.Messages = append(body.Messages, message{"system", request.System})
	}
	for _, each := range request.Messages {
		made, err := messageOf(each)
		if err != nil {
			return chat{}, err
		}
		body.Messages = append(body.Messages, made)
	}
	if request.Prompt != "" || len(request.Messages) == 0 {
		body.Messages = append(body.Messages, message{"user", request.Prompt})
	}
	return body, nil
}

func (c *Client) post(ctx context.Context, body chat) (*netguard.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	for name, value := range c.options.Headers {
		header.Set(name, value)
	}
	if c.options.Key != "" {
		header.Set("Authorization", "Bearer "+c.options.Key)
	}
	answer, err := c.http.Fetch(ctx, netguard.Request{
		URL: c.endpoint, Method: http.MethodPost, Header: header, Body: tool.MustMarshal(body),
	})
	if err == nil {
		return answer, nil
	}
	e := tool.AsError(err)
	failed := tool.Errorf(e.Code, "the model %q cannot be asked: %w", c.options.Model, err)
	switch e.Code {
	case tool.Blocked:
		return nil, failed.Suggest("%s",
			c.place("If the endpoint is meant to be on a private network, the user adds private = true to the model block"))
	case tool.Cancelled, tool.Timeout:
		return nil, failed.Suggest("%s", c.place("Ask for less, or ask the user to raise timeout in the model block"))
	}
	return nil, failed.Suggest("%s",
		c.place("The user checks that the endpoint runs, and that url in the model block is its final address: "+
			"redirects are not followed"))
}

// place adds the declaration's place to a sentence.
func (c *Client) place(sentence string) string {
	if c.options.Place == "" {
		return sentence + "."
	}
	return sentence + " (" + c.options.Place + ")."
}

type completion struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

func (c *Client) read(body []byte) (*tool.SampleResponse, error) {
	var answer completion
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Choices) == 0 {
		if err == nil {
			err = errors.New("it holds no choices")
		}
		return nil, tool.Errorf(tool.Unavailable, "%s gave an answer that is not a chat completion: %w", c.host, err).
			Suggest("%s", c.place("The user checks that url in the model block is the base of an OpenAI-compatible endpoint"))
	}
	choice := answer.Choices[0]
	switch {
	case choice.Message.Content != "":
	case choice.Message.Refusal != "":
		return nil, tool.Errorf(tool.Unavailable, "the model %q declined to answer: %s", c.options.Model,
			choice.Message.Refusal).
			Suggest("Ask for something else.")
	case choice.FinishReason == "length":
		return nil, tool.Errorf(tool.Unavailable, "the model %q used up its tokens before it said anything",
			c.options.Model).
			Suggest("%s", c.place("The user raises max_tokens in the model block"))
	}
	if answer.Model == "" {
		answer.Model = c.options.Model
	}
	return &tool.SampleResponse{Text: choice.Message.Content, Model: answer.Model}, nil
}
