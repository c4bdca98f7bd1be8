package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// Bounds limit what a call may change without approval. With the zero Bounds the user is asked about every
// change.
type Bounds struct {
	// Files bounds the changed paths, Bytes what is written; zero means no bound.
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Paths are globs of what may change; empty means all.
	Paths []string `json:"paths,omitempty"`
	// Deletes allows removals.
	Deletes bool `json:"deletes,omitempty"`
	// Deny refuses a call beyond the bounds; otherwise the user is asked.
	Deny bool `json:"deny,omitempty"`
}

func (l *Bounds) bounded() bool { return l.Files > 0 || l.Bytes > 0 || len(l.Paths) > 0 }

// beyond returns which changes exceed the limits, or "".
func (l *Bounds) beyond(ch *Changes) string {
	if !l.bounded() {
		return "every change is shown first"
	}
	if l.Files > 0 && len(ch.Files) > l.Files {
		return fmt.Sprintf("it changes %d paths, and the rule lets %d change", len(ch.Files), l.Files)
	}
	var bytes int64
	for i := range ch.Files {
		f := &ch.Files[i]
		bytes += f.Bytes
		switch {
		case len(l.Paths) > 0 && !slices.ContainsFunc(l.Paths, f.matches):
			return fmt.Sprintf("it changes %q, which is none of the rule's paths", f.Path)
		case !l.Deletes && (f.Change == "delete" || f.Change == "replace"):
			return fmt.Sprintf("it removes %q, and the rule lets nothing be removed", f.Path)
		case f.Kind == "symlink" && f.Change != "delete":
			return fmt.Sprintf("it makes the symbolic link %q, which no rule lets pass", f.Path)
		}
	}
	if l.Bytes > 0 && bytes > l.Bytes {
		return fmt.Sprintf("it writes %d bytes, and the rule lets %d be written", bytes, l.Bytes)
	}
	return ""
}

// matches reports whether a glob matches the path. An invalid pattern does not.
func (f *FileChange) matches(glob string) bool {
	ok, err := doublestar.Match(path.Clean(glob), f.Path)
	return ok && err == nil
}

// reviewed is a call that was made in a view and whose changes wait for approval.
type reviewed struct {
	view    View
	changes *Changes
	result  *tool.Result
	expires time.Time

	connections       []network.Connection
	connectionsMissed int
}

// Bounds of the waiting calls.
const (
	reviewTime  = time.Hour
	mostReviews = 20
)

// reviews are the waiting calls of a host, by their names.
type reviews struct {
	mu      sync.Mutex
	waiting map[string]*reviewed
}

// popCall removes and returns the waiting call of that name, or nil.
func (r *reviews) popCall(ctx context.Context, name string) *reviewed {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[name]
	delete(r.waiting, name)
	if w != nil && time.Now().After(w.expires) {
		w.view.Close(ctx)
		return nil
	}
	return w
}

// addCall makes a call wait. Expired ones are dropped, and the oldest make room.
func (r *reviews) addCall(ctx context.Context, name string, w *reviewed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[string]*reviewed)
	}
	now := time.Now()
	for other, old := range r.waiting {
		if other == name || now.After(old.expires) {
			old.view.Close(ctx)
			delete(r.waiting, other)
		}
	}
	w.expires = now.Add(reviewTime)
	r.waiting[name] = w
	for len(r.waiting) > mostReviews {
		oldest := ""
		for other, w := range r.waiting {
			if oldest == "" || w.expires.Before(r.waiting[oldest].expires) {
				oldest = other
			}
		}
		r.waiting[oldest].view.Close(ctx)
		delete(r.waiting, oldest)
	}
}

// DropReviews drops all calls whose changes wait for approval.
func (h *Host) DropReviews(ctx context.Context) {
	h.reviews.mu.Lock()
	defer h.reviews.mu.Unlock()
	for name, w := range h.reviews.waiting {
		w.view.Close(ctx)
		delete(h.reviews.waiting, name)
	}
}

// reviewKey is the key of the digest of the shown changes in a request with an approval.
const reviewKey = "toolhost.review"

// bind makes the answer to a question for approval name the changes that it is for.
func (c *call) bind(q *tool.InputRequired) {
	if c.reviewed == nil || !IsApproval(q) {
		return
	}
	if c.outcome.Answers == nil {
		c.outcome.Answers = make(map[string]tool.Answer)
	}
	c.outcome.Answers[reviewKey] = tool.Answer{Action: "accept", Content: tool.MustMarshal(c.reviewed.changes.Digest)}
}

// reviewName names a call for a caller who repeats it.
func (c *call) reviewName(ctx context.Context) (string, error) {
	p, err := c.proposal(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(tool.MustMarshal([]any{c.binding(), p.Tool, p.Source, p.Params, p.Argv}))
	return hex.EncodeToString(sum[:]), nil
}

// shown returns the digest of the changes that the request's approval is for, "" if none were shown.
func (c *call) shown() string {
	var digest string
	_ = json.Unmarshal(c.request.Answers[reviewKey].Content, &digest)
	return digest
}

// review makes the call in a view if the judge requires it. Its changes are applied at the end, or dropped.
func (c *call) review(ctx context.Context) error {
	if c.outcome.Decision.Action != Review || c.request.DryRun {
		return nil
	}
	if !c.viewable() || c.host.options.Views == nil {
		c.outcome.Decision.Action = Ask
		c.outcome.Decision.Reason += "; the tool has no view to run in, so that it is asked about before it runs"
		return nil
	}
	name, err := c.reviewName(ctx)
	if err != nil {
		return err
	}
	want := c.shown()
	if c.reviewed, err = c.shownBefore(ctx, name, want); err != nil {
		return err
	}
	if c.reviewed == nil {
		if c.reviewed, err = c.inReview(ctx); err != nil {
			return err
		}
	}
	c.reviewing = name
	c.connections, c.connectionsMissed = c.reviewed.connections, c.reviewed.connectionsMissed
	ch := c.reviewed.changes
	c.outcome.Changes = ch
	c.outcome.Plan = further(c.outcome.Plan, ch.told())
	c.outcome.Plan.FilesAffected = ch.paths()
	return nil
}

// shownBefore returns the call made in a view before, nil if there is none and nothing was shown. Changes other
// than those shown are refused.
func (c *call) shownBefore(ctx context.Context, name, want string) (*reviewed, error) {
	w := c.host.reviews.popCall(ctx, name)
	if w == nil && want == "" {
		return nil, nil
	}
	if w == nil {
		return nil, changedSince(c.entry.Name, "what was shown is no longer kept")
	}
	now, err := w.view.Changes(ctx)
	if err == nil && now.Digest == w.changes.Digest && (want == "" || want == now.Digest) {
		return w, nil
	}
	w.view.Close(ctx)
	if err != nil || want == "" {
		return nil, err // it is made again
	}
	return nil, changedSince(c.entry.Name, "what the call would change is no longer what was shown")
}

func changedSince(name, why string) *tool.Error {
	return tool.Errorf(tool.Conflict, "what was approved of %s cannot be done: %s", name, why).
		Suggest("Nothing was changed. Make the call again; what it changes is then shown again.")
}

func (c *call) inReview(ctx context.Context) (*reviewed, error) {
	view, err := c.host.options.Views.Open(ctx)
	if err != nil {
		return nil, err
	}
	w := &reviewed{view: view}
	connections := c.networkLog(ctx)
	c.outcome.Result, err = c.runIn(network.With(ctx, connections), view)
	err = c.connected(connections, err)
	w.result, c.outcome.Result = c.outcome.Result, nil
	w.connections, w.connectionsMissed = c.connections, c.connectionsMissed
	if err == nil {
		w.changes, err = view.Changes(ctx)
	}
	if err == nil {
		return w, nil
	}
	view.Close(ctx)
	e := tool.AsError(err)
	note := "The call was made in a view of the workspace, and what it changed there was dropped. "
	failed := *e
	failed.Suggestion = note + ownDoing(e.Message) + e.Suggestion
	return nil, &failed
}

// settleReview decides on the changes of a call: by the rules' limits, or else by the user.
func (c *call) settleReview(ctx context.Context) error {
	ch, d := c.reviewed.changes, &c.outcome.Decision
	if len(ch.Files) == 0 {
		d.Reason += "; it changes no file"
		return nil
	}
	why, deny := "", false
	for i := range d.Review {
		if beyond := d.Review[i].beyond(ch); beyond != "" {
			why, deny = cmp.Or(why, beyond), deny || d.Review[i].Deny
		}
	}
	switch {
	case len(d.Review) == 0:
		why = "every change is shown first"
	case why == "":
		d.Reason += "; what it changes is within the limits"
		return nil
	}
	d.Reason += "; " + why
	if deny {
		c.decided(ctx, "")
		return denied(c.entry.Name, *d)
	}
	return c.approveCall(ctx)
}

// approveReview is approve for a call in a view, which is kept while it waits for a decision.
func (c *call) approveReview(ctx context.Context) error {
	err := c.settleReview(ctx)
	if err == nil {
		return nil
	}
	_, asks := errors.AsType[*tool.InputRequired](err)
	if asks || c.filed {
		if kept := c.reviewed.view.Keep(ctx, c.reviewed.changes.Digest); kept != nil {
			c.host.logger.WarnContext(ctx, "what a call would change cannot be shown elsewhere", "error", kept)
		}
		c.host.reviews.addCall(ctx, c.reviewing, c.reviewed)
	} else {
		c.reviewed.view.Close(ctx)
	}
	return err
}

func (c *call) commit(ctx context.Context) (err error) {
	w := c.reviewed
	keep := false
	defer func() {
		if !keep {
			w.view.Close(ctx)
		}
	}()
	if effects := c.host.options.Effects; effects != nil {
		ended := effects(ctx)
		defer func() { err = c.affected(ended, err) }()
	}
	if err := w.view.Commit(ctx, w.changes.Digest); err != nil {
		e := tool.AsError(err)
		if e.Code == tool.Conflict {
			keep = true
			_ = e.With("view", w.view.Place())
			e.Suggestion = strings.TrimSpace(e.Suggestion + " What the call made of them is kept in " + w.view.Place() +
				".")
		}
		return e
	}
	result := w.result.Affecting(w.changes.paths()...)
	c.outcome.Result = placed(checked(c.entry, result), c.host.options.Root)
	return nil
}

// previewKept shows in a dry run what a waiting call has changed in its view.
func (c *call) previewKept(ctx context.Context) (bool, error) {
	if c.request.Shown == "" || c.host.options.Views == nil {
		return false, nil
	}
	changes, err := c.host.options.Views.Kept(ctx, c.request.Shown)
	if err != nil {
		return true, err
	}
	if changes.Digest != c.request.Shown {
		return true, changedSince(c.entry.Name, "what the call would change is no longer what was shown")
	}
	c.outcome.Changes = changes
	c.outcome.Plan = further(c.outcome.Plan, changes.told())
	c.outcome.Plan.FilesAffected = changes.paths()
	return true, nil
}
