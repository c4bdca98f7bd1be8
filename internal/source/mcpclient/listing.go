package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// Bounds of a listing.
const (
	maxTools = 2000
	maxPages = 200
)

// listing is a server's description of itself.
type listing struct {
	Server       string         `json:"server,omitempty"`
	Version      string         `json:"version,omitempty"`
	Protocol     string         `json:"protocol,omitempty"` // agreed on
	Pinned       string         `json:"pinned,omitempty"`   // if the newest failed
	Instructions string         `json:"instructions,omitempty"`
	Tools        []upstreamTool `json:"tools"`
}

type upstreamTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations annotations     `json:"annotations"`
}

// annotations are a tool's effects according to the server. By default: destructive, not idempotent, open world.
type annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

func (l *listing) digest() string {
	sum := sha256.Sum256(tool.MustMarshal(l.Tools))
	return hex.EncodeToString(sum[:16])
}

// list asks the server for its tools, page by page.
func (c *conn) list(ctx context.Context) (*listing, error) {
	found := &listing{Tools: []upstreamTool{}}
	if about := c.session.InitializeResult(); about != nil {
		found.Protocol, found.Instructions = about.ProtocolVersion, about.Instructions
		if about.ServerInfo != nil {
			found.Server, found.Version = about.ServerInfo.Name, about.ServerInfo.Version
		}
		if about.Capabilities != nil && about.Capabilities.Tools == nil {
			return found, nil
		}
	}
	err := pages("tools", func(cursor string) (string, error) {
		page, next, err := c.listPage(ctx, cursor)
		found.Tools = append(found.Tools, page...)
		if len(found.Tools) > maxTools {
			return "", fmt.Errorf("the server lists more than %d tools", maxTools)
		}
		return next, err
	})
	if err != nil {
		return nil, err
	}
	found.sanitize()
	return found, nil
}

// pages calls read for each page of a list, until one has no next or names itself.
func pages(what string, read func(cursor string) (next string, err error)) error {
	cursor := ""
	for range maxPages {
		next, err := read(cursor)
		if err != nil || next == "" || next == cursor {
			return err
		}
		cursor = next
	}
	return fmt.Errorf("the server's list of %s has more than %d pages", what, maxPages)
}

// listPage returns one page of tools, as the server wrote them.
func (c *conn) listPage(ctx context.Context, cursor string) (tools []upstreamTool, next string, err error) {
	token := c.server.calls.newToken()
	params := &mcp.ListToolsParams{Cursor: cursor}
	params.SetProgressToken(token)
	result, err := c.session.ListTools(ctx, params)
	raw, large := c.rawResults.popResult(token)
	switch {
	case large:
		return nil, "", c.tooLarge()
	case err != nil:
		return nil, "", err
	}
	var page struct {
		Tools []upstreamTool `json:"tools"`
	}
	if len(raw) == 0 { // kept from before by the SDK
		raw = tool.MustMarshal(result)
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("the server's list of tools cannot be read: %w", err)
	}
	return usable(page.Tools, result), result.NextCursor, nil
}

// usable drops the tools that the SDK dropped: those whose parameters cannot be mirrored in headers as
// required.
func usable(tools []upstreamTool, result *mcp.ListToolsResult) []upstreamTool {
	kept := make(map[string]bool, len(result.Tools))
	for _, t := range result.Tools {
		kept[t.Name] = true
	}
	return slices.DeleteFunc(tools, func(t upstreamTool) bool { return !kept[t.Name] })
}

// listAgain lists the tools after a change.
func (c *conn) listAgain() {
	select {
	case <-c.ready:
	case <-c.ctx.Done():
	}
	if c.failure != nil || c.Gone() || c.ctx.Err() != nil {
		return
	}
	c.relisting.Lock()
	defer c.relisting.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, DefaultStartTimeout)
	defer cancel()
	found, err := c.list(ctx)
	if c.stopping.Load() || c.ctx.Err() != nil || c.Gone() {
		return
	}
	if err != nil {
		c.server.client.logger.Warn("the changed tools of an MCP server could not be listed", "server",
			c.server.spec.Name, "error", err)
		return
	}
	c.server.Lock()
	if known := c.server.listing; known != nil {
		found.Pinned = known.Pinned
	}
	c.server.Unlock()
	c.server.learn(found)
}

func (s *server) tools(ctx context.Context) ([]tool.Tool, error) {
	found, ok := s.known()
	if !ok {
		var err error
		if err = s.load(ctx); err == nil || found == nil {
			s.Lock()
			found = s.listing
			s.Unlock()
		}
		if found == nil {
			s.offer("none")
			return nil, err
		}
	}
	s.offer(found.digest())
	return s.remoteTools(found), nil
}

func (s *server) offer(digest string) {
	s.Lock()
	defer s.Unlock()
	s.offered = digest
}

// load connects, waiting at most the options' patience. Connecting continues afterwards.
func (s *server) load(ctx context.Context) error {
	patience := s.client.options.Patience
	if patience < 0 {
		return s.whyUnknown()
	}
	s.Lock()
	recent := s.recent
	s.recent = nil
	s.Unlock()
	if recent != nil {
		if patience > 0 {
			go func() { _, _ = s.acquire(context.WithoutCancel(ctx)) }()
		}
		return recent
	}
	waiting := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	_, err := s.acquire(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return s.unknown(fmt.Sprintf("it is still starting after %s", patience.Round(time.Millisecond)))
	}
	return err
}

// whyUnknown explains why there are no tools, without trying to list them.
func (s *server) whyUnknown() *tool.Error {
	s.Lock()
	defer s.Unlock()
	switch {
	case s.Current != nil:
		return s.unknown("it is still starting")
	case s.LastError != nil:
		return s.LastError
	}
	return s.unknown("its tools are not known yet")
}

func (s *server) unknown(why string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the MCP server %s gives no tools yet: %s", s.spec.Name, why).
		Suggest("List the tools again later; toolhost doctor says how it is.").With("server", s.spec.Name)
}
