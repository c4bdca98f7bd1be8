package netguard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard/webtext"
)

// Request is one fetch.
type Request struct {
	// URL is http or https, without credentials.
	URL string
	// Method is the HTTP method; by default GET.
	Method string
	// Header holds further headers. Accept-Encoding is ignored: the client decompresses.
	Header http.Header
	// Body is the request's body.
	Body []byte
	// MaxBytes bounds the body after decompression; by default the client's.
	MaxBytes int64
	// Truncate truncates a larger body instead of failing with too_large.
	Truncate bool
	// Timeout bounds the whole fetch; by default the client's.
	Timeout time.Duration
	// Check, unless nil, checks the status and headers before the body is read. Its error ends the fetch and is
	// returned unchanged.
	Check func(*Response) error
}

// Response is a server's response.
type Response struct {
	// URL is the response's, after redirects.
	URL string
	// Redirects are the statuses of the redirects followed.
	Redirects  []int
	StatusCode int
	Header     http.Header
	// Length is the announced size of the body, -1 if not announced or compressed.
	Length int64
	// Body is the decompressed body.
	Body []byte
	// Truncated is set if Body is only the beginning.
	Truncated bool
}

// MediaType is the media type without parameters, in lower case, by default detected from the body.
func (r *Response) MediaType() string {
	header := r.Header.Get("Content-Type")
	if header == "" {
		header = http.DetectContentType(r.Body)
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil && mediaType == "" {
		mediaType, _, _ = strings.Cut(header, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	}
	return mediaType
}

// Textual reports whether the media type is one of text.
func (r *Response) Textual() bool {
	media := r.MediaType()
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/javascript", "application/yaml",
			"application/x-yaml", "application/toml", "application/x-sh"}, media)
}

// Text returns the body as UTF-8, decoded by the charset of the headers, a byte order mark or the document
// itself. Invalid bytes become U+FFFD. It may be up to three times as large as Body.
func (r *Response) Text() string {
	text, _ := webtext.Decode(r.Body, r.Header.Get("Content-Type"))
	if r.Truncated {
		text = strings.TrimSuffix(text, string(utf8.RuneError))
	}
	return text
}

// The causes with which a fetch ends its own context.
var (
	errTimeout = errors.New("the fetch took too long")
	errIdle    = errors.New("the server fell silent")
)

// Fetch sends the request, follows redirects and reads the body. A response of any status is not an error.
// Errors: invalid_argument (the URL), blocked (the address, port or redirect), timeout, cancelled, too_large,
// unsupported (an unrequested compression) or unavailable (with the reason in the detail "reason").
func (c *Client) Fetch(ctx context.Context, request Request) (*Response, error) {
	target, err := c.parseTarget(request.URL)
	if err != nil {
		return nil, err
	}
	limit := request.Timeout
	orElse(&limit, c.opts.Timeout)
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	req, err := c.newRequest(ctx, target.String(), request)
	if err != nil {
		return nil, badURL(request.URL, "no request can be made of it")
	}
	response, err := c.exchange(req, request, cancel)
	if err != nil {
		return nil, explain(ctx, target.Host, limit, err)
	}
	return response, nil
}

func (c *Client) newRequest(ctx context.Context, target string, request Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, request.Method, target, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	if request.Header != nil {
		req.Header = request.Header.Clone()
	}
	req.Header.Del("Accept-Encoding")
	req.Header.Del("Host")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.opts.UserAgent)
	}
	return req, nil
}

func (c *Client) exchange(req *http.Request, request Request, cancel context.CancelCauseFunc) (*Response, error) {
	answer, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	response := &Response{
		URL:        answer.Request.URL.String(),
		Redirects:  redirects(answer.Request),
		StatusCode: answer.StatusCode,
		Header:     answer.Header,
		Length:     answer.ContentLength,
	}
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, tool.Errorf(tool.Unsupported, "%s answers with the encoding %q, which was not asked for",
			req.URL.Host, encoding).
			Suggest("Fetch another page.")
	}
	if request.Check != nil {
		if err := request.Check(response); err != nil {
			return nil, refusal{err}
		}
	}
	return response, c.readBody(response, answer.Body, request, cancel)
}

func redirects(req *http.Request) []int {
	var statuses []int
	for req.Response != nil {
		statuses = append([]int{req.Response.StatusCode}, statuses...)
		req = req.Response.Request
	}
	return statuses
}

func (c *Client) readBody(response *Response, body io.Reader, request Request, cancel context.CancelCauseFunc) error {
	limit := request.MaxBytes
	if limit <= 0 {
		limit = c.opts.MaxBytes
	}
	if response.Length > limit && !request.Truncate && request.Method != http.MethodHead {
		return tooLarge(response, limit)
	}
	watch := time.AfterFunc(c.opts.IdleTimeout, func() { cancel(errIdle) })
	defer watch.Stop()
	data, err := io.ReadAll(io.LimitReader(&watched{body, watch, c.opts.IdleTimeout}, limit+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > limit {
		if !request.Truncate {
			return tooLarge(response, limit)
		}
		data, response.Truncated = data[:limit], true
	}
	response.Body = data
	return nil
}

// watched resets the idle timer after each read.
type watched struct {
	r     io.Reader
	watch *time.Timer
	idle  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.watch.Reset(w.idle)
	}
	return n, err
}
