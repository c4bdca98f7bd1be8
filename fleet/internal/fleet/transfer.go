package fleet

import "github.com/toolhost/toolhost/host/tool"

// Workers have no rights in the hub's store: gateways check whose data it is. Otherwise the hub
// would send what a worker stored to any subject that it names for the answer.

// AnyGateway stands in a StoreSubject for any gateway.
const AnyGateway = "any"

// StoreSubject is the prefix of a worker's subjects for the bucket of calls through a gateway: JetStream's
// API prefix.
func (w Worker) StoreSubject(gateway string) string { return "store." + gateway + "." + string(w) }

// PackSubject is where a worker asks for a transfer of a pack.
func (w Worker) PackSubject() string { return "pack." + string(w) }

// InboxPrefix is the prefix of the subjects where a worker gets answers.
func (w Worker) InboxPrefix() string { return "_INBOX.worker." + string(w) }

// MayHear reports whether an answer to a worker may go to that subject: only holders of its key may hear it.
func (w Worker) MayHear(subject string) bool {
	prefix := "_INBOX.worker." + w.Key() + "."
	return len(subject) > len(prefix) && subject[:len(prefix)] == prefix
}

// Limits of packs and their parts, in bytes.
const (
	PartSize = 256 << 10
	MostPack = 2 << 30
)

// Transfer asks gateways to store a session's pack, or to send it. The gateway then asks for each part, or
// sends it.
type Transfer struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Epoch   uint64 `json:"epoch"`
	// Pack is the pack's digest: its SHA-256 as hex.
	Pack string `json:"pack"`
	// Size is that of a pack to store, in bytes; zero asks for the pack.
	Size int64 `json:"size,omitempty"`
}

// Transferred ends a transfer.
type Transferred struct {
	Error *tool.Error `json:"error,omitempty"`
}
