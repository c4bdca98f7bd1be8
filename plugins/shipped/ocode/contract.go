package ocode

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/definition"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' own words. Of results they describe the metadata.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return definition.Read(files, func(metadata json.RawMessage) json.RawMessage {
		return definition.Fill(envelopeSchema, `"$metadata":0`, definition.Members(metadata))
	})
})

// speech is how the toolset speaks.
func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Strict:      true,
		Accepts:     accepts,
		Given:       func(params json.RawMessage) json.RawMessage { own, _ := separate(params); return own },
		Ready:       ready,
		Success:     succeeded,
		Failure: func(c kit.Call, o *outcome, err error) *tool.Result {
			_, renamed := separate(c.Params)
			return failed(o, kit.Worded(err), renamed)
		},
		Word:   func(err error) error { return kit.Worded(err) },
		Render: func(c kit.Call, err *tool.Error) *tool.Result { return RenderError(c.Call, err) },
		Normalize: func(name string, params json.RawMessage) json.RawMessage {
			return oldNames()[name].normalize(params)
		},
	}
}

// accepts is the schema that calls are checked against: what is advertised, and
// nothing else.
func accepts(d *tool.Definition) json.RawMessage {
	p := d.Parameters
	return slices.Concat(p[:len(p)-1], json.RawMessage(`,"additionalProperties":false}`))
}

// asksItself tells the tools that ask for permissions themselves, because not
// every call needs all of them.
func asksItself(name string) bool { return slices.Contains([]string{"diff", "env", "json_yaml"}, name) }

func ready(d Deps, definition *tool.Definition) error {
	if asksItself(definition.Name) {
		return nil
	}
	return d.require(definition.Permissions...)
}

// RenderError gives an error that a host made the contract's shape, for calls
// that reach none of the tools as well.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	if p, ok := deniedPermission(err); ok {
		err = notGranted(p)
	}
	return failed(nil, kit.Worded(err), nil)
}

// deniedPermission tells that a policy's default for a permission refused a
// call.
func deniedPermission(err *tool.Error) (permission string, ok bool) {
	rule, _ := err.Details["rule"].(string)
	permission, ok = strings.CutPrefix(rule, "permission ")
	return permission, ok && err.Code == tool.Denied
}
