package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// rejectedBySDK is the SDK's error code for requests that could not be sent.
const rejectedBySDK = -32005

// unsure is the next step after a call with unknown outcome.
const unsure = "The next call connects again. Whether this call had an effect is not known: look before repeating it."

func closedError(name string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the MCP server %s was ended with the host",
		name).Suggest("Start toolhost again.")
}

// Resting returns the error of a call while the server must rest. Must be called with the lock held.
func (s *server) Resting(rest time.Duration) *tool.Error {
	return tool.Errorf(tool.Unavailable,
		"the MCP server %s failed %d times in a row and is not tried again for %s; the last failure: %s",
		s.spec.Name, s.Breaker.Failures(), rest.Round(100*time.Millisecond), s.LastError.Message).
		Suggest("Fix the server, or call again later.").With("server", s.spec.Name).With("retry_after_ms",
		rest.Milliseconds())
}

// explain returns an error that names the server and quotes its last output.
func (c *conn) explain(code tool.Code, message, next string) *tool.Error {
	lines := c.words.lines()
	if len(lines) > 0 {
		message += "; its last words:\n" + strings.Join(lines, "\n")
		if denied := c.server.client.options.Denied; denied != nil && c.process != nil {
			next = strings.TrimSpace(denied(c.server.spec, strings.Join(lines, "\n")) + " " + next)
		}
	}
	e := tool.Errorf(code, "%s", show.Sanitize(c.server.client.hide(message), show.MostText)).Suggest("%s",
		next).With("server", c.server.spec.Name)
	if c.process != nil && len(lines) > 0 {
		e = e.With("stderr", c.server.client.hide(strings.Join(lines, "\n")))
	}
	return e
}

func (c *conn) startError(err error, took time.Duration) *tool.Error {
	name := c.server.spec.Name
	if own, ok := errors.AsType[*tool.Error](err); ok && c.http != nil {
		return c.hidden(own)
	} else if ok {
		return c.explain(own.Code, fmt.Sprintf("the MCP server %s cannot be started: %s", name, own.Message),
			own.Suggestion)
	}
	switch {
	case c.server.isClosed():
		return closedError(name)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return c.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s did not answer within %s of its start", name,
				took.Round(100*time.Millisecond)),
			"Look into the log for what it does at its start, or give it a longer start_timeout.")
	case c.answered("the connection", err) != nil:
		return c.answered("the connection", err)
	case strings.Contains(err.Error(), "unsupported protocol version"): // then the SDK ends it
		return c.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s cannot be used: %v", name, err),
			"Update the server: it answers in a revision of MCP that toolhost does not speak.")
	case c.process != nil && c.exited(exitWait):
		return c.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s ended while it was started: %s", name, c.exitStatus()),
			"Run its command by hand to see what it complains of.")
	case c.http != nil && c.http.refused() != "":
		return c.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s refused the connection: %s", name, c.http.refused()),
			"Check the url and the headers of its mcp block.")
	}
	return c.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s cannot be reached: %v", name, err),
		"Check that it runs and that its mcp block in agent.hcl names it rightly.")
}

func (c *conn) endError(when string) *tool.Error {
	how := "the connection broke"
	switch {
	case c.deaf.Load():
		how = "toolhost ended it, because after a call that timed out it did not answer a ping either"
	case c.process != nil && c.exited(exitWait):
		how = c.exitStatus()
	}
	return c.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s %s: %s", c.server.spec.Name, when, how), unsure)
}

func (c *conn) exitStatus() string {
	result, err := c.process.Result()
	switch {
	case err != nil:
		return err.Error()
	case result.Signal != "":
		return "signal: " + result.Signal
	}
	return fmt.Sprintf("exit status %d", result.ExitCode)
}

// hidden redacts an error of the server's authorization.
func (c *conn) hidden(e *tool.Error) *tool.Error {
	clean := *e
	clean.Message = show.Sanitize(c.server.client.hide(e.Message), show.MostText)
	return &clean
}

// answered converts the server's error response; nil for other errors.
func (c *conn) answered(what string, err error) *tool.Error {
	rawResults, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rawResults.Code == rejectedBySDK {
		return nil
	}
	code, next := tool.CommandFailed, "This is what the server says; see what it wants instead."
	switch rawResults.Code {
	case jsonrpc.CodeInvalidParams:
		code, next = tool.InvalidArgument, "Fix the parameters as the server says."
	case jsonrpc.CodeMethodNotFound:
		code, next = tool.Unsupported, "The server does not offer this."
	}
	message := fmt.Sprintf("the MCP server %s refused %s: %s", c.server.spec.Name, what,
		show.Sanitize(rawResults.Message, show.MostMessage))
	e := tool.Errorf(code, "%s", c.server.client.hide(message)).Suggest("%s", next)
	return e.With("server", c.server.spec.Name).With("rpc_code", rawResults.Code)
}
