package plugins

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/supervisor"
)

// State is a plugin's state. A failed one could not be started, or crashed, the last time.
type State = supervisor.State

// The states of a plugin.
const (
	Idle     = supervisor.Idle
	Starting = supervisor.Starting
	Running  = supervisor.Running
	Failed   = supervisor.Failed
	Closed   = supervisor.Closed
	// InProcess plugins have no process: the host calls their tools itself.
	InProcess State = "in_process"
)

// Status describes a plugin.
type Status struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Shipped bool   `json:"shipped,omitempty"`
	State   State  `json:"state"`
	// Version is the plugin's version, if known.
	Version string `json:"version,omitempty"`
	// SHA256 is the program's checksum, if known.
	SHA256 string `json:"sha256,omitempty"`
	// Tools counts the tools, if known.
	Tools int `json:"tools"`
	// Protocol is the running process's protocol version, or 0.
	Protocol int `json:"protocol,omitempty"`
	// PID is the process, or 0.
	PID int `json:"pid,omitempty"`
	// StartedAt is when the process became ready.
	StartedAt time.Time `json:"started_at,omitzero"`
	// StartTook is the duration of the last start.
	StartTook time.Duration `json:"start_took,omitempty"`
	// Starts, Crashes and Calls count since the manager was made.
	Starts  int `json:"starts"`
	Crashes int `json:"crashes"`
	Calls   int `json:"calls"`
	// RetryAt is the next start of a repeatedly failed plugin.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError is the error of the last failed start or crash.
	LastError *tool.Error `json:"last_error,omitempty"`
}

// Description is a plugin's description.
type Description struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Services are the host's services that the tools use.
	Services []string           `json:"services,omitempty"`
	Tools    []*tool.Definition `json:"tools"`
}
