// Package handshake holds what host and plugin have to agree on before they
// can speak the protocol.
package handshake

import (
	"time"

	goplugin "github.com/hashicorp/go-plugin"
)

// ProtocolVersion is the newest version of the protocol that this code speaks.
const ProtocolVersion = 1

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

// Config is the magic cookie. It guards against starting a plugin by mistake,
// against nothing else.
func Config() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		MagicCookieKey:   "TOOLHOST_PLUGIN",
		MagicCookieValue: "toolhost.plugin",
	}
}
