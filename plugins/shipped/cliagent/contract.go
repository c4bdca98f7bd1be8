package cliagent

import (
	"embed"
	"encoding/json"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/definition"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' own words. Of results they describe metadata, where
// a tool has any.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return definition.Read(files, func(metadata json.RawMessage) json.RawMessage {
		member := ""
		if metadata != nil {
			member = `"metadata":{"type":"object","description":"Facts about the outcome.","properties":` +
				string(metadata) +
				`},`
		}
		return definition.Fill(envelopeSchema, `"$metadata":0,`, member)
	})
})

// speech is how the toolset speaks.
func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Strict:      true,
		Accepts:     accepts,
		Success:     succeeded,
		Failure: func(c kit.Call, o *outcome, err error) *tool.Result {
			return failed(o, inContract(err), time.Since(c.Started))
		},
		Word:   func(err error) error { return inContract(err) },
		Render: func(c kit.Call, err *tool.Error) *tool.Result { return RenderError(c.Call, err) },
	}
}

// listDirAccepted has a parameter that is not advertised.
const listDirAccepted = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "default": "."},
    "offset": {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$", "default": 0}
  },
  "additionalProperties": false
}`

// accepts is the schema that calls are checked against.
func accepts(d *tool.Definition) json.RawMessage {
	if d.Name == "list_dir" {
		return json.RawMessage(listDirAccepted)
	}
	return d.Parameters
}

// RenderError gives an error that a host made the contract's shape, for calls
// that reach none of the tools as well.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	return failed(nil, inContract(err), 0)
}

// integer is an int in any form that JSON Schema counts as an integer.
type integer = schema.Integer
