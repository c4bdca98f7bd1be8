// Package todo holds the tools todowrite and todoread: the task list that an
// agent keeps for itself while a session lasts.
package todo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
)

// stateKey is where the list lies in the session's state.
const stateKey = "todos"

// Tools gives todowrite and todoread. Both work on the list that the session's
// state holds, so two sessions never see each other's.
func Tools() []tool.Tool { return []tool.Tool{writer{}, reader{}} }

// writer is the tool todowrite.
type writer struct{}

// reader is the tool todoread.
type reader struct{}

// Definition describes todowrite.
func (writer) Definition() *tool.Definition {
	return &tool.Definition{
		Name:  "todowrite",
		Title: "Write the todo list",
		Description: "Replaces the session's todo list with the one given, to plan and track work of several steps. " +
			"Give the whole list each time, finished items included; at most one todo may be in_progress. " +
			"A list that breaks a rule is refused and the old one stays. " +
			"Returns: a JSON object with output (how many todos were stored) and title (how many of them are still active).",
		Category:    "todo",
		Parameters:  json.RawMessage(writeParameters),
		Returns:     json.RawMessage(returns),
		Risk:        tool.SafeWrite,
		Idempotent:  true,
		Permissions: []tool.Permission{},
		Examples: []tool.Example{{
			Description: "A list with one item",
			Params: json.RawMessage(`{"todos_json":"[{\"id\":\"task-1\",\"content\":\"Implement feature X\",` +
				`\"status\":\"in_progress\",\"priority\":\"high\"}]"}`),
		}},
	}
}

// Definition describes todoread.
func (reader) Definition() *tool.Definition {
	return &tool.Definition{
		Name:  "todoread",
		Title: "Read the todo list",
		Description: "Reads the session's todo list as todowrite stored it, to see what is planned, under way and done. " +
			"Returns: a JSON object with title (how many todos are still active) and output " +
			"(the todos as a JSON array in a string, each with id, content, status and priority; [] when there is none).",
		Category:    "todo",
		Parameters:  json.RawMessage(readParameters),
		Returns:     json.RawMessage(returns),
		Risk:        tool.ReadOnly,
		Idempotent:  true,
		Permissions: []tool.Permission{},
		Examples:    []tool.Example{{Description: "The current list", Params: json.RawMessage(`{}`)}},
	}
}

const writeParameters = `{
  "type": "object",
  "properties": {
    "todos_json": {
      "type": "string",
      "description": "A JSON array of todos. Each has id (unique), content (what to do), status (pending, in_progress, completed or cancelled) and priority (high, medium or low). [] empties the list."
    }
  },
  "required": ["todos_json"],
  "additionalProperties": false
}`

const readParameters = `{"type": "object", "properties": {}, "additionalProperties": false}`

const returns = `{
  "type": "object",
  "properties": {
    "title": {"type": "string", "description": "How many todos are still active."},
    "output": {"type": "string"}
  },
  "required": ["title", "output"],
  "additionalProperties": false
}`

// Normalize accepts todos_json as an array too, where the schema shows only
// the string that holds one.
func (writer) Normalize(params json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(params, &object) != nil {
		return params
	}
	value := object["todos_json"]
	if len(value) == 0 || value[0] != '[' {
		return params
	}
	object["todos_json"] = tool.MustMarshal(string(value))
	return tool.MustMarshal(object)
}

// Call checks the list and stores it.
func (writer) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	var params struct {
		TodosJSON string `json:"todos_json"`
	}
	if err := call.Decode(&params); err != nil {
		return nil, err
	}
	todos, err := parse(params.TodosJSON)
	if err != nil {
		return nil, err
	}
	if err := call.State(tool.SessionScope).Set(ctx, stateKey, tool.MustMarshal(todos)); err != nil {
		return nil, err
	}
	return tool.JSON(struct {
		Output string `json:"output"`
		Title  string `json:"title"`
	}{
		fmt.Sprintf("Successfully updated %d todos", len(todos)),
		fmt.Sprintf("Updated todo list with %d active todos", active(todos)),
	}), nil
}

// Call gives the stored list.
func (reader) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	stored, ok, err := call.State(tool.SessionScope).Get(ctx, stateKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		stored = []byte("[]")
	}
	var todos []Todo
	if err := json.Unmarshal(stored, &todos); err != nil {
		return nil, tool.Errorf(tool.Internal, "the stored todo list cannot be read: %w", err).
			Suggest("Write the list again with todowrite.")
	}
	return tool.JSON(struct {
		Title  string `json:"title"`
		Output string `json:"output"`
	}{
		fmt.Sprintf("%d todos", active(todos)),
		string(stored),
	}), nil
}
