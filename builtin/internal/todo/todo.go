// Package todo holds the tools todowrite and todoread: an agent's task list for a session.
package todo

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

const stateKey = "todos"

// Tools returns todowrite and todoread, for the list in the session's state.
func Tools() []tool.Tool { return []tool.Tool{writer{}, reader{}} }

type writer struct{}

type reader struct{}

//go:embed tools
var definitionFiles embed.FS

var definitions = sync.OnceValue(func() map[string]*tool.Definition { return toolspec.Read(definitionFiles, nil) })

// Definition describes todowrite.
func (writer) Definition() *tool.Definition { return definitions()["todowrite"] }

// Definition describes todoread.
func (reader) Definition() *tool.Definition { return definitions()["todoread"] }

// Normalize accepts todos_json also as an array instead of a string.
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

// Call returns the stored list.
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
