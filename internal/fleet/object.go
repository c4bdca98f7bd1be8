package fleet

import (
	"encoding/json"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/tool"
)

// Workers have no rights in the hub's store: they ask gateways, which look whose
// it is. Else the hub would send what a worker has stored to any subject that the
// worker names as the one for the answer.

// AnyGateway stands in a StoreSubject for whichever gateway is there.
const AnyGateway = "any"

// StoreSubject begins the subjects by which a worker uses the bucket of calls
// through a gateway: what JetStream calls the prefix of its API.
func (w Worker) StoreSubject(gateway string) string { return "store." + gateway + "." + string(w) }

// ObjectSubject is where a worker asks for what is larger than a message.
func (w Worker) ObjectSubject() string { return "object." + string(w) }

// InboxPrefix begins the subjects where a worker hears answers to what it asks.
func (w Worker) InboxPrefix() string { return "_INBOX.worker." + string(w) }

// MayHear reports whether an answer to a worker may go to that subject: it is one
// where holders of its key alone hear.
func (w Worker) MayHear(subject string) bool {
	prefix := "_INBOX.worker." + w.Key() + "."
	return len(subject) > len(prefix) && subject[:len(prefix)] == prefix
}

// What a worker has a gateway do with an object.
const (
	ObjectPart   = "part"   // keep a part of an upload
	ObjectCommit = "commit" // all parts are there
	ObjectDrop   = "drop"   // forget an upload that is not complete
	ObjectRead   = "read"   // give a part
)

// Bounds of objects, in bytes.
const (
	PartSize   = 256 << 10
	MostResult = 64 << 20
	MostPack   = 2 << 30
)

// ObjectAsk is what a worker asks about an object of a session that it has: its
// pack, the result of a call that it has made there, or what results link to.
type ObjectAsk struct {
	Action  string `json:"action"`
	Session string `json:"session"`
	Epoch   uint64 `json:"epoch"`
	// Pack is the digest of a pack. Call, else, is the last part of the call's key, and
	// File names what every worker of the session is to find again.
	Pack string `json:"pack,omitempty"`
	Call string `json:"call,omitempty"`
	File string `json:"file,omitempty"`
	// Upload names the upload that a part belongs to, and Part counts these.
	Upload string `json:"upload,omitempty"`
	Part   int    `json:"part,omitempty"`
	// Sum is the SHA-256 of the whole as hex, and Size its bytes, at a commit.
	Sum  string `json:"sum,omitempty"`
	Size int64  `json:"size,omitempty"`
	// From is the Next of the part read before.
	From uint64 `json:"from,omitempty"`
}

// ObjectReply is the answer. A part that is read is the message's data, and Sum and
// Size are what the whole was when it was kept.
type ObjectReply struct {
	Next  uint64      `json:"next,omitempty"`
	End   bool        `json:"end,omitempty"`
	Sum   string      `json:"sum,omitempty"`
	Size  int64       `json:"size,omitempty"`
	Error *tool.Error `json:"error,omitempty"`
}

// aboutHeader holds an ObjectAsk or an ObjectReply.
const aboutHeader = "About"

// ObjectMsg is a message about an object.
func ObjectMsg(subject string, about any, data []byte) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Header.Set(aboutHeader, string(tool.MustMarshal(about)))
	msg.Data = data
	return msg
}

// ReadObjectMsg reads what an ObjectMsg is about.
func ReadObjectMsg(msg *nats.Msg, about any) error {
	return json.Unmarshal([]byte(msg.Header.Get(aboutHeader)), about)
}
