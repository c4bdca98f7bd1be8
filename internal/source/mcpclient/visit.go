package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/idna"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/loopback"
)

const (
	// maxURL bounds the URL of a page to visit.
	maxURL = 4096
	// visitWait is how long a call waits for the end of a visit before it is repeated anyway: servers need not
	// report it.
	visitWait = 2 * time.Minute
)

// visit asks the user to visit a page that the server names. Only the user sees it: a server may ask there for what
// no form may.
func (s *server) visit(p *mcp.ElicitParams) (tool.Form, error) {
	page, domain, err := pageOf(p.URL)
	if err != nil {
		return tool.Form{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "the user is not asked to visit this URL: " + err.Error()}
	}
	return tool.Form{URL: page,
		Message: fmt.Sprintf("The MCP server %s asks you to visit a page of %s: %s", s.spec.Name, domain,
			show.Sanitize(p.Message, show.MostMessage))}, nil
}

// pageOf returns a URL that cannot deceive people, and its host name, both in ASCII.
func pageOf(text string) (page, domain string, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL || u.Hostname() == "":
		return "", "", fmt.Errorf("it is not a valid URL, or longer than %d bytes", maxURL)
	case u.User != nil:
		return "", "", errors.New("it holds a user name, which can pass for the host's")
	}
	domain = u.Hostname()
	if net.ParseIP(domain) == nil {
		if domain, err = idna.Lookup.ToASCII(domain); err != nil {
			return "", "", fmt.Errorf("its host is not a valid name: %w", err)
		}
		if port := u.Port(); port != "" {
			u.Host = net.JoinHostPort(domain, port)
		} else {
			u.Host = domain
		}
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback.Is(domain)) {
		return "", "", errors.New("it is not https")
	}
	return u.String(), domain, nil
}

// required returns the pages to be visited before the server accepts a call, if err says so.
func required(err error) []*mcp.ElicitParams {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || refusal.Code != mcp.CodeURLElicitationRequired {
		return nil
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	_ = json.Unmarshal(refusal.Data, &data)
	return data.Elicitations
}

// visitAll asks the user to visit pages, and waits until the server reports their end, up to visitWait.
func (f *pendingCall) visitAll(ctx context.Context, pages []*mcp.ElicitParams) error {
	done := make([]<-chan struct{}, len(pages))
	for i, page := range pages {
		var forget func()
		done[i], forget = f.conn.visits.expect(page.ElicitationID)
		defer forget()
	}
	for _, page := range pages {
		form, err := f.conn.server.visit(page)
		if err != nil {
			return tool.Errorf(tool.Blocked, "the MCP server %s wants the user to visit a page: %w",
				f.conn.server.spec.Name, err).
				Suggest("Tell the operator of that server.")
		}
		answer, err := f.askUser(ctx, form)
		if err != nil {
			return err
		}
		if !answer.Accepted() {
			return tool.Errorf(tool.Denied, "the user did not agree: %s",
				form.Message).Suggest("Do it another way, or ask the user.")
		}
	}
	late := time.NewTimer(visitWait)
	defer late.Stop()
	for _, each := range done {
		select {
		case <-each:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *conn) stillRequired(pages []*mcp.ElicitParams) *tool.Error {
	_, domain, _ := pageOf(pages[0].URL)
	return tool.Errorf(tool.Unavailable, "the MCP server %s waits for what the user is to do at %s", c.server.spec.Name,
		domain).
		Suggest("Call again when the user has done it.").With("server", c.server.spec.Name)
}

// mostEarly bounds the unexpected ends of visits.
const mostEarly = 100

// visits are the pages that users were sent to and that a server may report as done.
type visits struct {
	mu      sync.Mutex
	waiting map[string]chan struct{} // by elicitation id
	early   []string                 // done before expected, newest last
}

// expect returns a channel that is closed when the visit is done, perhaps already: the server's report can overtake
// its refusal.
func (v *visits) expect(id string) (done <-chan struct{}, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waiting == nil {
		v.waiting = make(map[string]chan struct{})
	}
	c := make(chan struct{})
	if i := slices.Index(v.early, id); i >= 0 {
		v.early = slices.Delete(v.early, i, i+1)
		close(c)
		return c, func() {}
	}
	v.waiting[id] = c
	return c, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waiting[id] == c {
			delete(v.waiting, id)
		}
	}
}

func (v *visits) done(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.waiting[id]; ok {
		close(c)
		delete(v.waiting, id)
	} else if len(id) <= maxURL && !slices.Contains(v.early, id) {
		v.early = append(v.early[max(0, len(v.early)+1-mostEarly):], id)
	}
}
