// Package clemini is the plugin of the toolset clemini: thirteen tools whose results are JSON
// objects, and whose failures have error, error_code and context.
package clemini

import (
	"embed"
	"encoding/json"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Version is the plugin's version.
const Version = "1.0.0"

// Deps are the tools' dependencies. Without a Workspace tools can only be described.
type Deps struct {
	Workspace *workspace.Workspace
	// Trees are further directories that commands may change.
	Trees []string
	// Confine is how commands and agents are confined.
	Confine sandbox.Settings
	// Tasks are the background tasks; may be nil.
	Tasks *background.Store
	// Agents are the programs that work on tasks.
	Agents subagent.Agents
	// Web fetches and searches. Nil reaches public addresses only.
	Web *netguard.Client
	// SearchURL is web_search's engine; "" is DuckDuckGo.
	SearchURL string
	// OutputCap limits the shown bytes of each stream. Zero means proc.DefaultCap.
	OutputCap int
}

// New returns the tools.
func New(deps Deps) ([]tool.Tool, error) {
	if deps.Workspace != nil && deps.Tasks == nil {
		deps.Tasks = background.Open("", background.Options{})
	}
	if deps.SearchURL == "" {
		deps.SearchURL = defaultSearchURL
	}
	if deps.Web == nil {
		var err error
		if deps.Web, err = netguard.New(netguard.Options{}); err != nil {
			return nil, err
		}
	}
	c := speech()
	return []tool.Tool{
		kit.Tool(c, deps, "read_file", runRead, nil), kit.Tool(c, deps, "write_file", runWrite, planWrite),
		kit.Tool(c, deps, "edit", runEdit, planEdit), kit.Tool(c, deps, "glob", runGlob, nil),
		kit.Tool(c, deps, "grep", runGrep, nil),
		kit.Commander(c, deps, "bash", runBash, planBash, bashInput.shown),
		kit.Tool(c, deps, "kill_shell", runKill, nil),
		kit.Tool(c, deps, "task", runTask, nil), kit.Tool(c, deps, "task_output", runTaskOutput, nil),
		kit.Tool(c, deps, "ask_user", runAsk, nil), kit.Tool(c, deps, "todo_write", runTodo, nil),
		kit.Tool(c, deps, "web_search", runSearch, nil), kit.Tool(c, deps, "web_fetch", runFetch, nil),
	}, nil
}

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' definitions. For results they describe a success's object: its
// properties, and those required for each kind of success.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return toolspec.Read(files, func(success json.RawMessage) json.RawMessage {
		var s struct{ AnyOf, Properties json.RawMessage }
		if err := json.Unmarshal(success, &s); err != nil {
			panic(err) // a mistake of the programmer
		}
		return toolspec.Fill(envelopeSchema, `"$successes"`, toolspec.Members(s.AnyOf), `"$properties":0`,
			toolspec.Members(s.Properties))
	})
})

func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Success:     succeeded,
		Failure:     func(c kit.Call, _ *outcome, err error) *tool.Result { return failed(c.Definition.Name, err) },
		Render:      func(c kit.Call, err *tool.Error) *tool.Result { return failed(c.Definition.Name, err) },
	}
}

type outcome struct {
	kit.Outcome
	data any
}

func succeeded(_ kit.Call, o *outcome) *tool.Result {
	r := o.On(tool.JSON(o.data))
	r.FilesAffected = o.Files
	return r
}

// RenderError words a host's error as the contract does, for calls that reach no tool.
func RenderError(call *tool.Call, err *tool.Error) *tool.Result { return failed(call.Tool, err) }

type integer = schema.Integer
