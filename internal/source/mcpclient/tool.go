package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// pingWait is how long a server whose call timed out has to answer a ping.
const pingWait = 5 * time.Second

// endWait is how long a failed request waits for the connection to end.
const endWait = 200 * time.Millisecond

type remoteTool struct {
	server     *server
	name       string // at the server
	definition *tool.Definition
	declared   *upstreamTool
	losses     []schema.Loss // of its schemas
}

// Declared returns the server's own name for the tool, and the tool as the server describes it.
func (t *remoteTool) Declared() (string, any) { return t.name, t.declared }

// Warning says which keywords the tool's schemas lose, nil if none.
func (t *remoteTool) Warning() *tool.Error {
	if len(t.losses) == 0 {
		return nil
	}
	return tool.Errorf(tool.Unsupported, "the tool %q of %s goes without a part of its schema: %s", t.definition.Name,
		t.server.source(), show.SanitizeLine(schema.Told(t.losses), show.MostText)).
		Suggest("The rest of the schema is used, and the server still checks all of it. Tell its author.")
}

// Definition implements tool.Tool.
func (t *remoteTool) Definition() *tool.Definition { return t.definition }

// Unavailable returns why a call would fail now, nil if unknown.
func (t *remoteTool) Unavailable() *tool.Error {
	t.server.Lock()
	defer t.server.Unlock()
	return t.server.LastError
}

// Call implements tool.Tool. It connects if necessary.
func (t *remoteTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	if serving := t.server.client.options.Serving; serving != nil {
		defer serving(ctx, t.server.spec.Name)()
	}
	if _, err := t.server.acquire(ctx); err != nil {
		return nil, err
	}
	if t.server.saysElse(t.declared) {
		return nil, tool.Errorf(tool.NeedsConfirmation,
			"the tool %q of the MCP server %s says something else of itself than when it was "+
				"listed, so it was not called", t.name, t.server.spec.Name).
			Suggest("List the tools again. If it is left out, the user approves the change with toolhost trust tools.")
	}
	return t.server.call(ctx, t.name, call)
}

// saysElse reports whether the server now describes the tool differently.
func (s *server) saysElse(then *upstreamTool) bool {
	s.Lock()
	defer s.Unlock()
	if s.listing == nil {
		return false
	}
	i := slices.IndexFunc(s.listing.Tools, func(t upstreamTool) bool { return t.Name == then.Name })
	return i >= 0 && &s.listing.Tools[i] != then && !bytes.Equal(s.listing.Tools[i].meaning(), then.meaning())
}

// meaning returns the tool in a form that does not depend on how the server writes it.
func (t *upstreamTool) meaning() []byte {
	text := tool.MustMarshal(t)
	plain, err := exact.Value(text)
	if err != nil {
		return text
	}
	return tool.MustMarshal(plain)
}

// call calls a tool of the server, or continues a call that asked the user.
func (s *server) call(ctx context.Context, name string, call *tool.Call) (*tool.Result, error) {
	f := s.calls.resume(name, call)
	if f == nil {
		l, err := s.acquire(ctx)
		if err != nil {
			return nil, err
		}
		var trace map[string]any
		if s.client.options.Trace != nil {
			trace = s.client.options.Trace(ctx)
		}
		f = s.calls.begin(l, name, call, trace)
	}
	return f.follow(ctx, call)
}

// roundTrip makes the call and waits for the result, however often the user is asked.
func (f *pendingCall) roundTrip(ctx context.Context) (*tool.Result, error) {
	params := &mcp.CallToolParams{Meta: mcp.Meta(f.trace), Name: f.tool, Arguments: f.params}
	params.SetProgressToken(f.token)
	result, err := f.conn.session.CallTool(ctx, params)
	raw, large := f.conn.rawResults.popResult(f.token)
	if pages := required(err); len(pages) > 0 {
		if err := f.visitAll(ctx, pages); err != nil {
			return nil, err
		}
		result, err = f.conn.session.CallTool(ctx, params)
		raw, large = f.conn.rawResults.popResult(f.token)
		if pages := required(err); len(pages) > 0 {
			return nil, f.conn.stillRequired(pages)
		}
	}
	switch {
	case large:
		return nil, f.conn.tooLarge()
	case err == nil:
		f.conn.server.Succeeded()
		return f.conn.result(f.tool, result, raw), nil
	}
	return nil, f.conn.callError(ctx, f.tool, err)
}

func (c *conn) callError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			go c.checkAlive()
		}
		return ctx.Err()
	}
	if own, ok := errors.AsType[*tool.Error](err); ok && c.http != nil {
		return c.hidden(own)
	}
	if answered := c.answered(what, err); answered != nil {
		c.server.Succeeded()
		return answered
	}
	if c.server.isClosed() {
		return closedError(c.server.spec.Name)
	}
	if errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || c.endsSoon() {
		failure := c.endError("broke off during the call")
		c.server.ended(c, "ended")
		return failure
	}
	return c.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s did not answer: %v", c.server.spec.Name, err),
		unsure)
}

// endsSoon reports whether the connection has ended or is about to: a write may fail before its end is seen.
func (c *conn) endsSoon() bool {
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}

// checkAlive ends a server that does not answer a ping: the next call gets a new one.
func (c *conn) checkAlive() {
	if c.Gone() || c.stopping.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, pingWait)
	defer cancel()
	err := c.ping(ctx)
	if err != nil && c.ctx.Err() == nil && c.answered("a ping", err) == nil {
		c.server.abandon(c, c.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s did not answer in time and was ended", c.server.spec.Name), unsure))
	}
}

// ping makes the cheapest request: the newest revision has no ping.
func (c *conn) ping(ctx context.Context) error {
	if about := c.session.InitializeResult(); about != nil && about.ProtocolVersion <= olderProtocol {
		return c.session.Ping(ctx, nil)
	}
	_, err := c.session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt"}})
	return err
}
