package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Options configures a console.
type Options struct {
	// Toolhost is the program that answers questions about projects.
	Toolhost string
	// Version is its version.
	Version string
	// Remote has the waiting calls of other machines. May be nil.
	Remote RemoteInbox
	Logger *slog.Logger
}

// Server is a console. It listens only on this machine.
type Server struct {
	options Options
	guard   *guard
	listen  net.Listener
	spaces  *spaces
	browse  func(path string) error // opens a file in the user's browser
	routes  map[string]route
	watch   watch
	large   large
	logins  logins
	streams chan struct{} // a token for each open stream
	closing chan struct{}
	once    sync.Once
}

type route struct {
	kind   kind
	answer func(w http.ResponseWriter, r *http.Request) error
}

// mostStreams bounds the pages kept up to date.
const mostStreams = 64

// Listen returns a console on that port of 127.0.0.1; 0 means any.
func Listen(port string, o Options) (*Server, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the console cannot listen on port %s: %w", port, err).
			Suggest("Leave --port out, or choose another one.")
	}
	s := &Server{options: o, listen: l, guard: newGuard(l.Addr().String()), spaces: &spaces{known: make(map[string]*space)},
		browse: openFile, streams: make(chan struct{}, mostStreams), closing: make(chan struct{})}
	s.routes = s.table()
	return s, nil
}

// Address returns a URL that opens the console once, in one browser.
func (s *Server) Address() string {
	return "http://" + s.guard.host + "/#code=" + s.guard.newCode()
}

// table lists all routes and the kind of request that each demands.
func (s *Server) table() map[string]route {
	return map[string]route{
		"/":            {document, s.page("index.html", "text/html; charset=utf-8")},
		entrancePath:   {entrance, s.page("index.html", "text/html; charset=utf-8")},
		"/app.js":      {asset, s.page("app.js", "text/javascript; charset=utf-8")},
		"/app.css":     {asset, s.page("app.css", "text/css; charset=utf-8")},
		"/api/session": {exchange, s.openSession},
		"/api/inbox":   {reading, s.followInbox},
		"/api/pending": {reading, s.lookAtPending},
		"/api/spaces":  {reading, s.listSpaces},
		"/api/calls":   {reading, s.listCalls},
		"/api/spans":   {reading, s.listSpans},
		"/api/call":    {reading, s.showCall},
		"/api/piece":   {reading, s.showPiece},
		"/api/diff":    {reading, s.showDiff},
		"/api/changes": {reading, s.listChanges},
		"/api/net":     {reading, s.showNet},
		"/api/report":  {reading, s.showReport},
		"/api/undo":    {acting, s.undo},
		"/api/decide":  {acting, s.decide},
		"/api/config":  {reading, s.showConfig},
		"/api/trust":   {acting, s.trust},
		"/api/sources": {reading, s.listSources},
		"/api/said":    {reading, s.showSaid},
		"/api/restart": {acting, s.restart},
		"/api/login":   {acting, s.beginLogin},
		"/api/logging": {reading, s.showLogin},
		"/api/tools":   {reading, s.listTools},
		"/api/tool":    {reading, s.showTool},
		"/api/try":     {acting, s.try},
		"/api/saved":   {reading, s.listSaved},
		"/api/save":    {acting, s.save},
	}
}

// ServeHTTP answers a request that the guard lets pass.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	to, ok := s.routes[r.URL.Path]
	if !ok {
		to.kind = reading // without rights, one must not learn which paths exist
	}
	if no := s.guard.check(r, to.kind); no != nil {
		writeError(w, no.status, tool.Errorf(tool.Denied, "%s", no.message).Suggest("%s", no.next))
		return
	}
	if !ok {
		writeError(w, http.StatusNotFound, tool.Errorf(tool.NotFound, "there is no such page").Suggest("Go to /."))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	if err := to.answer(w, r); err != nil && r.Context().Err() == nil {
		writeError(w, statusOf(err), err)
	}
}

func statusOf(err error) int {
	switch tool.CodeOf(err) {
	case tool.NotFound:
		return http.StatusNotFound
	case tool.Conflict:
		return http.StatusConflict
	case tool.InvalidArgument:
		return http.StatusBadRequest
	case tool.Denied:
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, status int, err error) {
	e := tool.AsError(err)
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"code": e.Code, "message": shownText(e.Message), "suggestion": shownText(e.Suggestion)}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer is not valid JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// give answers with a value, or returns err.
func give(w http.ResponseWriter, v any, err error) error {
	if err == nil {
		writeJSON(w, http.StatusOK, v)
	}
	return err
}

// given decodes the request's body. Unknown fields are errors.
func given(r *http.Request, v any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if err == nil {
		if _, rest := decoder.Token(); !errors.Is(rest, io.EOF) {
			err = errors.New("there is more than one value")
		}
	}
	if err != nil {
		return tool.Errorf(tool.InvalidArgument, "the request cannot be read: %w", err).Suggest("Reload the page.")
	}
	return nil
}

// openSession exchanges a code for a page's cookie and key.
func (s *Server) openSession(w http.ResponseWriter, r *http.Request) error {
	var ask struct {
		Code string `json:"code"`
	}
	if err := given(r, &ask); err != nil {
		return err
	}
	cookie, key, ok := s.guard.redeem(ask.Code)
	if !ok {
		s.options.Logger.Warn("a code was tried that does not open the console")
		return tool.Errorf(tool.Denied, "this address was used before, or is too old").
			Suggest("Press Enter where toolhost console runs, and open the address that it prints.")
	}
	http.SetCookie(w, &http.Cookie{Name: s.guard.cookieName(), Value: cookie, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	return give(w, map[string]string{"key": key, "version": s.options.Version}, nil)
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(),
			slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		s.once.Do(func() { close(s.closing) })
		_ = server.Close()
	})
	defer stop()
	defer s.spaces.close()
	defer s.guard.close()
	if err := server.Serve(s.listen); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
