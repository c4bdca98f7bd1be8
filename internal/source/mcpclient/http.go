package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
	"github.com/toolhost/toolhost/internal/text/jsonlines"
)

// httpClient sends the requests to one URL. It adds the headers, bounds the responses and notes results.
type httpClient struct {
	spec       Spec
	host       string
	rawResults *rawResults
	limit      int
	base       *http.Transport
	oauth      *oauth.Server // nil if no login is made

	mu     sync.Mutex
	status int // of the last answer, or 0
	text   string
	open   map[string]context.CancelFunc // requests under way, by id
}

func newHTTPClient(spec Spec, w *rawResults, limit int) *httpClient {
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20,
	}
	c := &httpClient{spec: spec, rawResults: w, limit: limit, base: base, open: make(map[string]context.CancelFunc)}
	if u, err := url.Parse(spec.URL); err == nil {
		c.host = u.Host
	}
	return c
}

// client returns the http.Client for the SDK. It does not follow redirects to another host: the headers are for
// this one.
func (c *httpClient) client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != c.host || len(via) > 5 {
			return errors.New("the server redirects to " + r.URL.Host)
		}
		return nil
	}}
}

// RoundTrip implements http.RoundTripper.
func (c *httpClient) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != c.host {
		return nil, errors.New("a request to another host than the server's: " + request.URL.Host)
	}
	request = request.Clone(request.Context())
	for name, value := range c.spec.Headers {
		request.Header.Set(name, value)
	}
	message, err := sentIn(request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(request.Context())
	asked := c.noteSent(message, cancel)
	body := boundedBody{client: c, asked: asked, ctx: ctx, cancel: cancel}
	response, err := c.base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		body.over()
		return nil, err
	}
	body.ReadCloser = response.Body
	c.recordStatus(response)
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if media == "text/event-stream" {
		response.Body = &eventBody{boundedBody: body}
	} else {
		response.Body = &wholeBody{boundedBody: body}
		response.ContentLength = -1
	}
	return response, nil
}

func sentIn(request *http.Request) (*jsonrpc.Request, error) {
	if request.Method != http.MethodPost || request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close()
	if err != nil {
		return nil, err
	}
	message, _ := jsonrpc.DecodeMessage(body)
	if response, ok := message.(*jsonrpc.Response); ok {
		if body, err = rpcid.Encode(response); err != nil {
			return nil, err
		}
		request.ContentLength, request.GetBody = int64(len(body)), nil
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	r, _ := message.(*jsonrpc.Request)
	return r, nil
}

// noteSent notes a message, and returns its id if it expects a response. In the newest revision ending a request
// cancels it, which the SDK does not do, so notifications/cancelled is handled here.
func (c *httpClient) noteSent(r *jsonrpc.Request, cancel context.CancelFunc) *jsonrpc.ID {
	if r == nil {
		return nil
	}
	if r.IsCall() {
		c.rawResults.sent(r.ID, r.Method, r.Params)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[key(r.ID)] = cancel
		return &r.ID
	}
	var cancelled struct {
		ID json.RawMessage `json:"requestId"`
	}
	if r.Method == "notifications/cancelled" && json.Unmarshal(r.Params, &cancelled) == nil {
		if id, err := rpcid.Of(cancelled.ID); err == nil {
			c.mu.Lock()
			stop := c.open[key(id)]
			c.mu.Unlock()
			if stop != nil {
				time.AfterFunc(cancelGrace, stop) // older revisions use the message
			}
		}
	}
	return nil
}

// cancelGrace is the time between the cancelling message and the end of the request.
const cancelGrace = 50 * time.Millisecond

func (c *httpClient) recordStatus(response *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.text = response.StatusCode, response.Status
}

// refused returns the status of the last response if it was a refusal.
func (c *httpClient) refused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status < 400 {
		return ""
	}
	return c.text
}

// mayBeProtocol reports whether a failure may be due to the protocol version: the server answered, but did not
// refuse access.
func (c *httpClient) mayBeProtocol() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status != 0 && c.status != http.StatusUnauthorized && c.status != http.StatusForbidden
}

func (c *httpClient) clean(data []byte) []byte {
	if c.oauth == nil {
		return data
	}
	return c.oauth.Hide(data)
}

// messages notes the responses in data, and returns data without its unreadable parts.
func (c *httpClient) messages(data []byte) []byte {
	parts := jsonlines.Split(bytes.TrimSpace(data))
	for _, part := range parts {
		message, err := rpcid.Decode(part)
		if err != nil {
			continue
		}
		changed := false
		switch m := message.(type) {
		case *jsonrpc.Response:
			whole := m.Result
			m.Result = c.rawResults.received(m.ID, json.RawMessage(bytes.Clone(whole)))
			changed = !bytes.Equal(whole, m.Result)
		case *jsonrpc.Request:
			changed = keepNumbers(m) || m.Method == "notifications/cancelled" || !rpcid.Plain(rpcid.Raw(m.ID))
		}
		if len(parts) > 1 || !changed {
			continue
		}
		if clean, err := jsonrpc.EncodeMessage(message); err == nil { // the SDK reads the id that rpcid made
			return clean
		}
	}
	return data
}
