package clemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// todoKey is where the list is kept in the session.
const todoKey = "todos"

func todoWrite(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runTodo, definition: &tool.Definition{
		Name: "todo_write", Title: "Write the task list", Category: "interaction",
		Description: "Write down the steps of a larger task and how far they are, in place of the list of before. " +
			"Returns: {success, count}",
		Parameters: object(`{"type":"object","properties":{"todos":{"type":"array","description":"All steps, in order.","items":{"type":"object","properties":{` +
			`"content":{"type":"string","description":"The step as an order: Run tests."},` +
			`"activeForm":{"type":"string","description":"The step under way: Running tests."},` +
			`"status":{"type":"string","enum":["pending","in_progress","completed"],"description":"How far it is."}` +
			`},"required":["content","activeForm","status"],"additionalProperties":false}}},"required":["todos"],"additionalProperties":false}`),
		Returns: returns(`"success":{"type":"boolean"},"count":{"type":"integer","description":"How many steps there are."}`, `"success","count"`),
		Risk:    tool.SafeWrite, Idempotent: true,
		Examples: []tool.Example{example("Two steps.", `{"todos":[{"content":"Write unit tests","activeForm":"Writing unit tests","status":"in_progress"},`+
			`{"content":"Implement the feature","activeForm":"Implementing the feature","status":"pending"}]}`)},
	}}
}

type todoItem struct {
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

func runTodo(ctx context.Context, _ *Deps, call *tool.Call) (*outcome, error) {
	var in struct {
		Todos []todoItem `json:"todos"`
	}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	for i, item := range in.Todos {
		for _, field := range []struct{ name, value string }{{"content", item.Content}, {"activeForm", item.ActiveForm}} {
			if strings.TrimSpace(field.value) == "" {
				path := fmt.Sprintf("todos[%d].%s", i, field.name)
				return nil, tool.Errorf(tool.InvalidArgument, "%s is empty", path).
					Suggest("Say what the step is; leave the item out if it is none.").With("path", path)
			}
		}
	}
	if err := call.State(tool.SessionScope).Set(ctx, todoKey, tool.MustMarshal(append([]todoItem{}, in.Todos...))); err != nil {
		return nil, err
	}
	for _, item := range in.Todos {
		if item.Status == "in_progress" {
			call.Progress(ctx, tool.Progress{Message: item.ActiveForm})
		}
	}
	return &outcome{data: map[string]any{"success": true, "count": len(in.Todos)}}, nil
}
