package telemetry

import "time"

// Line is a line of JSON from the host to the program that sends telemetry. It has one of Begin, End
// and Note.
type Line struct {
	// ID is the part's number, Parent that of its parent or 0.
	ID     uint64 `json:"id"`
	Parent uint64 `json:"parent,omitempty"`
	// At is the time.
	At    time.Time `json:"at"`
	Begin *Begin    `json:"begin,omitempty"`
	End   *End      `json:"end,omitempty"`
	Note  *Note     `json:"note,omitempty"`
}

// Begin is the beginning of a part of a call.
type Begin struct {
	// Part is host.TraceCall and so on. The other fields are for the call.
	Part string `json:"part"`
	// Span is the part's traceparent, if others must know it; empty lets the program choose.
	Span        string `json:"span,omitempty"`
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
	Baggage     string `json:"baggage,omitempty"`
	// Method is that of an MCP request, "" for other calls. The next four belong to that request.
	Method     string `json:"method,omitempty"`
	RPCID      string `json:"rpc_id,omitempty"`
	MCPSession string `json:"mcp_session,omitempty"`
	Revision   string `json:"revision,omitempty"`
	Transport  string `json:"transport,omitempty"`

	Tool      string `json:"tool,omitempty"`
	Session   string `json:"session,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Step      int    `json:"step,omitempty"`
}

// End is the end of a part; the fields are for the call.
type End struct {
	Tool   string `json:"tool,omitempty"`
	Source string `json:"source,omitempty"`
	// Outcome is "success", "error", "input_required" or "dry_run".
	Outcome  string        `json:"outcome,omitempty"`
	Code     string        `json:"code,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	Decision string        `json:"decision,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Sandbox  string        `json:"sandbox,omitempty"`
	// Connections counts those of the call's processes, Refused those that were refused.
	Connections int `json:"connections,omitempty"`
	Refused     int `json:"refused,omitempty"`
	// Arguments and Result are set if the environment asks for them, without secrets.
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
}

// Note is an event during a part.
type Note struct {
	Event   string            `json:"event"`
	Details map[string]string `json:"details,omitempty"`
}
