package taskfile

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/taskprotocol"
)

// listCommands is the tool list_commands.
type listCommands struct{ taskfile *Taskfile }

func (l *listCommands) Definition() *tool.Definition {
	return &tool.Definition{
		Name:     "list_commands",
		Title:    "List development commands",
		Category: "development",
		Description: "List the project's development commands (build, test, lint and the like) with what each does. " +
			"They come from " + l.taskfile.options.Path +
			" and are read anew whenever it has changed, so list them again after editing it. " +
			"Returns: JSON with \"commands\", an array of name and description, and a message.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Returns:     json.RawMessage(listReturns),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Timeout:     describeTimeout + describeTimeout/2,
		Idempotent:  true,
		Examples:    []tool.Example{{Description: "See what can be run", Params: json.RawMessage(`{}`)}},
	}
}

const listReturns = `{"type":"object","properties":{
"commands":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"}},"required":["name","description"]}},
"message":{"type":"string"}},"required":["commands","message"]}`

// listed is the result of list_commands.
type listed struct {
	Commands []listedCommand `json:"commands"`
	Message  string          `json:"message"`
}

type listedCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (l *listCommands) Call(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
	listing, err := l.taskfile.usable(ctx)
	if err != nil {
		return nil, err
	}
	path := l.taskfile.options.Path
	out := listed{Commands: []listedCommand{}}
	if listing.Kind == protocol.NoTaskfile {
		out.Message = fmt.Sprintf("There is no Taskfile: the project has no development commands. Tasks with a description in %s would be listed here.", path)
		if other := l.taskfile.elsewhere(); other != "" {
			out.Message += fmt.Sprintf(" Those of %s are listed when agent.hcl has taskfile { path = %q }.", other,
				other)
		}
		return tool.JSON(out), nil
	}
	for _, c := range listing.Commands {
		out.Commands = append(out.Commands, listedCommand{c.Name, c.Description})
	}
	out.Message = fmt.Sprintf("Successfully listed %d development commands from %s.", len(out.Commands), path)
	return tool.JSON(out), nil
}
