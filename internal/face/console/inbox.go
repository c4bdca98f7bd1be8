package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Intervals of the inbox stream.
const (
	inboxPause = 100 * time.Millisecond
	beat       = time.Second
	// writeTime bounds each write to a reader.
	writeTime = 10 * time.Second
)

type waitingCall struct {
	Key     string    `json:"key"`
	Space   string    `json:"space"`
	ID      string    `json:"id"`
	Root    string    `json:"root"`
	Worker  string    `json:"worker,omitempty"` // for a call of a fleet
	Tenant  string    `json:"tenant,omitempty"`
	Tool    string    `json:"tool"`
	Call    string    `json:"call"`
	About   string    `json:"about,omitempty"`
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"`
	Toolset string    `json:"toolset,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Digest  string    `json:"digest"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
}

// mostLine bounds a call in the list. The page shows the whole beside it.
const mostLine = 300

func lineOf(s *space, p approval.Pending) waitingCall {
	return waitingCall{Key: s.id + "/" + p.ID, Space: s.id, ID: p.ID, Root: s.title(), Tool: show.Page.Line(p.Tool),
		Call: show.Fit(p.Line(), mostLine), About: about(p.Seen()), Session: show.Page.Line(p.Session),
		Client:  show.SanitizeLine(p.Client, show.MostName),
		Toolset: show.Page.Line(p.Toolset), Reason: show.SanitizeLine(p.Reason, mostLine), Digest: p.Digest(), Asked: p.Asked,
		Expires: p.Expires}
}

// inboxNews is what changed since the last one.
type inboxNews struct {
	Add      []waitingCall `json:"add,omitempty"`
	Gone     []string      `json:"gone,omitempty"`
	Problems []string      `json:"problems,omitempty"`
	Ready    bool          `json:"ready"`
	// More is set if further lines belong to it.
	More bool `json:"more,omitempty"`
}

// mostNews bounds the calls in one line.
const mostNews = 500

// parts splits news into lines of bounded size.
func (n inboxNews) parts() (all []inboxNews) {
	for len(n.Add) > mostNews {
		all = append(all, inboxNews{Add: n.Add[:mostNews], Ready: n.Ready, More: true})
		n.Add = n.Add[mostNews:]
	}
	return append(all, n)
}

func (s *Server) followInbox(w http.ResponseWriter, r *http.Request) error {
	out, done, err := s.stream(w)
	if err != nil {
		return err
	}
	defer done()
	defer s.watch.begin()()
	sent := make(map[string]string) // digest by key
	last, problems := time.Time{}, []string(nil)
	for first := true; ; first = false {
		news := s.news(r.Context(), sent)
		if first || len(news.Add)+len(news.Gone) > 0 || !slices.Equal(news.Problems, problems) ||
			time.Since(last) > 5*beat {
			problems = news.Problems
			for _, part := range news.parts() {
				if out(part) != nil {
					return nil
				}
			}
			last = time.Now()
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		case <-time.After(inboxPause):
		}
	}
}

// news brings sent up to date.
func (s *Server) news(ctx context.Context, sent map[string]string) (news inboxNews) {
	news.Ready = true
	now := make(map[string]bool)
	addWaiting := func(waiting []waitingCall) {
		for _, call := range waiting {
			now[call.Key] = true
			if sent[call.Key] != call.Digest {
				sent[call.Key] = call.Digest
				news.Add = append(news.Add, call)
			}
		}
	}
	for _, found := range s.spaces.all() {
		waiting, err := found.pending(ctx)
		if err != nil && ctx.Err() == nil {
			news.Problems = append(news.Problems, shownText(found.title()+": "+err.Error()))
		}
		addWaiting(waiting)
	}
	remote, problems := s.waitingRemote()
	news.Problems = append(news.Problems, problems...)
	addWaiting(remote)
	for key := range sent {
		if !now[key] {
			delete(sent, key)
			news.Gone = append(news.Gone, key)
		}
	}
	return news
}

// stream begins an answer of one JSON object a line. A reader that does not read is dropped.
func (s *Server) stream(w http.ResponseWriter) (out func(any) error, done func(), err error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, nil, tool.Errorf(tool.Unavailable, "%d pages are open already", mostStreams).Suggest("Close some.")
	}
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	return func(v any) error {
		_ = control.SetReadDeadline(time.Time{})
		if err := control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		data, err := json.Marshal(v)
		if err == nil {
			_, err = w.Write(append(data, '\n'))
		}
		if err == nil {
			err = control.Flush()
		}
		return err
	}, func() { <-s.streams }, nil
}

// look is a waiting call with all details.
type look struct {
	waitingCall
	Flags    []string        `json:"flags,omitempty"`
	Question json.RawMessage `json:"question,omitempty"`
	Always   json.RawMessage `json:"always,omitempty"`
	// Shown is the digest of all that is shown; a decision names it.
	Shown string `json:"shown"`
	// Problem is why the call can only be denied.
	Problem string `json:"problem,omitempty"`
}

func (s *Server) inspectCall(ctx context.Context, found *space, id string) (look, approval.Pending, error) {
	p, err := found.approvals.Get(ctx, id)
	if err != nil {
		return look{}, p, err
	}
	l := look{waitingCall: lineOf(found, p)}
	for _, flag := range p.Flags {
		l.Flags = append(l.Flags, show.Page.Word(flag))
	}
	var told struct {
		Digest   string          `json:"digest"`
		Question json.RawMessage `json:"question"`
		Always   json.RawMessage `json:"always"`
	}
	err = s.askJSON(ctx, found, p.Flags, &told, "approve", "--json", "--", p.ID)
	switch {
	case err != nil:
		e := tool.AsError(err)
		l.Problem = shownText(e.Message + " " + e.Suggestion)
		l.Question = tool.MustMarshal(show.Question{Tool: p.Tool, Reason: p.Reason, Params: paramsOf(p.Seen())}.Parts())
	case told.Digest != l.Digest:
		return l, p, changedSince()
	default:
		l.Question, l.Always = told.Question, shownJSON(told.Always)
	}
	l.Shown = digestOf([]byte(l.Digest), compacted(l.Question), compacted(l.Always), []byte(l.Problem))
	return l, p, nil
}

func changedSince() error {
	return tool.Errorf(tool.Conflict, "the call, or what it would do, is not what was shown").
		Suggest("Nothing was decided. Look at it again.")
}

func compacted(data json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

func (s *Server) lookAtPending(w http.ResponseWriter, r *http.Request) error {
	call, err := s.findRemote(r.FormValue("space"), r.FormValue("id"))
	if err != nil {
		return err
	}
	if call != nil {
		l, _, err := s.lookAway(r.Context(), *call)
		return give(w, l, err)
	}
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	l, _, err := s.inspectCall(r.Context(), found, r.FormValue("id"))
	return give(w, l, err)
}

type decision struct {
	Space   string `json:"space"`
	ID      string `json:"id"`
	Digest  string `json:"digest"`
	Shown   string `json:"shown"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

// mostReason bounds a reason, in bytes.
const mostReason = 4 << 10

func (s *Server) decide(w http.ResponseWriter, r *http.Request) error {
	var d decision
	if err := given(r, &d); err != nil {
		return err
	}
	if !slices.Contains([]string{"once", "always", "deny"}, d.Verdict) {
		return tool.Errorf(tool.InvalidArgument, "%q is not a decision", show.SanitizeLine(d.Verdict, show.MostName)).
			Suggest("Decide once, always or deny.")
	}
	call, err := s.findRemote(d.Space, d.ID)
	if err == nil && call != nil {
		err = s.decideAway(r.Context(), *call, d)
	} else if err == nil {
		err = s.decideHere(r.Context(), d)
	}
	return give(w, map[string]string{"decided": d.Verdict}, err)
}

func (s *Server) decideHere(ctx context.Context, d decision) error {
	found, err := s.spaces.find(d.Space)
	if err != nil {
		return err
	}
	if d.Verdict == "deny" {
		return s.refuse(ctx, found, d)
	}
	return s.approve(ctx, found, d)
}

func reasonFits(reason string) error {
	if len(reason) > mostReason {
		return tool.Errorf(tool.InvalidArgument, "the reason has %d bytes", len(reason)).
			Suggest("Give at most %d.", mostReason)
	}
	return nil
}

// refuse denies a call; it need not know what the call would do.
func (s *Server) refuse(ctx context.Context, found *space, d decision) error {
	if err := reasonFits(d.Reason); err != nil {
		return err
	}
	p, err := found.approvals.Get(ctx, d.ID)
	if err == nil && p.Digest() != d.Digest {
		err = changedSince()
	}
	if err != nil {
		return err
	}
	return found.approvals.Refuse(ctx, p, d.Reason)
}

// approve lets the call run only if it still is, and would do, what was shown.
func (s *Server) approve(ctx context.Context, found *space, d decision) error {
	l, p, err := s.inspectCall(ctx, found, d.ID)
	if err != nil {
		return err
	}
	if l.Digest != d.Digest || l.Shown != d.Shown || d.Shown == "" {
		return changedSince()
	}
	if l.Problem != "" {
		return tool.Errorf(tool.Denied, "%s", l.Problem).Suggest("It can be denied.")
	}
	if d.Verdict == "always" {
		dir, err := policy.RememberedDir()
		if err != nil {
			return err
		}
		remembered, err := policy.OpenRemembered(dir, found.root)
		if err != nil {
			return err
		}
		rule, err := p.Always()
		if err != nil {
			return err
		}
		if err := remembered.Add(rule); err != nil {
			return err
		}
	}
	return found.approvals.Approve(ctx, p)
}

// watch marks the waiting calls as looked at while a page is open: then their callers wait for the
// answer.
type watch struct {
	mu    sync.Mutex
	pages int
	end   chan struct{}
}

func (w *watch) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages++
	if w.pages == 1 {
		w.end = make(chan struct{})
		go keepBeating(w.end)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.pages--; w.pages == 0 {
			close(w.end)
		}
	}
}

func keepBeating(end chan struct{}) {
	path, err := userdir.Watched()
	if err != nil {
		return
	}
	for {
		now := time.Now()
		if os.Chtimes(path, now, now) != nil {
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			_ = os.WriteFile(path, nil, 0o600)
		}
		select {
		case <-end:
			return
		case <-time.After(beat):
		}
	}
}
