// Package wire is shared by host and plugins: handshake constants, and conversions between the protocol's messages
// (toolpb) and host/tool.
package wire

import (
	"time"

	goplugin "github.com/hashicorp/go-plugin"
)

// ProtocolVersion is the newest supported version of the protocol, OldestVersion the oldest.
const (
	ProtocolVersion = 2
	OldestVersion   = 1
)

// DeclaredServices is the version from which a plugin must declare the services it uses.
const DeclaredServices = 2

// Versions returns all supported versions, oldest first.
func Versions() []int {
	var all []int
	for v := OldestVersion; v <= ProtocolVersion; v++ {
		all = append(all, v)
	}
	return all
}

// AttachVariable is the host's environment variable for plugins that already run: a JSON object of Attachments
// by plugin name.
const AttachVariable = "TOOLHOST_ATTACH"

// Attachment is the address of a plugin that already runs, for example in a debugger.
type Attachment struct {
	// Socket is the absolute path of its unix socket.
	Socket string `json:"socket"`
	// Protocol is its protocol version.
	Protocol int `json:"protocol"`
	// PID is its process.
	PID int `json:"pid"`
}

// ServiceName is go-plugin's name for the one service.
const ServiceName = "toolhost"

// MaxMessage is the largest gRPC message that either side accepts, in bytes.
const MaxMessage = 64 << 20

// Window is a call's flow control window, and Buffer the size of reads and writes on the socket, in bytes. With
// gRPC's defaults, made for networks, 1 MiB takes several times as long.
const (
	Window = 4 << 20
	Buffer = 256 << 10
)

// StartupErrorPrefix begins the line that a plugin prints instead of the handshake if it cannot start. A JSON
// string follows.
const StartupErrorPrefix = "toolhost-plugin-error|"

// CancelGrace is how long a cancelled call has to answer.
const CancelGrace = 5 * time.Second

// HandshakeConfig returns the magic cookie, which prevents starting a plugin by mistake.
func HandshakeConfig() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		MagicCookieKey:   "TOOLHOST_PLUGIN",
		MagicCookieValue: "toolhost.plugin",
	}
}
