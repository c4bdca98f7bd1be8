package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
)

// session is a fleet's session at this worker: its workspace, the host that serves it, and when it is
// packed. A worker gives it up by packing the workspace, for another worker to take over.
type session struct {
	worker *Worker
	key    string
	name   string // the MCP session's
	ready  chan struct{}
	failed error // once ready is closed

	workspace *provided
	offer     *project.Offer
	handler   handler
	life      context.Context
	end       context.CancelFunc

	mu        sync.Mutex
	record    fleet.Record
	using     int // requests, including event streams
	working   int // requests without event streams
	idleSince time.Time
	closing   bool
	waiting   bool // for tasks to end, while it is closing
	told      bool // that the workspace was restored

	waits     atomic.Bool  // a call may wait for approval
	looking   sync.Mutex   // held while files are checked
	looked    atomic.Int64 // last check of the files, since the worker began
	quiet     sync.RWMutex // held for reading while a call runs
	changed   atomic.Int64 // counts calls that may have changed something
	packed    int64        // changed at the newest pack
	unsettled bool         // tasks ran at the newest pack
	packing   sync.Mutex
	packNext  atomic.Bool // a pack waits for the one in progress
	unpacked  atomic.Bool // a call ran when it should have been packed
}

type handler interface {
	http.Handler
	Close()
}

// enter returns the session of a request, entered once, or why there is none.
func (w *Worker) enter(ctx context.Context, env *fleet.Envelope) (_ *session, why, text string) {
	w.mu.Lock()
	s := w.sessions[env.Session]
	if env.Known && (s == nil || env.Record.Epoch != s.epoch()) {
		w.mu.Unlock()
		return nil, fleet.RefusedGone, ""
	}
	if s != nil && env.Record.Epoch > s.epoch() {
		delete(w.sessions, env.Session)
		go s.close()
		s = nil
	}
	switch {
	case s != nil && env.Record.Epoch < s.epoch():
		w.mu.Unlock()
		return nil, fleet.RefusedStale, ""
	case s == nil && w.draining:
		w.mu.Unlock()
		return nil, fleet.RefusedMoving, ""
	case s == nil && w.isFull():
		w.mu.Unlock()
		return nil, fleet.RefusedBusy, ""
	case s == nil:
		s = &session{worker: w, key: env.Session, name: env.Name, record: env.Record, ready: make(chan struct{}),
			idleSince: time.Now()}
		s.life, s.end = context.WithCancel(w.life)
		w.sessions[env.Session] = s
		w.capacity.since++
		go s.open(env)
	}
	entered := s.enterAbout(env.Method != http.MethodGet, strings.HasPrefix(env.Header.Get("Mcp-Method"), "tasks/"))
	w.mu.Unlock()
	if !entered {
		return nil, fleet.RefusedMoving, ""
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		s.leaveAs(env.Method)
		return nil, fleet.RefusedMoving, ""
	}
	if s.failed != nil {
		s.leaveAs(env.Method)
		w.drop(s.key, s.epoch())
		return nil, fleet.RefusedFailed, s.failed.Error()
	}
	return s, "", ""
}

// uri adapts a request's URI for the host: a client-named session has another name in the
// record of each workspace, where its calls are counted from 1.
func (s *session) uri(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || s.workspace.shared || s.epoch() < 2 || u.Query().Get("session") == "" {
		return asked
	}
	u.RawQuery = url.Values{"session": {fmt.Sprintf("%s.%d", u.Query().Get("session"), s.epoch())}}.Encode()
	return u.String()
}

func (s *session) epoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Epoch
}

func (s *session) enter(works bool) bool { return s.enterAbout(works, false) }

// enterAbout is enter for a request that may be about a task: these are allowed while the session
// waits for its tasks.
func (s *session) enterAbout(works, aboutTask bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing && !(aboutTask && s.waiting) {
		return false
	}
	s.using++
	if works {
		s.working++
	}
	return true
}

func (s *session) leaveAs(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.using--
	if method != http.MethodGet {
		s.working--
	}
	s.idleSince = time.Now()
}

func (s *session) idleFor(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.using > 0 || s.closing {
		return 0
	}
	return now.Sub(s.idleSince)
}

const openWithin = 5 * time.Minute

func (s *session) open(env *fleet.Envelope) {
	defer close(s.ready)
	ctx, cancel := context.WithTimeout(s.life, openWithin)
	defer cancel()
	if s.failed = s.provide(ctx); s.failed != nil {
		return
	}
	if s.failed = s.host(ctx); s.failed != nil {
		return
	}
	if s.name != "" && !env.Opening && len(env.Record.Initialize) > 0 {
		s.failed = s.replay(ctx, env.Record.Initialize)
	}
}

func (s *session) host(ctx context.Context) error {
	w, from := s.worker, s.record.Workspace
	opening := &project.Opening{
		Location: project.Location{Workspace: s.workspace.dir, File: from.Config, Trust: from.Trust},
		Toolset:  from.Toolset, Version: w.options.Version, Logger: w.logger, LogSecrets: new(project.LogSecrets),
		Standing: new(atomic.Pointer[agentfile.Standing]), BeforeRun: s.beforeRun,
		HowToApprove: s.howToApprove,
		Telemetry:    func(string) *telemetry.Relay { return w.options.Telemetry },
	}
	serving := project.Serving{SessionID: func() string { return s.name }, Middleware: s.middleware,
		TaskAfter: w.options.TaskAfter, Unwatched: true, NoUndo: true}
	var err error
	if s.offer, err = opening.Offer(s.life, serving); err != nil {
		return err
	}
	s.looked.Store(int64(time.Since(w.began)))
	s.handler = mcpserve.NewHTTP(s.offer.Server,
		mcpserve.HTTPOptions{SessionIdle: 30 * 24 * time.Hour, Logger: w.logger})
	return nil
}

// replay reopens the MCP session that another worker had.
func (s *session) replay(ctx context.Context, initialize []byte) error {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	answer, err := s.post(ctx, header, initialize)
	if err != nil {
		return err
	}
	var asked struct {
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	_ = json.Unmarshal(initialize, &asked)
	header.Set("Mcp-Session-Id", s.name)
	header.Set("MCP-Protocol-Version", agreed(answer, asked.Params.ProtocolVersion))
	_, err = s.post(ctx, header, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return err
}

func (s *session) post(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	r, err := httpRequest(ctx, http.MethodPost, "/mcp", header.Clone(), body)
	if err != nil {
		return nil, err
	}
	answer := &recorder{header: make(http.Header), status: http.StatusOK}
	s.handler.ServeHTTP(answer, r)
	if answer.status >= 300 {
		return nil, fmt.Errorf("the session cannot be opened again: %d %s", answer.status,
			bytes.TrimSpace(answer.body.Bytes()))
	}
	return answer.body.Bytes(), nil
}

// recorder is a http.ResponseWriter that keeps the answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorder) Flush()                      {}

func agreed(answer []byte, asked string) string {
	_, rest, ok := bytes.Cut(answer, []byte(`"protocolVersion":"`))
	if !ok {
		return asked
	}
	revision, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(revision)
}

// drop ends a session of an epoch silently: another worker has it.
func (w *Worker) drop(key string, epoch uint64) {
	w.mu.Lock()
	s := w.sessions[key]
	if s == nil || s.epoch() != epoch {
		w.mu.Unlock()
		return
	}
	delete(w.sessions, key)
	w.mu.Unlock()
	s.close()
}

func (s *session) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end()
	<-s.ready
	if s.handler != nil {
		s.handler.Close()
	}
	if s.offer != nil {
		s.offer.Project.Close()
	}
	if s.workspace != nil {
		s.workspace.remove()
	}
}

// release packs an unused session and gives it up: another worker may take it, or this one again.
// One that cannot be packed stays: if the worker ends then, its client gets an error.
func (w *Worker) release(ctx context.Context, s *session) {
	s.mu.Lock()
	was := s.closing
	s.closing = true
	s.mu.Unlock()
	if was {
		return
	}
	<-s.ready
	if !s.rest(ctx) {
		return
	}
	w.unloading <- struct{}{}
	defer func() { <-w.unloading }()
	err := s.packAll(ctx)
	if err == nil {
		err = w.requestWithRetry(ctx, fleet.Ask{Session: s.key, Epoch: s.epoch(), Release: true})
	}
	if err != nil {
		w.logger.Warn("a session could not be released", "session", s.key, "error", err)
		s.mu.Lock()
		s.closing = false
		s.mu.Unlock()
		return
	}
	w.drop(s.key, s.epoch())
}

func (s *session) isLetGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working > 0
}

// dirty records a call that may change the workspace, and has it packed later.
func (s *session) dirty() {
	s.changed.Add(1)
	s.packLater()
}

func (s *session) packLater() { s.packAfter(s.worker.options.PackAfter) }

func (s *session) packAfter(after time.Duration) {
	time.AfterFunc(after, func() {
		if s.life.Err() == nil {
			s.pack(s.life)
		}
	})
}

// pack stores a changed workspace if no call runs. It waits for a pack in progress, which may
// be older than the last call.
func (s *session) pack(ctx context.Context) {
	<-s.ready
	if s.failed != nil || s.workspace.shared {
		return
	}
	waits := !s.packing.TryLock()
	if waits {
		if s.packNext.Swap(true) {
			return // another already waits, and sees all changes until now
		}
		s.packing.Lock()
		s.packNext.Store(false)
	}
	defer s.packing.Unlock()
	if ctx.Err() != nil || waits && s.isLetGo() {
		return // a session that is given up is packed then
	}
	if !s.quiet.TryLock() {
		s.unpacked.Store(true) // the running call has it packed when it ends
		if !s.quiet.TryLock() {
			return
		}
	}
	_ = s.packIfChanged(ctx)
}

// packAll is pack for a session that is given up: no call runs.
func (s *session) packAll(ctx context.Context) error {
	<-s.ready
	if s.failed != nil || s.workspace.shared {
		return nil
	}
	s.packing.Lock()
	defer s.packing.Unlock()
	s.quiet.Lock()
	return s.packIfChanged(ctx)
}

// tasksPackEvery is the interval of packing while tasks run.
const tasksPackEvery = time.Minute

// packIfChanged packs the workspace if it has changed, or if tasks that ran at the last pack may have
// changed it. It unlocks quiet.
func (s *session) packIfChanged(ctx context.Context) error {
	at := s.changed.Load()
	if at == s.packed && !s.unsettled {
		s.quiet.Unlock()
		return nil
	}
	now, runs := time.Now(), s.hasTasks()
	file, digest, err := packed(s.workspace.dir, s.worker.options.Dir)
	s.quiet.Unlock()
	if err == nil {
		err = s.upload(ctx, file, digest, now)
	}
	if err != nil {
		s.worker.logger.Warn("a workspace was not packed", "session", s.key, "error", err)
		return err
	}
	if s.packed, s.unsettled = at, runs; runs {
		s.packAfter(tasksPackEvery)
	}
	s.worker.logger.Info("a workspace is packed", "session", s.key, "pack", digest)
	return nil
}

func (s *session) upload(ctx context.Context, file, digest string, at time.Time) error {
	defer os.Remove(file)
	s.mu.Lock()
	known := s.record.Pack == digest
	s.mu.Unlock()
	if known {
		return nil
	}
	in, err := os.Open(filepath.Clean(file))
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil {
		err = s.transfer(ctx, digest, in, info.Size())
	}
	if err != nil {
		return err
	}
	err = s.worker.requestWithRetry(ctx, fleet.Ask{Session: s.key, Epoch: s.epoch(), Pack: digest, Packed: at})
	if err != nil {
		return errors.Join(errors.New("the gateways did not take note of it"), err)
	}
	s.mu.Lock()
	s.record.Pack, s.record.Packed = digest, at
	s.mu.Unlock()
	return nil
}
