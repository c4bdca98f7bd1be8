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
	// Version is the plugin's own version, if known.
	Version string `json:"version,omitempty"`
	// SHA256 is the checksum of the program, if known.
	SHA256 string `json:"sha256,omitempty"`
	// Tools counts the tools, if known.
	Tools int `json:"tools"`
	// Protocol is the version of the protocol agreed on with the running process, 0 without one.
	Protocol int `json:"protocol,omitempty"`
	// PID is the process, 0 if there is none.
	PID int `json:"pid,omitempty"`
	// StartedAt is when the process became ready.
	StartedAt time.Time `json:"started_at,omitzero"`
	// StartTook is how long the last start took.
	StartTook time.Duration `json:"start_took,omitempty"`
	// Starts, Crashes and Calls count since the manager was made.
	Starts  int `json:"starts"`
	Crashes int `json:"crashes"`
	Calls   int `json:"calls"`
	// RetryAt is when a plugin that failed repeatedly may be started next.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError is the last start or crash that failed.
	LastError *tool.Error `json:"last_error,omitempty"`
}

// Description is what a plugin says about itself.
type Description struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Services are those of the host that the tools use.
	Services []string           `json:"services,omitempty"`
	Tools    []*tool.Definition `json:"tools"`
}
