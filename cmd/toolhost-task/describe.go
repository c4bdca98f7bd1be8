package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/go-task/task/v3"
	taskerrors "github.com/go-task/task/v3/errors"

	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// describe prints the listing. An unreadable Taskfile is a listing too, with exit code 0.
func describe(ctx context.Context, req *request, stdout io.Writer) int {
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	if enc.Encode(listing(ctx, req)) != nil {
		return 1
	}
	return 0
}

func listing(ctx context.Context, req *request) (listing protocol.Listing) {
	defer func() {
		if p := recover(); p != nil {
			listing.Kind = protocol.Internal
			listing.Problem = &protocol.Problem{Message: fmt.Sprintf("go-task failed unexpectedly: %v", p)}
		}
	}()
	l, err := load(ctx, req)
	files := slices.Compact(slices.Sorted(slices.Values(l.files)))
	listing = protocol.Listing{Kind: protocol.OK, Commands: []protocol.Command{}, Files: files}
	switch {
	case err == nil && req.steps != "":
		listing.Steps, err = l.steps(req.steps)
	case err == nil:
		listing.Commands, err = l.commands()
	}
	if is[*taskerrors.TaskNotFoundError](err) {
		listing.Kind, err = protocol.NotFound, nil
	}
	if err != nil {
		report := classify(err)
		listing.Kind, listing.Commands, listing.Problem = report.Kind, []protocol.Command{}, report.Problem
		if listing.Problem == nil {
			listing.Problem = &protocol.Problem{Message: report.Message}
		}
	}
	return listing
}

func (l *loaded) commands() ([]protocol.Command, error) {
	tasks, err := l.executor.GetTaskList(task.FilterOutInternal, task.FilterOutNoDesc)
	if err != nil {
		return nil, err
	}
	commands := make([]protocol.Command, len(tasks))
	for i, t := range tasks {
		commands[i] = protocol.Command{Name: t.Task, Description: t.Desc, Aliases: t.Aliases}
	}
	return commands, nil
}
