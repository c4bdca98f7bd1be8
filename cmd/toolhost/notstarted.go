package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// notStartedTool is offered instead of all other tools if the server cannot start: if it ended, clients would
// show only a closed connection.
const notStartedTool = "toolhost_not_started"

// notStarted is the tool notStartedTool and its source.
type notStarted struct{ text string }

func (n *notStarted) Name() string { return "builtin" }

func (n *notStarted) Tools(context.Context) ([]tool.Tool, error) { return []tool.Tool{n}, nil }

// Definition implements tool.Tool.
func (n *notStarted) Definition() *tool.Definition {
	return &tool.Definition{
		Name:  notStartedTool,
		Title: "toolhost could not start",
		Description: "toolhost could not start here, so that no other tool is offered. Tell the user. " +
			"Returns: why, and what the user has to do.",
		Risk: tool.ReadOnly, Idempotent: true,
	}
}

// Call implements tool.Tool.
func (n *notStarted) Call(context.Context, *tool.Call) (*tool.Result, error) {
	return tool.Text(n.text), nil
}

// serveNotStarted tells a client why the server cannot start, by its only tool, until the client ends.
func (a *app) serveNotStarted(ctx context.Context, why error) error {
	a.printError(why) // the client may stay for hours
	e := tool.AsError(why)
	text := strings.TrimSpace(e.Message + "\n" + e.Suggestion)
	h, err := host.New(ctx, host.Options{Root: os.TempDir(), Sources: []host.Source{&notStarted{text}}})
	if err != nil {
		return errors.Join(why, err)
	}
	server := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: version(), Logger: a.logger,
		Instructions: func(context.Context) string {
			return "toolhost could not start here. Call " + notStartedTool + " and tell the user what it says."
		}})
	if err := server.ServeStdio(ctx, a.in, a.out); err != nil {
		return errors.Join(why, err)
	}
	return &exitError{code: codeOf(why)}
}
