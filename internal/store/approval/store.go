package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Limits of what is kept.
const (
	// PendingTime is how long a call waits for its approval.
	PendingTime = time.Hour
	// GrantTime is how long an approval waits for its call.
	GrantTime = 15 * time.Minute
	// MaxPending bounds the waiting calls; the oldest are dropped.
	MaxPending = 100
)

// Call is what an approval is for.
type Call struct {
	// Toolset and Session are those of the call. The session is empty if unnamed: the approval is then for any
	// session.
	Toolset string `json:"toolset,omitempty"`
	Session string `json:"session,omitempty"`
	Tool    string `json:"tool"`
	// Params are the complete parameters with their defaults, for a new preview of the call; people see Seen.
	Params json.RawMessage `json:"params"`
	// Shown are the parameters without the secret ones; nil if none is secret.
	Shown json.RawMessage `json:"shown,omitempty"`
	// Flags are toolhost's flags that select the agent.hcl. They do not identify the call.
	Flags []string `json:"flags,omitempty"`
	// Effects is the digest of the call's changes in a view of the workspace, if made in one: only these are
	// approved.
	Effects string `json:"effects,omitempty"`
	// Connect is "HOST:PORT" if a connection of the call's processes waits, not the call.
	Connect string `json:"connect,omitempty"`
	// Client is the client's name for itself. It does not identify the call.
	Client string `json:"client,omitempty"`
}

// Digest is equal for equal calls.
func (c Call) Digest() string {
	sum := sha256.New()
	parts := []string{c.Toolset, c.Session, c.Tool, policy.CanonicalJSON(c.Params)}
	if c.Effects != "" {
		parts = append(parts, c.Effects)
	}
	if c.Connect != "" {
		parts = append(parts, "connect", c.Connect)
	}
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Seen returns the parameters for display.
func (c Call) Seen() json.RawMessage {
	if c.Shown != nil {
		return c.Shown
	}
	return c.Params
}

// Public returns the call for display.
func (p Pending) Public() Pending {
	p.Params, p.Shown = p.Seen(), nil
	return p
}

// Always returns the rule that "always" adds. It is an error for a call with secret parameters, which the rule
// would store.
func (c Call) Always() (policy.Rule, error) {
	switch {
	case c.Connect != "":
		return policy.Reaching(c.Toolset, c.Tool, c.Connect), nil
	case c.Shown != nil:
		return policy.Rule{}, tool.Errorf(tool.Unsupported,
			"exactly this call of %s cannot always be allowed: the rule would keep its secret parameters", show.Line(c.Tool)).
			Suggest("Approve it once, or write a rule for the tool in agent.hcl.")
	}
	return policy.Exactly(c.Toolset, c.Tool, c.Params), nil
}

// Line returns a line about the call.
func (c Call) Line() string {
	if c.Connect != "" {
		return show.Line(c.Connect) + " for " + show.Call(c.Tool, c.Seen())
	}
	return show.Call(c.Tool, c.Seen())
}

// Pending is a call that waits for its approval.
type Pending struct {
	ID string `json:"id"`
	Call
	// Reason is why it needs approval.
	Reason string `json:"reason,omitempty"`
	// Root is the workspace.
	Root    string    `json:"root,omitempty"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
}

// Store keeps pending calls and approvals. It is safe for concurrent use by several processes.
type Store struct {
	state     tool.State
	dir       string
	workspace string
	now       func() time.Time
}

// StateDir is the directory of waiting calls in a workspace's state.
const StateDir = "approvals"

// Dir is the default directory of approvals, in the user's configuration.
func Dir() (string, error) { return userdir.Dir("approvals", "approvals") }

// Open returns the store of the workspace at the absolute path workspace: pending calls in state, approvals below
// dir. It makes nothing. A dir inside the workspace is refused, because a tool could approve calls there.
func Open(state tool.State, dir, workspace string, trees ...string) (*Store, error) {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(workspace) {
		return nil, tool.Errorf(tool.InvalidArgument, "approvals need absolute paths, not %q and %q", dir, workspace).
			Suggest("Give absolute paths.")
	}
	if err := userdir.Outside("approvals", dir, append([]string{workspace}, trees...)...); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(workspace))
	return &Store{state: state, dir: filepath.Join(dir, hex.EncodeToString(sum[:])[:16]), workspace: workspace,
		now: time.Now}, nil
}

// File adds a waiting call, or renews the time of an equal one.
func (s *Store) File(ctx context.Context, call Call, reason string) (Pending, error) {
	waiting, err := s.List(ctx)
	if err != nil {
		return Pending{}, err
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	p := Pending{ID: strings.ToLower(rand.Text()[:8]), Call: call, Asked: now}
	for _, other := range waiting {
		if other.Digest() == call.Digest() {
			p = other
		}
	}
	p.Reason, p.Expires, p.Flags, p.Root = reason, now.Add(PendingTime), call.Flags, s.workspace
	p.Client = call.Client
	for len(waiting) >= MaxPending {
		if err := s.Drop(ctx, waiting[0].ID); err != nil {
			return Pending{}, err
		}
		waiting = waiting[1:]
	}
	return p, s.state.Set(ctx, p.ID, tool.MustMarshal(p))
}

// List returns the waiting calls, oldest first, and drops expired ones.
func (s *Store) List(ctx context.Context) ([]Pending, error) {
	keys, err := s.state.Keys(ctx, "")
	if err != nil {
		return nil, err
	}
	var waiting []Pending
	for _, key := range keys {
		p, ok, err := s.read(ctx, key)
		if err != nil {
			return nil, err
		}
		if ok {
			waiting = append(waiting, p)
		} else if err := s.state.Delete(ctx, key); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(waiting, func(a, b Pending) int { return a.Asked.Compare(b.Asked) })
	return waiting, nil
}

// read returns a pending call that is valid and not expired.
func (s *Store) read(ctx context.Context, key string) (p Pending, ok bool, err error) {
	data, ok, err := s.state.Get(ctx, key)
	if err != nil || !ok {
		return p, false, err
	}
	broken := json.Unmarshal(data, &p) != nil || p.ID != key
	return p, !broken && s.now().Before(p.Expires), nil
}

// Get returns the pending call with an ID.
func (s *Store) Get(ctx context.Context, id string) (Pending, error) {
	p, ok, err := s.read(ctx, strings.ToLower(id))
	if err == nil && !ok {
		err = tool.Errorf(tool.NotFound,
			"no call waits for approval as %q: it was decided on, or has waited for more than %s", id, PendingTime).
			Suggest("toolhost approve lists those that wait; a call that is made again waits again.")
	}
	return p, err
}

// Drop removes a waiting call.
func (s *Store) Drop(ctx context.Context, id string) error {
	return s.state.Delete(ctx, id)
}

// Word is a person's decision about a call.
type Word struct {
	// Refused is set if the call may not run. Reason is for the agent.
	Refused bool   `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// grant is the file of a decision.
type grant struct {
	Version int       `json:"version"`
	Digest  string    `json:"digest"`
	Expires time.Time `json:"expires"`
	Word
}

const grantVersion = 2

// Approve allows the call of p to run once, and removes it from the waiting ones.
func (s *Store) Approve(ctx context.Context, p Pending) error { return s.decide(ctx, p, Word{}) }

// Refuse makes the next call equal to p fail with the reason, which may be empty.
func (s *Store) Refuse(ctx context.Context, p Pending, reason string) error {
	return s.decide(ctx, p, Word{true, reason})
}

func (s *Store) decide(ctx context.Context, p Pending, word Word) error {
	s.sweep()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s.failure(err)
	}
	digest := p.Digest()
	data := tool.MustMarshal(grant{grantVersion, digest, s.now().UTC().Add(GrantTime), word})
	if err := atomicfile.Write(s.file(digest), data, 0o600); err != nil {
		return s.failure(err)
	}
	return s.Drop(ctx, p.ID)
}

func (s *Store) file(digest string) string { return filepath.Join(s.dir, digest+".json") }

// Take consumes the decision about a call; nil if there is none yet.
func (s *Store) Take(call Call) (*Word, error) {
	digest := call.Digest()
	path := s.file(digest)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.failure(err)
	}
	if formatOf(data) > grantVersion {
		return nil, userdir.Newer("an approval", path, path, formatOf(data), grantVersion)
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // another call took it
	} else if err != nil {
		return nil, s.failure(err)
	}
	return s.holds(data, digest), nil
}

// holds returns the decision in a file that is valid and not expired.
func (s *Store) holds(data []byte, digest string) *Word {
	var g grant
	if json.Unmarshal(data, &g) != nil || g.Version != grantVersion || g.Digest != digest ||
		!s.now().Before(g.Expires) {
		return nil
	}
	return &g.Word
}

func formatOf(data []byte) int {
	var g struct {
		Version int `json:"version"`
	}
	_ = json.Unmarshal(data, &g)
	return g.Version
}

func (s *Store) sweep() {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	for _, path := range files {
		digest := strings.TrimSuffix(filepath.Base(path), ".json")
		if data, err := os.ReadFile(path); err == nil && formatOf(data) <= grantVersion && s.holds(data,
			digest) == nil {
			_ = os.Remove(path)
		}
	}
}

func (s *Store) failure(err error) error {
	code := tool.Unavailable
	if errors.Is(err, fs.ErrPermission) {
		code = tool.PermissionDenied
	}
	return tool.Errorf(code, "cannot keep approvals in %s: %w", s.dir, err).
		Suggest("Check that the directory belongs to you and is writable.")
}

// Approved returns the message to the approver of a call.
func Approved() string {
	return fmt.Sprintf("Approved, for %s. Tell the agent to make the call again.", Spoken(GrantTime))
}

// Denied returns the message to a user who denied a call of the named tool.
func Denied(name string) string {
	return fmt.Sprintf("Denied. The agent is told when it makes the call of %s again, within %s.", show.Line(name),
		Spoken(GrantTime))
}

// NotApproved returns the error of a command for approving a call of the named tool when it was denied.
func NotApproved(name string) error {
	return tool.Errorf(tool.Denied, "the call of %s is not approved", show.Line(name)).
		Suggest("It will not run. The agent is told when it makes the call again.")
}

// Spoken formats a duration of whole minutes.
func Spoken(d time.Duration) string {
	n, unit := int(d/time.Minute), "minute"
	if d%time.Hour == 0 {
		n, unit = int(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
