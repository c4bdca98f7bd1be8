package plugins

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/life"
)

// State is what a plugin is doing. Failed ones could not be started, or
// crashed, the last time.
type State = life.State

// The states of a plugin.
const (
	Idle     = life.Idle
	Starting = life.Starting
	Running  = life.Running
	Failed   = life.Failed
	Closed   = life.Closed
	// InProcess plugins have no process: the host calls their tools itself.
	InProcess State = "in_process"
)

// Status is how a plugin is.
type Status struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Shipped bool   `json:"shipped,omitempty"`
	State   State  `json:"state"`
	// Version is what the plugin calls its version, where it is known.
	Version string `json:"version,omitempty"`
	// SHA256 is the checksum of the program, where it is known.
	SHA256 string `json:"sha256,omitempty"`
	// Tools counts the tools, where they are known.
	Tools int `json:"tools"`
	// Protocol is the version of the protocol that was agreed upon with the
	// process that runs, 0 when there is none.
	Protocol int `json:"protocol,omitempty"`
	// PID is the process, 0 when there is none.
	PID int `json:"pid,omitempty"`
	// StartedAt is when the process became ready.
	StartedAt time.Time `json:"started_at,omitzero"`
	// StartTook is how long the last start took.
	StartTook time.Duration `json:"start_took,omitempty"`
	// Starts, Crashes and Calls count since the manager was made.
	Starts  int `json:"starts"`
	Crashes int `json:"crashes"`
	Calls   int `json:"calls"`
	// RetryAt is when a plugin that failed again and again may be started
	// next.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError is the last start or crash that failed.
	LastError *tool.Error `json:"last_error,omitempty"`
}

// Description is what a plugin says of itself.
type Description struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Services are those of the host that the tools use.
	Services []string           `json:"services,omitempty"`
	Tools    []*tool.Definition `json:"tools"`
}
