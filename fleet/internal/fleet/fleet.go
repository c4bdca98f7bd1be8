// Package fleet defines what gateways and workers say to each other over NATS.
//
// A gateway takes MCP requests over HTTP and hands each to the worker that has
// its session. The worker answers as toolhost serve --http would; its answer
// comes back in frames. Subjects:
//
//	work.KEY.INSTANCE             requests to a worker, their further parts and cancellations
//	back.GATEWAY.KEY.INSTANCE.ID  frames of the answer to the request ID
//	beat.KEY.INSTANCE             a worker is alive
//	alive.GATEWAY                 a gateway is alive
//	ask.KEY.INSTANCE              what a worker asks of the gateways
//	store.GATEWAY.KEY.INSTANCE.>  a worker's requests to the bucket of calls, through a gateway
//	pack.KEY.INSTANCE             transfers of packs that it asks for
//	decide.NAME.KEY.INSTANCE      what an operator asks of a worker, and decides there
//	decided.NAME.KEY.INSTANCE.ID  the answer to that
//
// KEY is the name of a worker's key, NAME that of an operator's: the hub lets the
// holder of a key use only the subjects with its name. A pack is an archive of a
// session's workspace.
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The buckets of the hub.
const (
	SessionsBucket = "sessions"
	CallsBucket    = "calls"
)

// The headers of requests between a gateway and a worker.
const (
	// CallHeader names a call, the same at each attempt.
	CallHeader = "Toolhost-Call"
	// DispatchHeader names one attempt at a call.
	DispatchHeader = "Toolhost-Dispatch"
	// GatewayHeader names the gateway of a request. Only its worker sets it, for itself.
	GatewayHeader = "Toolhost-Gateway"
)

// WorkspaceMeta is the session's workspace in the _meta of initialize.
const WorkspaceMeta = "toolhost/workspace"

// OutcomeMeta is the key in a result's _meta of "lost" for a call that may have run without a known
// result, and "stored" for a result of an earlier attempt.
const OutcomeMeta = "toolhost/outcome"

// Times of the fleet. A worker or gateway that is silent for Lease counts as lost.
const (
	Heartbeat = 500 * time.Millisecond
	Lease     = 4 * time.Second
)

// Worker names one run of a worker: KEY.INSTANCE.
type Worker string

// NewWorker returns the name of a run.
func NewWorker(key, instance string) Worker { return Worker(key + "." + instance) }

// Key returns the name of the worker's key.
func (w Worker) Key() string {
	key, _, _ := strings.Cut(string(w), ".")
	return key
}

// Instance returns the part of the name after the key.
func (w Worker) Instance() string {
	_, instance, _ := strings.Cut(string(w), ".")
	return instance
}

// WorkSubject is where a worker takes requests.
func (w Worker) WorkSubject() string { return "work." + string(w) }

// GatewaySubject is where a gateway says that it is alive.
func GatewaySubject(gateway string) string { return "alive." + gateway }

// BeatSubject is where a worker says that it is alive.
func (w Worker) BeatSubject() string { return "beat." + string(w) }

// AskSubject is where a worker asks the gateways.
func (w Worker) AskSubject() string { return "ask." + string(w) }

// BackSubject is where the answer to a request goes.
func (w Worker) BackSubject(gateway, id string) string {
	return "back." + gateway + "." + string(w) + "." + id
}

// DecideSubject is where a worker gets an operator's decisions.
func (w Worker) DecideSubject(operator string) string { return "decide." + operator + "." + string(w) }

// DecidedSubject is where a worker answers an operator, apart from gateways, which have no part in decisions.
func (w Worker) DecidedSubject(operator, id string) string {
	return "decided." + operator + "." + string(w) + "." + id
}

// CallKey is the key of a call in the bucket of calls.
func (w Worker) CallKey(session, call string) string {
	return string(w) + "." + session + "." + Digest(call)
}

// FromSubject returns the worker of a subject of the form WORD.KEY.INSTANCE.
func FromSubject(subject string) Worker {
	_, rest, _ := strings.Cut(subject, ".")
	return Worker(rest)
}

// Digest returns a digest of a text for use in subjects and keys, which must not contain secrets.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Beat is a worker's heartbeat.
type Beat struct {
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Slots    int               `json:"slots"`
	Running  int               `json:"running"`
	Queued   int               `json:"queued"`
	Sessions int               `json:"sessions"`
	Draining bool              `json:"draining,omitempty"`
	Cordoned bool              `json:"cordoned,omitempty"`
}

// Workspace is the origin of a session's workspace. One of Directory, Git and Empty is set.
type Workspace struct {
	Name string `json:"name,omitempty"`
	// Directory is one of the worker's.
	Directory string `json:"directory,omitempty"`
	// Git is URL@COMMIT.
	Git   string `json:"git,omitempty"`
	Empty bool   `json:"empty,omitempty"`
	// Config is the agent.hcl on the worker to use; it counts as approved.
	Config string `json:"config,omitempty"`
	// Trust approves the workspace's agent.hcl.
	Trust   bool              `json:"trust,omitempty"`
	Toolset string            `json:"toolset,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Record is a session in the hub. It is changed only under its entry's revision.
type Record struct {
	Tenant string `json:"tenant"`
	// Epoch counts the workers that have had the session. Results of earlier epochs do not count.
	Epoch     uint64    `json:"epoch"`
	Workspace Workspace `json:"workspace"`
	Worker    Worker    `json:"worker,omitempty"` // "" while it has none
	// Past are the previous workers.
	Past []Worker `json:"past,omitempty"`
	// Initialize is the message that opened the session, for a worker that takes it over. Empty for
	// revisions without sessions.
	Initialize []byte    `json:"initialize,omitempty"`
	Created    time.Time `json:"created"`
	// Pack is the digest of the workspace's newest pack.
	Pack   string    `json:"pack,omitempty"`
	Packed time.Time `json:"packed,omitzero"`
	// Restored is set if the previous worker was lost, with its changes since the pack.
	Restored bool `json:"restored,omitempty"`
}

// The kinds of messages to a worker, in the header KindHeader.
const (
	KindHeader  = "Kind"
	KindRequest = "request" // an Envelope, or its first part
	KindMore    = "more"    // a further part
	KindAck     = "ack"     // frames that have arrived
	KindResume  = "resume"  // send again from this frame on
	KindCancel  = "cancel"  // the answer is no longer needed
	KindControl = "control" // a Control
	KindPart    = "part"    // a part of a pack, or a request for one
)

// Envelope is an HTTP request for a session.
type Envelope struct {
	ID      string      `json:"id"`
	Back    string      `json:"back"`
	Session string      `json:"session"` // its key
	Name    string      `json:"name"`    // the MCP session's, may be ""
	Record  Record      `json:"record"`
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Header  http.Header `json:"header"`
	// Stateless is set for a revision without sessions.
	Stateless bool `json:"stateless,omitempty"`
	// Opening is set for the request that opens the MCP session.
	Opening bool `json:"opening,omitempty"`
	// Known is set if the gateway assumes that the worker has the session: Record then has only
	// the epoch. A worker without it refuses.
	Known bool `json:"known,omitempty"`
	// Replaces is the ID of an attempt at the same call that may no longer run.
	Replaces string `json:"replaces,omitempty"`
	Body     []byte `json:"body,omitempty"`
}

// Control is an operator's order to a worker.
type Control struct {
	Action  string `json:"action"` // drain, cordon, uncordon, release, pack or drop
	Session string `json:"session,omitempty"`
	// Epoch, with drop, is the one from which on another worker has the session.
	Epoch uint64 `json:"epoch,omitempty"`
}

// Frame is a part of an answer.
type Frame struct {
	Seq    int         `json:"seq"`
	Status int         `json:"status,omitempty"` // in the first
	Header http.Header `json:"header,omitempty"`
	Data   []byte      `json:"data,omitempty"`
	End    bool        `json:"end,omitempty"`
	// Refused says why there is no answer, in the only frame.
	Refused string `json:"refused,omitempty"`
	// Retry is when to retry, if refused.
	Retry time.Duration `json:"retry,omitempty"`
}

// Why a worker refuses a request.
const (
	RefusedBusy   = "busy"   // no slot is free, and the queue is full
	RefusedMoving = "moving" // the worker is giving up the session
	RefusedStale  = "stale"  // the worker knows a later epoch
	RefusedGone   = "gone"   // the worker does not have the session that was assumed to be known
	RefusedFailed = "failed" // the workspace could not be made; Data says why
	// RefusedUnknown answers a resume: the request did not arrive.
	RefusedUnknown = "unknown"
	// RefusedCut ends an answer that the worker cut because its gateway was silent for a lease. The call goes
	// on.
	RefusedCut = "cut"
)

// Window is how many frames may be sent without an acknowledgement, which is sent for every AckEvery frames.
const (
	Window   = 64
	AckEvery = 16
)

// The states of a call in the bucket of calls.
const (
	CallRunning = "running" // an attempt has claimed it
	CallDone    = "done"    // it has a result
	CallVoid    = "void"    // an attempt that is not in Voided may run it
	CallLost    = "lost"    // it may have run, and has no known result
)

// Call is a call as the hub keeps it.
type Call struct {
	State string `json:"state"`
	// Epoch is the session's, for its worker. With state running, a gateway accepts the entry only
	// from that epoch's worker.
	Epoch uint64 `json:"epoch,omitempty"`
	// Digest is that of the tool and parameters.
	Digest string `json:"digest,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Claim names who claimed the call; each attempt has its own.
	Claim string `json:"claim,omitempty"`
	// Voided are the attempts that may no longer run.
	Voided []string `json:"voided,omitempty"`
	// Result is the result as JSON. Task is set if it is a task of that worker.
	Result []byte    `json:"result,omitempty"`
	Task   bool      `json:"task,omitempty"`
	At     time.Time `json:"at"`
}

// EveryAttempt in Voided stands for all attempts.
const EveryAttempt = "*"

// IsVoid reports whether an attempt may no longer run.
func (c *Call) IsVoid(attempt string) bool {
	return slices.Contains(c.Voided, attempt) || slices.Contains(c.Voided, EveryAttempt)
}

// Ask is a worker's request to the gateways.
type Ask struct {
	// Owned are sessions with their epochs; the answer lists those that are still the worker's.
	Owned map[string]uint64 `json:"owned,omitempty"`
	// Session has a new pack with Pack; with Release the worker gives it up.
	Session string    `json:"session,omitempty"`
	Epoch   uint64    `json:"epoch,omitempty"`
	Pack    string    `json:"pack,omitempty"`
	Packed  time.Time `json:"packed,omitzero"`
	Release bool      `json:"release,omitempty"`
}

// Reply is the gateways' answer to an Ask.
type Reply struct {
	Owned []string `json:"owned,omitempty"`
	Error string   `json:"error,omitempty"`
	// Foreign is set if the session is another worker's.
	Foreign bool `json:"foreign,omitempty"`
}
