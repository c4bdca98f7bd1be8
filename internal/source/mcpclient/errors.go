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

// rejectedBySDK is the code of errors that the SDK makes itself where a request
// could not be sent.
const rejectedBySDK = -32005

// unsure is the next step after a call whose fate is not known.
const unsure = "The next call connects again. Whether this call had an effect is not known: look before repeating it."

func closedError(name string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the MCP server %s was ended with the host",
		name).Suggest("Start toolhost again.")
}

// resting is the error of a call that comes while the server may not be tried.
// The lock is held.
func (s *server) Resting(rest time.Duration) *tool.Error {
	return tool.Errorf(tool.Unavailable,
		"the MCP server %s failed %d times in a row and is left alone for another %s; the last failure: %s",
		s.spec.Name, s.Breaker.Failures(), rest.Round(100*time.Millisecond), s.LastError.Message).
		Suggest("Fix the server, or call again later.").With("server", s.spec.Name).With("retry_after_ms",
		rest.Milliseconds())
}

// explain makes an error that names the server and quotes its last words.
func (l *link) explain(code tool.Code, message, next string) *tool.Error {
	lines := l.words.lines()
	if len(lines) > 0 {
		message += "; its last words:\n" + strings.Join(lines, "\n")
		if denied := l.server.client.options.Denied; denied != nil && l.process != nil {
			next = strings.TrimSpace(denied(l.server.spec, strings.Join(lines, "\n")) + " " + next)
		}
	}
	e := tool.Errorf(code, "%s", show.Sanitize(l.server.client.hide(message), show.MostText)).Suggest("%s",
		next).With("server", l.server.spec.Name)
	if l.process != nil && len(lines) > 0 {
		e = e.With("stderr", l.server.client.hide(strings.Join(lines, "\n")))
	}
	return e
}

// startError says why connecting failed.
func (l *link) startError(err error, took time.Duration) *tool.Error {
	name := l.server.spec.Name
	if own, ok := errors.AsType[*tool.Error](err); ok && l.http != nil {
		return l.hidden(own)
	} else if ok {
		return l.explain(own.Code, fmt.Sprintf("the MCP server %s cannot be started: %s", name, own.Message),
			own.Suggestion)
	}
	switch {
	case l.server.isClosed():
		return closedError(name)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return l.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s did not answer within %s of its start", name,
				took.Round(100*time.Millisecond)),
			"Look into the log for what it does at its start, or give it a longer start_timeout.")
	case l.answered("the connection", err) != nil:
		return l.answered("the connection", err)
	case l.process != nil && l.exited(exitWait):
		return l.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s ended while it was started: %s", name, l.exitStatus()),
			"Run its command by hand to see what it complains of.")
	case l.http != nil && l.http.refused() != "":
		return l.explain(tool.Unavailable,
			fmt.Sprintf("the MCP server %s refused the connection: %s", name, l.http.refused()),
			"Check the url and the headers of its mcp block.")
	}
	return l.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s cannot be reached: %v", name, err),
		"Check that it runs and that its mcp block in agent.hcl names it rightly.")
}

// endError is the error of a connection that ended by itself.
func (l *link) endError(when string) *tool.Error {
	how := "the connection broke"
	if l.process != nil && l.exited(exitWait) {
		how = l.exitStatus()
	}
	return l.explain(tool.Unavailable, fmt.Sprintf("the MCP server %s %s: %s", l.server.spec.Name, when, how), unsure)
}

// exitStatus says how a process that has ended did so.
func (l *link) exitStatus() string {
	result, err := l.process.Result()
	switch {
	case err != nil:
		return err.Error()
	case result.Signal != "":
		return "signal: " + result.Signal
	}
	return fmt.Sprintf("exit status %d", result.ExitCode)
}

// hidden is an error of the server's authorization without secrets.
func (l *link) hidden(e *tool.Error) *tool.Error {
	clean := *e
	clean.Message = show.Sanitize(l.server.client.hide(e.Message), show.MostText)
	return &clean
}

// answered turns an error that the server answered with into one of ours, nil
// when err is none.
func (l *link) answered(what string, err error) *tool.Error {
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
	message := fmt.Sprintf("the MCP server %s refused %s: %s", l.server.spec.Name, what,
		show.Sanitize(rawResults.Message, show.MostMessage))
	e := tool.Errorf(code, "%s", l.server.client.hide(message)).Suggest("%s", next)
	return e.With("server", l.server.spec.Name).With("rpc_code", rawResults.Code)
}
