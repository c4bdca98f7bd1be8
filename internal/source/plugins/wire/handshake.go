// Package wire is what host and plugins have in common: what they agree on before
// they speak, and the messages of the protocol (toolpb) as types of host/tool.
package wire

import (
	"time"

	goplugin "github.com/hashicorp/go-plugin"
)

// ProtocolVersion is the newest version of the protocol that this code speaks,
// OldestVersion the oldest.
const (
	ProtocolVersion = 2
	OldestVersion   = 1
)

// DeclaredServices is the version from which on a plugin says which services
// it uses, and is answered for no others.
const DeclaredServices = 2

// Versions are all that this code speaks, the oldest first.
func Versions() []int {
	var all []int
	for v := OldestVersion; v <= ProtocolVersion; v++ {
		all = append(all, v)
	}
	return all
}

// AttachVariable is the environment variable of the host that names plugins
// which run already, as JSON: an Attachment by the plugin's name.
const AttachVariable = "TOOLHOST_ATTACH"

// Attachment is where a plugin that runs already, under a debugger say, can be
// reached.
type Attachment struct {
	// Socket is the absolute path of its unix socket.
	Socket string `json:"socket"`
	// Protocol is the version of the protocol that it speaks.
	Protocol int `json:"protocol"`
	// PID is its process.
	PID int `json:"pid"`
}

// ServiceName is the name under which go-plugin knows the one service.
const ServiceName = "toolhost"

// MaxMessage is the largest gRPC message, in bytes, that either side takes.
const MaxMessage = 64 << 20

// Window is the flow control window of a call, and Buffer the size of reads and
// writes on the socket, in bytes. With gRPC's own, which suit networks, 1 MiB
// takes several times as long.
const (
	Window = 4 << 20
	Buffer = 256 << 10
)

// StartupErrorPrefix begins the line that a plugin writes in place of the
// handshake when it cannot start. A JSON string follows.
const StartupErrorPrefix = "toolhost-plugin-error|"

// CancelGrace is how long a cancelled call may take to answer.
const CancelGrace = 5 * time.Second

// HandshakeConfig is the magic cookie. It guards against starting a plugin by mistake,
// against nothing else.
func HandshakeConfig() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		MagicCookieKey:   "TOOLHOST_PLUGIN",
		MagicCookieValue: "toolhost.plugin",
	}
}
