// Package agentbench is the plugin of the toolset agentbench: list_files,
// read_file, search, apply_patch and run, whose results are the contract's
// ToolResult object.
package agentbench

import (
	"bytes"
	"embed"
	"encoding/json"
	"os/exec"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Version is the plugin's version.
const Version = "1.0.0"

const (
	// DefaultRunTimeout is the time limit of a command unless the call or Deps set one.
	DefaultRunTimeout = 60 * time.Second
	// grace is how much longer the host waits, so that the tool can answer with what it has.
	grace = 10 * time.Second
)

// Deps are the tools' dependencies.
type Deps struct {
	// Workspace may be nil; then tools can only be described.
	Workspace *workspace.Workspace
	// Prepare confines run's process before it starts, and returns metadata for the result; its
	// error is a sandbox_error. Nil means no sandbox: run refuses unless Unconfined is set.
	Prepare func(*exec.Cmd) (metadata map[string]any, err error)
	// Denied returns the sandbox's part in a failure, from what the command printed. May be nil.
	Denied func(printed string) string
	// Unconfined lets run work without a sandbox, as the operator's choice.
	Unconfined bool
	// RunTimeout is the time limit of a command without a timeout. Zero means DefaultRunTimeout.
	RunTimeout time.Duration

	patching chan struct{} // holds one element while a patch is applied
}

// New returns the five tools.
func New(deps Deps) []tool.Tool {
	if deps.RunTimeout <= 0 {
		deps.RunTimeout = DefaultRunTimeout
	}
	deps.patching = make(chan struct{}, 1)
	c := speech()
	return []tool.Tool{
		kit.Tool(c, deps, "list_files", list, nil), kit.Tool(c, deps, "read_file", read, nil),
		kit.Tool(c, deps, "search", runSearch, nil),
		kit.Tool(c, deps, "apply_patch", runPatch, planPatch),
		kit.Commander(c, deps, runName, runCommand, nil, runInput.argv),
	}
}

//go:embed tools
var files embed.FS

//go:embed envelope.json
var envelopeSchema []byte

// definitions are the tools' definitions. A result is the envelope around their data.
var definitions = sync.OnceValue(func() map[string]*tool.Definition {
	return toolspec.Read(files, func(data json.RawMessage) json.RawMessage {
		return toolspec.Fill(envelopeSchema, `"$returns"`, string(data))
	})
})

func speech() *kit.Contract[Deps, *outcome] {
	return &kit.Contract[Deps, *outcome]{
		Definitions: definitions(),
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Limit:       limit,
		Success:     seal,
		Failure:     fail,
		Word:        unnamed,
		Render:      renderError,
		Normalize:   withoutNulls,
	}
}

func limit(d *tool.Definition) time.Duration { return d.Timeout - grace }

// outcome is a call's result before it is put into the envelope.
type outcome struct {
	kit.Outcome
	// data is the tool's own part, may be nil.
	data any
	// failed is set if the call failed but has data.
	failed *failure
	// exitCode, stdout and stderr are for run only.
	exitCode       *int
	stdout, stderr *string
}

// withoutNulls removes null parameters, which count as missing.
func withoutNulls(_ string, params json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if !bytes.Contains(params, []byte("null")) || json.Unmarshal(params, &fields) != nil || fields == nil {
		return params
	}
	found := false
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
			found = true
		}
	}
	if !found {
		return params
	}
	return tool.MustMarshal(fields)
}
