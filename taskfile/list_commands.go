package taskfile

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/taskprotocol"
)

// listCommands is the tool list_commands.
type listCommands struct{ taskfile *Taskfile }

func (l *listCommands) Definition() *tool.Definition {
	return l.taskfile.definition("list_commands", describeTimeout+describeTimeout/2)
}

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
		out.Message = fmt.Sprintf("There is no Taskfile: the project has no development commands. Tasks with a "+
			"description in %s would be listed here.", path)
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
