package cliagent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	// sniffed is how much of a page is checked for text, in bytes.
	sniffed = 8 << 10
	// maxPage limits a fetched page: 1 MB.
	maxPage         = 1 << 20
	maxFetchSeconds = 60
)

type fetchParams struct {
	URL     string  `json:"url"`
	Timeout integer `json:"timeout_seconds"`
}

type fetchMetadata struct {
	URL           string `json:"url"`
	StatusCode    int    `json:"status_code"`
	ContentLength int64  `json:"content_length"`
	ContentType   string `json:"content_type"`
}

func runFetch(ctx context.Context, deps Deps, _ *tool.Call, p fetchParams) (*outcome, error) {
	if deps.Web == nil {
		return nil, tool.Errorf(tool.Unavailable, "fetch_webpage has no access to the web").
			Suggest("Ask the operator to allow it.")
	}
	limit := time.Duration(p.Timeout) * time.Second
	started := time.Now()
	page, err := deps.Web.Fetch(ctx, netguard.Request{URL: p.URL, Timeout: limit, MaxBytes: maxPage, Truncate: true})
	if err != nil {
		return nil, p.failure(err, time.Since(started) >= limit)
	}
	o := p.report(page)
	if page.StatusCode >= http.StatusMultipleChoices { // also a redirect without a target
		return o, tool.Errorf(codeNetworkError, "Failed to fetch - the server answered with status %s",
			strings.TrimSpace(fmt.Sprintf("%d %s", page.StatusCode, http.StatusText(page.StatusCode)))).
			Suggest("Check the URL, or try another page.").With("status_code", page.StatusCode)
	}
	return o, nil
}

func (p fetchParams) failure(err error, late bool) error {
	e := tool.AsError(err)
	switch {
	case e.Code == tool.InvalidArgument:
		return tool.Errorf(codeInvalidURL, "Invalid URL format").Suggest("%s. %s", kit.Capital(e), e.Suggestion)
	case e.Code == tool.Timeout && late:
		return tool.Errorf(codeTimeout, "Request timed out after %d seconds", p.Timeout).
			Suggest("Give it more time with timeout_seconds (up to %d), or try again later.", maxFetchSeconds)
	case e.Code == tool.Cancelled:
		return e
	}
	reason, ok := e.Details["reason"].(string)
	if !ok || e.Code != tool.Unavailable {
		reason = e.Message
	}
	code := codeNetworkError
	if e.Code == tool.Timeout {
		code = codeTimeout
	}
	return tool.Errorf(code, "Failed to fetch - %s", reason).Suggest("%s", e.Suggestion)
}

func (p fetchParams) report(page *netguard.Response) *outcome {
	size := int64(len(page.Body))
	if page.Truncated {
		size = max(size, page.Length)
	}
	o := &outcome{
		Outcome:  kit.Outcome{Truncated: page.Truncated},
		output:   fmt.Sprintf("Fetched content from %s (%s)\n", p.URL, sizeText(size)),
		metadata: fetchMetadata{p.URL, page.StatusCode, size, page.MediaType()},
	}
	if page.Truncated {
		o.output += fmt.Sprintf("Error: Response too large (>1MB), truncating\n%s\n", leftOutOf(page))
	}
	if isText(page) {
		o.output += page.Text()
	} else {
		o.output += fmt.Sprintf("[the content is %s, which is not text and is not shown]\n", page.MediaType())
	}
	return o
}

func leftOutOf(page *netguard.Response) string {
	if left := page.Length - int64(len(page.Body)); left > 0 {
		return fmt.Sprintf("The first %d bytes are shown, %d more are left out.", len(page.Body), left)
	}
	return fmt.Sprintf("The first %d bytes are shown; how many more there are is not known.", len(page.Body))
}

// isText reports whether a page can be shown. UTF-16 text has NULs too.
func isText(page *netguard.Response) bool {
	return strings.HasPrefix(page.MediaType(), "text/") ||
		!bytes.Contains(page.Body[:min(len(page.Body), sniffed)], []byte{0})
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
