package clemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

const todoKey = "todos"

type todoItem struct {
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

type todoInput struct {
	Todos []todoItem `json:"todos"`
}

func runTodo(ctx context.Context, _ Deps, call *tool.Call, in todoInput) (*outcome, error) {
	for i, item := range in.Todos {
		for _, field := range []struct{ name, value string }{{"content", item.Content},
			{"activeForm", item.ActiveForm}} {
			if strings.TrimSpace(field.value) == "" {
				path := fmt.Sprintf("todos[%d].%s", i, field.name)
				return nil, tool.Errorf(tool.InvalidArgument, "%s is empty", path).
					Suggest("Say what the step is; leave the item out if it is not a step.").With("path", path)
			}
		}
	}
	if err := call.State(tool.SessionScope).Set(ctx, todoKey,
		tool.MustMarshal(append([]todoItem{}, in.Todos...))); err != nil {
		return nil, err
	}
	for _, item := range in.Todos {
		if item.Status == "in_progress" {
			call.Progress(ctx, tool.Progress{Message: item.ActiveForm})
		}
	}
	return &outcome{data: map[string]any{"success": true, "count": len(in.Todos)}}, nil
}
